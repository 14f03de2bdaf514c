// What numba's kernels call on a GPU beside arithmetic: barriers, warp operations, atomics, printing.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "../../grid/cpp/abi.h"

typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef float f32;
typedef double f64;

extern "C" {
uint64_t nv_site = 0;                // the learner's line that called library code last
int32_t nv_dynamic_shared = 0;       // bytes of dynamic shared memory of this launch

// ------------------------------------------------------------------ coordinates

#define COORDINATES(name, field) \
    i32 nv_##name##_x() { return grid_state.field[0]; } \
    i32 nv_##name##_y() { return grid_state.field[1]; } \
    i32 nv_##name##_z() { return grid_state.field[2]; }
COORDINATES(tid, thread) COORDINATES(ctaid, block) COORDINATES(ntid, block_dim) COORDINATES(nctaid, grid_dim)

// ------------------------------------------------------------------ barriers

void nv_barrier(u64 site) { grid_barrier(site); }
i32 nv_barrier_popc(i32 predicate, u64 site) { return grid_barrier_count(predicate, site); }
i32 nv_barrier_and(i32 predicate, u64 site) {
    const i32 met = grid_barrier_count(predicate, site);
    return met == grid_barrier_threads();
}
i32 nv_barrier_or(i32 predicate, u64 site) { return grid_barrier_count(predicate, site) != 0; }
void nv_fence(u64) { grid_fence(); }
void nv_warp_sync(u32 mask, u64 site) { grid_warp_sync(mask, site); }
i64 nv_grid_handle(i32, u64) { return 1; }
i32 nv_grid_sync(i64, i32, u64 site) { grid_sync(site); return 0; }

// ------------------------------------------------------------------ warps; {i32, i1} comes as value | flag << 32

u64 nv_shuffle(u32 mask, i32 mode, u32 value, u32 b, u32 c, u64 site) {
    u32 lanes;
    const u64* given = grid_warp_exchange(mask, value, &lanes, site);
    const u32 lane = static_cast<u32>(grid_state.lane), segment = c >> 8 & 31, limit = c & 31;
    const u32 highest = (lane & segment) | (limit & ~segment), lowest = lane & segment;
    b &= 31;
    i32 from;
    bool inside;
    switch (mode) {
        case 1: from = static_cast<i32>(lane) - static_cast<i32>(b); inside = from >= static_cast<i32>(highest); break;
        case 2: from = static_cast<i32>(lane + b); inside = from <= static_cast<i32>(highest); break;
        case 3: from = static_cast<i32>(lane ^ b); inside = from <= static_cast<i32>(highest); break;
        default: from = static_cast<i32>(lowest | (b & ~segment)); inside = from <= static_cast<i32>(highest);
    }
    if (!inside) return value;
    return (lanes >> from & 1 ? given[from] & 0xffffffffu : value) | u64{1} << 32;
}

u64 nv_vote(u32 mask, i32 mode, i32 predicate, u64 site) {
    u32 lanes;
    const u64* given = grid_warp_exchange(mask, predicate != 0, &lanes, site);
    u32 ballot = 0;
    for (int i = 0; i < 32; i++) if (lanes >> i & 1) ballot |= static_cast<u32>(given[i]) << i;
    const bool answer = mode == 0 ? ballot == lanes : mode == 1 ? ballot != 0 : ballot == 0 || ballot == lanes;
    return ballot | static_cast<u64>(answer) << 32;
}

i32 nv_match_any(u32 mask, u64 value, u64 site) {
    u32 lanes, same = 0;
    const u64* given = grid_warp_exchange(mask, value, &lanes, site);
    for (int i = 0; i < 32; i++) if ((lanes >> i & 1) && given[i] == value) same |= 1u << i;
    return static_cast<i32>(same);
}
i32 nv_match_any_32(u32 mask, u32 value, u64 site) { return nv_match_any(mask, value, site); }
u64 nv_match_all(u32 mask, u64 value, u64 site) {
    u32 lanes;
    const u64* given = grid_warp_exchange(mask, value, &lanes, site);
    for (int i = 0; i < 32; i++) if ((lanes >> i & 1) && given[i] != value) return 0;
    return lanes | u64{1} << 32;
}
u64 nv_match_all_32(u32 mask, u32 value, u64 site) { return nv_match_all(mask, value, site); }

// ------------------------------------------------------------------ atomics: threads run one after another

f32 nv_atomic_add_f32(f32* at, f32 x, u64) { const f32 old = *at; *at = old + x; return old; }
f64 nv_atomic_add_f64(f64* at, f64 x, u64) { const f64 old = *at; *at = old + x; return old; }
u32 nv_atomic_inc(u32* at, u32 limit, u64) { const u32 old = *at; *at = old >= limit ? 0 : old + 1; return old; }
u32 nv_atomic_dec(u32* at, u32 limit, u64) { const u32 old = *at; *at = old == 0 || old > limit ? limit : old - 1; return old; }

// ------------------------------------------------------------------ print: text is kept until the launch has ended

constexpr i64 PRINTED = 1 << 20;     // bytes, as a GPU's buffer
char nv_printed[PRINTED];
i64 nv_printed_bytes = 0;

// A CUDA vprintf: the arguments lie one after another, each at a multiple of its size (a float comes as a double).
i32 nv_vprintf(const char* format, const char* values, u64) {
    i64 n = nv_printed_bytes;
    i32 count = 0;
    u64 at = 0;
    auto next = [&](auto kind) { using T = decltype(kind); at = (at + sizeof(T) - 1) / sizeof(T) * sizeof(T); T x; memcpy(&x, values + at, sizeof x); at += sizeof x; return x; };
    auto room = [&] { return static_cast<size_t>(n < PRINTED ? PRINTED - n : 0); };
    for (const char* p = format; *p; p++) {
        if (*p != '%' || p[1] == '%') {
            if (*p == '%') p++;
            if (n < PRINTED) nv_printed[n++] = *p;
            continue;
        }
        char spec[32];
        size_t k = 0;
        bool wide = false;
        while (*p && k < sizeof spec - 1) {
            spec[k++] = *p;
            if (*p == 'l' || *p == 'j' || *p == 'z') wide = true;
            if (k > 1 && strchr("diouxXeEfFgGaAcsp", *p)) break;
            p++;
        }
        spec[k] = 0;
        char text[512];
        switch (*p) {
            case 's': snprintf(text, sizeof text, spec, next(static_cast<const char*>(nullptr))); break;
            case 'p': snprintf(text, sizeof text, spec, next(static_cast<void*>(nullptr))); break;
            case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A': snprintf(text, sizeof text, spec, next(f64{})); break;
            default: wide ? snprintf(text, sizeof text, spec, next(i64{})) : snprintf(text, sizeof text, spec, next(i32{}));
        }
        const size_t length = strlen(text) < room() ? strlen(text) : room();
        memcpy(nv_printed + n, text, length);
        n += static_cast<i64>(length);
        count++;
    }
    nv_printed_bytes = n;
    return count;
}
}
