// Threads that may wait: each runs on a stack of its own, and hands over where it waits.
#pragma once
#include <sys/mman.h>

#include "launch.h"
#include "switch.h"

namespace {

constexpr size_t LOOP_STACK = 8u << 20, STACK = 256u << 10, SMALL_STACK = 64u << 10, PAGE = 16384;
constexpr size_t FEW_STACKS = 8192;  // more than that have no guard pages: the system limits the number of mappings

enum State : uint8_t { READY, AT_BARRIER, AT_GRID, AT_WARP, AT_MASK, DONE };

struct Fiber {
    void* sp;
    State state;
    int32_t thread[3], predicate;
    uint32_t mask;
    uint64_t site, value, phase, warp_phase;
};

void* scheduler = nullptr;           // the stack that runs the blocks
void* outside = nullptr;             // the stack that called run_grid
Fiber *current = nullptr, *warp_end = nullptr;  // the thread that runs; where its warp ends
int waiting_in_warp = 0;             // threads of the warp that wait for others of it
int outcome = 0;

struct Room {                        // memory kept for later launches; no malloc: an interrupt may end a launch in it
    char* memory = nullptr;
    size_t size = 0;

    bool reserve(size_t wanted) {
        if (wanted <= size) return true;
        char* before = memory;
        const size_t had = size;
        memory = nullptr;            // first: an interrupt may come between any two steps
        size = 0;
        if (before) munmap(before, had);
        void* p = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) return false;
        memory = static_cast<char*>(p);
        size = wanted;
        return true;
    }
};

struct Stacks {                      // stacks of one size
    size_t each;
    Room room;

    bool reserve(size_t wanted) {
        if (wanted * each <= room.size) return true;
        if (!room.reserve(wanted * each)) return false;
        for (size_t i = 0; i < (wanted < FEW_STACKS ? wanted : 1); i++) mprotect(low(i), PAGE, PROT_NONE);
        return true;
    }
    char* low(size_t i) const { return room.memory + i * each; }
    // Not all tops at the same distance: they would lie in the same few lines of the cache.
    char* top(size_t i) const { return low(i) + each - i % 61 * 64; }
};

Stacks loop_stack{LOOP_STACK, {}}, fiber_stacks{STACK, {}}, small_stacks{SMALL_STACK, {}};

shadow::Key block_key() {
    const GridState& s = grid_state;
    const uint64_t block = (static_cast<uint64_t>(s.block[2]) * s.grid_dim[1] + s.block[1]) * s.grid_dim[0] + s.block[0];
    return block << shadow::BLOCK & shadow::BLOCKS;
}

shadow::Key phase_key(uint64_t phase, uint64_t warp_phase) {
    return (phase % 0x3fff + 1) << shadow::PHASE | (warp_phase % 64) << shadow::WARP_PHASE;
}

Stacks* stacks = nullptr;            // of the block that runs
Fiber* block_fibers = nullptr;
size_t block_first_stack = 0;
shadow::Key block_key_now = 0;

void becomes_current(Fiber* f) {
    const size_t i = f - block_fibers;
    current = f;
    memcpy(grid_state.thread, f->thread, sizeof f->thread);
    grid_state.linear = static_cast<int32_t>(i);
    grid_state.lane = i % WARP_SIZE;
    now.key = block_key_now | phase_key(f->phase, f->warp_phase) | i;
    grid_thread++;
    now.stack_low = reinterpret_cast<uint64_t>(stacks->low(block_first_stack + i));
    now.stack_size = stacks->each;
}

// Whose turn is it: the next thread of the warp that can run, else the scheduler's.
void* next_stack() {
    for (Fiber* f = current + 1; f < warp_end; f++)
        if (f->state == READY) {
            becomes_current(f);
            return f->sp;
        }
    return scheduler;
}

void yield(State state, uint64_t site) {
    Fiber* f = current;
    f->state = state;
    f->site = site;
    waiting_in_warp += state == AT_WARP || state == AT_MASK;
    grid_switch(&f->sp, next_stack());
}

void thread_body() {
    const int status = now.launch->kernel(now.launch->argument);
    if (status) {
        now.report->status = status;
        leave_launch(STATUS);
    }
    current->state = DONE;
    void* ended;
    grid_switch(&ended, next_stack());
    __builtin_trap();
}

struct Warp { uint64_t given[WARP_SIZE]; uint32_t lanes; } meeting;  // what the lanes that met gave

}  // namespace
