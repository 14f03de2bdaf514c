// What a jiterator kernel finds declared besides types.h and mathematics.
#include "types.h"

#define NDEBUG 1
#define __shared__ static
#define __launch_bounds__(...)
#define assert(condition) ((void)0)

typedef long long int int64_t;
typedef unsigned long long int uint64_t;
typedef unsigned int uint32_t;
typedef unsigned short uint16_t;
typedef short int16_t;
typedef signed char int8_t;
typedef unsigned char uint8_t;

#define POS_INFINITY __builtin_inff()
#define NEG_INFINITY (-__builtin_inff())
#define INFINITY POS_INFINITY
#define NAN __builtin_nanf("")

struct dim3 { unsigned int x, y, z; };
static __thread uint3 threadIdx, blockIdx;
static __thread dim3 blockDim, gridDim;
constexpr int warpSize = 32, num_threads = 128, block_work_size = thread_work_size * num_threads;
template <typename T, int size> struct Array { T data[size]; };

inline void __syncthreads() {}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline unsigned int __activemask() { return 0xffffffffu; }
