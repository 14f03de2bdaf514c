// Small kernels for the tests of the grid runtime. Sites are numbers: the places in the comments of the tests.
#include "abi.h"

namespace {
float* array(void* argument, int i) { return static_cast<float**>(argument)[i]; }
int thread() { return grid_state.thread[0]; }
int global() { return grid_state.block[0] * grid_state.block_dim[0] + grid_state.thread[0]; }
uint64_t at(const void* p) { return reinterpret_cast<uint64_t>(p); }
float load(const float* p, int site) { grid_read(at(p), 4, site); return *p; }
void store(float* p, float v, int site) { grid_write(at(p), 4, site); *p = v; }
void byte(void* p, int i, int site) {
    grid_write(at(p) + i, 1, site);
    static_cast<char*>(p)[i] = 1;
}
float* shared() { return reinterpret_cast<float*>(grid_shared_memory); }
int endless(int n) {
    volatile char room[200];
    room[n % 200] = 1;
    return endless(n + 1) + room[3];
}
}  // namespace

namespace {
struct Step {                        // one access of each thread (x, y) of the grid from `first` up to `last`, but each `but`-th
    uint64_t site;
    int64_t write, size, address, by_x, by_y, first, last, but;
};

// An access as generated code makes it; each cell is of one place, size and kind.
void in_line(const Step& p, uint64_t address) {
    static GridCell cells[2][17][8];
    GridCell& c = cells[p.write][p.size][p.site % 8];
    if (c.next_address == address && c.next_thread == grid_thread) {
        c.next_address += c.stride;
        c.next_thread++;
    } else {
        (p.write ? grid_cell_write : grid_cell_read)(&c, address, static_cast<int32_t>(p.size), p.site);
    }
}
void by_function(const Step& p, uint64_t address) { (p.write ? grid_write : grid_read)(address, static_cast<int32_t>(p.size), p.site); }

void each(void* a, void (*touch)(const Step&, uint64_t)) {  // the threads are counted as they run
    const GridState& s = grid_state;
    const int64_t block = (int64_t{s.block[2]} * s.grid_dim[1] + s.block[1]) * s.grid_dim[0] + s.block[0];
    const int64_t me = block * s.block_dim[0] * s.block_dim[1] * s.block_dim[2] + s.linear;
    const int64_t x = s.block[0] * s.block_dim[0] + s.thread[0], y = s.block[1] * s.block_dim[1] + s.thread[1];
    for (const Step* p = *static_cast<Step**>(a); p->site; p++)
        if (p->first <= me && me < p->last && me % p->but != p->but - 1) touch(*p, p->address + x * p->by_x + y * p->by_y);
}

}  // namespace

