// What a jiterator kernel finds declared besides mathematics. No standard header is included anywhere: what run-time
// compilation for a GPU does not know must not be known here either.
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDA_ARCH__ 900
#define NDEBUG 1
#define __device__
#define __host__
#define __global__
#define __constant__
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define assert(condition) ((void)0)

typedef long long int int64_t;
typedef unsigned long long int uint64_t;
typedef unsigned int uint32_t;
typedef unsigned short uint16_t;
typedef short int16_t;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef unsigned long size_t;

#define POS_INFINITY __builtin_inff()
#define NEG_INFINITY (-__builtin_inff())
#define INFINITY POS_INFINITY
#define NAN __builtin_nanf("")

struct uint3 { unsigned int x, y, z; };
struct dim3 { unsigned int x, y, z; };
static __thread uint3 threadIdx, blockIdx;
static __thread dim3 blockDim, gridDim;
constexpr int warpSize = 32, num_threads = 128, block_work_size = thread_work_size * num_threads;
template <typename T, int size> struct Array { T data[size]; };

#ifdef __APPLE__
#define __SIM_NAME(symbol) "_" symbol
#else
#define __SIM_NAME(symbol) symbol
#endif
extern "C" int printf(const char*, ...) asm(__SIM_NAME("sim_printf"));
extern "C" void __trap() asm(__SIM_NAME("sim_trap"));
extern "C" long long int clock64() asm(__SIM_NAME("sim_clock"));
inline void __syncthreads() {}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline unsigned int __activemask() { return 0xffffffffu; }
