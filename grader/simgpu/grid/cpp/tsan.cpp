// What compiled CUDA C++ calls before each access to memory: it is built with -fsanitize=thread, and these are the
// functions that it then asks for. A place is known by the address after the call.
#include "access.h"

#define HERE reinterpret_cast<uint64_t>(__builtin_return_address(0))
#define AT(p) reinterpret_cast<uint64_t>(p)

namespace {
// In global memory `volatile` is how kernels talk to each other without atomics; in shared memory it orders nothing.
bool in_shared_memory(uint64_t address) {
    const GridLaunch& l = *now.launch;
    return address - AT(grid_shared_memory) < SHARED_BYTES || address - l.static_low < l.static_high - l.static_low;
}
void volatile_read(uint64_t address, int32_t size, uint64_t site) {
    (in_shared_memory(address) ? grid_read : grid_volatile_read)(address, size, site);
}
void volatile_write(uint64_t address, int32_t size, uint64_t site) {
    (in_shared_memory(address) ? grid_write : grid_atomic)(address, size, site);
}
}  // namespace

extern "C" {
// The sizes that kernels mostly have come in line, the others through the functions of access.cpp.
#define FAST(n)                                                         \
    void __tsan_read##n(void* p) { access(AT(p), n, HERE, READ); }      \
    void __tsan_write##n(void* p) { access(AT(p), n, HERE, WRITE); }
#define SMALL(n)                                                        \
    void __tsan_read##n(void* p) { grid_read(AT(p), n, HERE); }         \
    void __tsan_write##n(void* p) { grid_write(AT(p), n, HERE); }
#define ODD(n)                                                                                              \
    void __tsan_unaligned_read##n(void* p) { grid_read(AT(p), n, HERE); }                                   \
    void __tsan_unaligned_write##n(void* p) { grid_write(AT(p), n, HERE); }                                 \
    void __tsan_volatile_read##n(void* p) { volatile_read(AT(p), n, HERE); }                                \
    void __tsan_volatile_write##n(void* p) { volatile_write(AT(p), n, HERE); }                              \
    void __tsan_unaligned_volatile_read##n(void* p) { volatile_read(AT(p), n, HERE); }                      \
    void __tsan_unaligned_volatile_write##n(void* p) { volatile_write(AT(p), n, HERE); }                    \
    void __tsan_read_write##n(void* p) { grid_read(AT(p), n, HERE); grid_write(AT(p), n, HERE); }           \
    void __tsan_unaligned_read_write##n(void* p) { grid_read(AT(p), n, HERE); grid_write(AT(p), n, HERE); }
SMALL(1) SMALL(2) FAST(4) FAST(8) FAST(16)
ODD(1) ODD(2) ODD(4) ODD(8) ODD(16)

void __tsan_read_range(void* p, unsigned long n) {
    for (unsigned long i = 0; i < n; i += 4) grid_read(AT(p) + i, static_cast<int32_t>(n - i < 4 ? n - i : 4), HERE);
}
void __tsan_write_range(void* p, unsigned long n) {
    for (unsigned long i = 0; i < n; i += 4) grid_write(AT(p) + i, static_cast<int32_t>(n - i < 4 ? n - i : 4), HERE);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}

// Copies and fills that the compiler makes of assignments of large structs. (The hooks of clang; gcc's are the ranges.)
void* __tsan_memcpy(void* to, const void* from, unsigned long n) {
    __tsan_read_range(const_cast<void*>(from), n);
    __tsan_write_range(to, n);
    return memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, unsigned long n) {
    __tsan_read_range(const_cast<void*>(from), n);
    __tsan_write_range(to, n);
    return memmove(to, from, n);
}
void* __tsan_memset(void* to, int value, unsigned long n) {
    __tsan_write_range(to, n);
    return memset(to, value, n);
}
}