extern "C" {
int steps(void* a) { each(a, by_function); return 0; }
int steps_in_line(void* a) { each(a, in_line); return 0; }
int where_am_i(void* a) {
    const GridState& s = grid_state;
    const int block = (s.block[2] * s.grid_dim[1] + s.block[1]) * s.grid_dim[0] + s.block[0];
    const int per_block = s.block_dim[0] * s.block_dim[1] * s.block_dim[2];
    const int inside = (s.thread[2] * s.block_dim[1] + s.thread[1]) * s.block_dim[0] + s.thread[0];
    array(a, 0)[block * per_block + inside] += s.linear == inside && s.lane == inside % 32 ? 1 : 100;
    return 0;
}
int add(void* a) {
    const int i = global();
    store(array(a, 1) + i, load(array(a, 0) + i, 1) + 1, 2);
    return 0;
}
int far_apart(void* a) { load(array(a, 0) + global() * 8, 1); return 0; }
int one_for_all(void* a) { load(array(a, 0), 1); return 0; }
int neighbours_swapped(void* a) { load(array(a, 0) + (global() ^ 1), 1); return 0; }
int often(void* a) { for (int i = 0; i < 2000; i++) load(array(a, 0) + i * 32 + global(), 1); return 0; }

int same_element(void* a) { store(array(a, 0), load(array(a, 1) + thread(), 1), 2); return 0; }
int left_neighbour(void* a) { store(array(a, 1) + thread(), load(array(a, 0) + thread(), 1), 2); load(array(a, 1) + (thread() + 63) % 64, 3); return 0; }
int right_neighbour(void* a) { load(array(a, 0) + (thread() + 1) % 64, 1); store(array(a, 0) + thread(), 1, 2); return 0; }
int own_element_twice(void* a) { store(array(a, 0) + thread(), 1, 1); load(array(a, 0) + thread(), 2); store(array(a, 0) + thread(), 2, 3); return 0; }
int blocks_share(void* a) { if (thread() == 0) store(array(a, 0), 1, 1); return 0; }
int all_read_one(void* a) { load(array(a, 0), 1); return 0; }
int atomics(void* a) { grid_atomic(at(array(a, 0)), 4, 1); array(a, 0)[0] += 1; return 0; }
int atomic_and_plain(void* a) {
    if (thread() % 2) grid_atomic(at(array(a, 0)), 4, 1); else store(array(a, 0), 0, 2);
    return 0;
}
int read_then_swap(void* a) { load(array(a, 0), 1); grid_compare_and_swap(at(array(a, 0)), 4, 2); return 0; }
int fenced(void* a) {                // every block writes, one announces; the last reads all
    store(array(a, 0) + grid_state.block[0], 1, 1);
    grid_fence();
    grid_atomic(at(array(a, 1)), 4, 2);
    if (grid_state.block[0] == grid_state.grid_dim[0] - 1) for (int b = 0; b < grid_state.grid_dim[0]; b++) load(array(a, 0) + b, 3);
    return 0;
}
int not_fenced(void* a) {
    store(array(a, 0) + grid_state.block[0], 1, 1);
    grid_atomic(at(array(a, 1)), 4, 2);
    if (grid_state.block[0] == grid_state.grid_dim[0] - 1) for (int b = 0; b < grid_state.grid_dim[0]; b++) load(array(a, 0) + b, 3);
    return 0;
}
int bytes_of_words(void* a) { byte(array(a, 0), global(), 1); return 0; }
int bytes_twice(void* a) { byte(array(a, 0), global() / 2, 1); return 0; }
int a_word_over_bytes(void* a) { byte(array(a, 0), thread(), 1); if (thread() == 4) load(array(a, 0) + 0, 2); return 0; }
int halves(void* a) { grid_write(at(array(a, 0)) + 2 * thread(), 2, 1); return 0; }
int wide(void* a) { grid_write(at(array(a, 0)) + 16 * thread(), 16, 1); return 0; }
int wide_overlap(void* a) { grid_write(at(array(a, 0)) + 8 * thread(), 16, 1); return 0; }

int block_sum(void* a) {
    const int t = thread();
    store(shared() + t, load(array(a, 0) + global(), 1), 2);
    grid_barrier(3);
    for (int s = grid_state.block_dim[0] / 2; s; s >>= 1) {
        if (t < s) store(shared() + t, load(shared() + t, 4) + load(shared() + t + s, 5), 6);
        grid_barrier(7);
    }
    if (t == 0) store(array(a, 1) + grid_state.block[0], load(shared(), 8), 9);
    return 0;
}
int block_sum_without_inner_barrier(void* a) {
    const int t = thread();
    store(shared() + t, load(array(a, 0) + global(), 1), 2);
    grid_barrier(3);
    for (int s = grid_state.block_dim[0] / 2; s; s >>= 1)
        if (t < s) store(shared() + t, load(shared() + t, 4) + load(shared() + t + s, 5), 6);
    if (t == 0) store(array(a, 1) + grid_state.block[0], load(shared(), 8), 9);
    return 0;
}
int counted(void* a) {
    const int n = grid_barrier_count(thread() % 3 == 0, 1);
    array(a, 0)[thread()] = static_cast<float>(n + 1000 * grid_barrier_threads());
    return 0;
}
int some_leave(void* a) { if (thread() < 40) { grid_barrier(1); array(a, 0)[thread()] = 1; } return 0; }
int two_barriers(void*) { if (thread() < 40) grid_barrier(1); else grid_barrier(2); return 0; }
int unwritten_shared(void* a) { grid_barrier(1); array(a, 0)[global()] = shared()[thread()]; shared()[thread()] = 5; return 0; }
int whole_grid(void* a) {
    const int i = global(), n = grid_state.grid_dim[0] * grid_state.block_dim[0];
    shared()[thread()] = static_cast<float>(i);
    store(array(a, 0) + i, static_cast<float>(i), 1);
    grid_sync(2);
    store(array(a, 1) + i, load(array(a, 0) + n - 1 - i, 3) + 1000 * (shared()[thread()] == i), 4);
    return 0;
}
int whole_grid_without_sync(void* a) {
    const int i = global(), n = grid_state.grid_dim[0] * grid_state.block_dim[0];
    store(array(a, 0) + i, static_cast<float>(i), 1);
    load(array(a, 0) + n - 1 - i, 3);
    grid_sync(2);
    return 0;
}
int lane_sum(void* a) {
    uint64_t v = thread();
    for (int d = 16; d; d >>= 1) {
        uint32_t lanes;
        const uint64_t* given = grid_warp_exchange(0xffffffffu, v, &lanes, 1);
        v += given[(grid_state.lane + d) % 32];
    }
    array(a, 0)[thread()] = static_cast<float>(v);
    return 0;
}
int half_warps(void* a) {            // two groups of one warp meet apart
    uint32_t lanes;
    const uint32_t mask = grid_state.lane < 16 ? 0x0000ffffu : 0xffff0000u;
    const uint64_t* given = grid_warp_exchange(mask, thread(), &lanes, 1);
    const int first = grid_state.lane < 16 ? 0 : 16;
    array(a, 0)[thread()] = static_cast<float>(given[first + (grid_state.lane - first + 1) % 16]);
    return 0;
}
int lanes_do_not_come(void*) {
    uint32_t lanes;
    if (grid_state.lane < 8) grid_warp_exchange(0xffffffffu, 0, &lanes, 1); else grid_barrier(2);
    if (grid_state.lane < 8) grid_barrier(2);
    return 0;
}
int active(void* a) { if (thread() % 4 == 0) array(a, 0)[thread()] = static_cast<float>(__builtin_popcount(grid_active_mask(1))); return 0; }
int warp_shares(void* a) { store(shared() + thread(), 1, 1); load(shared() + (thread() ^ 1), 2); return 0; }
int warp_shares_synced(void* a) { store(shared() + thread(), 1, 1); grid_warp_sync(0xffffffffu, 3); load(shared() + (thread() ^ 1), 2); return 0; }

int forever(void*) { for (volatile long x = 0;; x++) { } }
int forever_behind_a_barrier(void*) { grid_barrier(1); for (volatile long x = 0;; x++) { } }
int one_never_comes(void*) { if (thread() == 3) for (volatile long x = 0;; x++) { } grid_barrier(1); return 0; }
int barriers_forever(void*) { for (;;) grid_barrier(1); }
int recursion(void*) { return endless(0) & 0; }
int recursion_behind_a_barrier(void*) { grid_barrier(1); return endless(0) & 0; }
int divides(void* a) {
    volatile int zero = 0, least = -2147483647 - 1, minus = -1;
    int* x = reinterpret_cast<int*>(array(a, 0));
    x[0] = 5 / zero;
    x[1] = least / minus;
    return 0;
}
int divides_behind_a_barrier(void* a) { grid_barrier(1); return divides(a); }
int status(void*) { return global() == 300 ? 7 : 0; }
int status_behind_a_barrier(void*) { grid_barrier(1); return global() == 300 ? 7 : 0; }
int fails(void*) { if (global() == 300) grid_fail(1, 2, 3, 4, 5); return 0; }
int beyond(void* a) { grid_write(at(array(a, 0) + global()), 4, 9); return 0; }
int crooked(void* a) { grid_read(at(array(a, 0)) + 4, 16, 9); return 0; }
int nothing(void*) { return 0; }
}
