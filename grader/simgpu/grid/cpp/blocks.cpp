// Runs the threads of a grid: one after another in one go (LOOP), or each on a stack of its own, so that they can
// meet at barriers (FIBERS), or those of all blocks at once (COOPERATIVE).
#include <new>

#include "block.h"
#include "guard.h"

namespace {

void poison(char* low, uint64_t bytes) { memset(low, 0xff, bytes); }  // NaN, -1: what shared memory holds is not to be used

void fresh_shared_memory() {
    const GridLaunch& l = *now.launch;
    poison(grid_shared_memory, l.shared_bytes);
    poison(reinterpret_cast<char*>(l.static_low), l.static_high - l.static_low);
}

template <typename Body>
void for_each_block(Body body) {
    const GridState& s = grid_state;
    for (int z = 0; z < s.grid_dim[2]; z++)
        for (int y = 0; y < s.grid_dim[1]; y++)
            for (int x = 0; x < s.grid_dim[0]; x++) {
                grid_state.block[0] = x;
                grid_state.block[1] = y;
                grid_state.block[2] = z;
                body();
            }
}

void run_in_a_loop() {               // on a stack of its own
    GridState& s = grid_state;
    const GridLaunch& l = *now.launch;
    const auto kernel = l.kernel;    // copies: what a kernel may change is read again after each call
    void* const argument = l.argument;
    const int width = s.block_dim[0], height = s.block_dim[1], depth = s.block_dim[2];
    const bool sectors = now.sectors;
    uint64_t thread = 0;
    for_each_block([&] {
        now.shadow.next_block();
        if (l.shared_bytes || l.static_low) fresh_shared_memory();
        const shadow::Key key = block_key() | shadow::FIRST_PHASE;
        unsigned int i = 0;
        for (int z = 0; z < depth; z++)
            for (int y = 0; y < height; y++) {
                s.thread[1] = y;
                s.thread[2] = z;
                for (int x = 0; x < width; x++, i++) {
                    s.thread[0] = x;
                    s.linear = static_cast<int32_t>(i);
                    s.lane = i % WARP_SIZE;
                    now.key = key | i;
                    grid_thread = ++thread;
                    const int status = kernel(argument);
                    if (__builtin_expect(status, 0)) {
                        now.report->status = status;
                        leave_launch(STATUS);
                    }
                    if (sectors && i % WARP_SIZE == WARP_SIZE - 1) now.sites.warp_done();
                }
            }
        if (now.sectors) now.sites.warp_done();
    });
    outcome = 0;
    void* ended;
    grid_switch(&ended, outside);
    __builtin_trap();
}

void run_blocks() {
    static Fiber fibers[MAX_THREADS];
    for_each_block([&] {
        now.shadow.next_block();
        fresh_shared_memory();
        Block block(fibers, fiber_stacks, 0);
        while (!block.run()) block.pass_grid_barrier();
    });
}

// All blocks at once. Shared memory is one place: each block's contents are put there while it runs.
int run_together(size_t blocks, size_t threads) {
    const GridLaunch& l = *now.launch;
    const size_t own = l.shared_bytes, in_library = l.static_high - l.static_low;
    const size_t for_fibers = blocks * threads * sizeof(Fiber), for_blocks = blocks * sizeof(Block);
    static Room room;
    if (!room.reserve(for_fibers + for_blocks + blocks + blocks * (own + in_library))) return NO_MEMORY;
    Fiber* fibers = reinterpret_cast<Fiber*>(room.memory);
    Block* all = reinterpret_cast<Block*>(room.memory + for_fibers);
    bool* ended = reinterpret_cast<bool*>(room.memory + for_fibers + for_blocks);
    char* shared = room.memory + for_fibers + for_blocks + blocks;
    memset(ended, 0, blocks);
    size_t made = 0, left = blocks;
    for_each_block([&] {
        new (&all[made]) Block(fibers + made * threads, small_stacks, made * threads);
        made++;
    });
    poison(shared, blocks * (own + in_library));
    while (left) {
        for (size_t b = 0; b < blocks; b++) {
            if (ended[b]) continue;
            char* mine = shared + b * (own + in_library);
            memcpy(grid_shared_memory, mine, own);
            memcpy(reinterpret_cast<char*>(l.static_low), mine + own, in_library);
            if (all[b].run()) { ended[b] = true; left--; }
            memcpy(mine, grid_shared_memory, own);
            memcpy(mine + own, reinterpret_cast<char*>(l.static_low), in_library);
        }
        now.shadow.all_met();
        for (size_t b = 0; b < blocks; b++) if (!ended[b]) all[b].pass_grid_barrier();
    }
    return 0;
}

void run_scheduler() {               // on a stack of its own too, so that leaving is one switch
    const int32_t *g = now.launch->grid, *b = now.launch->block;
    const size_t blocks = static_cast<size_t>(g[0]) * g[1] * g[2], threads = static_cast<size_t>(b[0]) * b[1] * b[2];
    outcome = 0;
    if (now.launch->mode == COOPERATIVE) outcome = run_together(blocks, threads);
    else run_blocks();
    void* ended;
    grid_switch(&ended, outside);
    __builtin_trap();
}

constexpr int ASKING = -1;           // an outcome that the launch goes on after

struct Question { uint64_t address; int32_t size; GridRange* answer; void* stack; } asked;

bool answer() {                      // false: an interrupt came meanwhile
    GridLaunch& l = *now.launch;
    now.guard->armed = 0;            // Python is not to be left in the middle
    asked.answer = l.elsewhere(asked.address, asked.size);
    if (asked.answer) now.elsewhere.push_back(asked.answer);
    now.guard->armed = 1;
    return !now.guard->stop && !(l.main_thread && interrupted());
}

}  // namespace

GridRange* elsewhere(uint64_t address, int32_t size) {
    if (!now.launch->elsewhere) return nullptr;
    asked = {address, size, nullptr, nullptr};
    outcome = ASKING;
    grid_switch(&asked.stack, outside);
    return asked.answer;
}

void leave_launch(int why) {
    now.report->where = thread_here();
    outcome = why;
    void* ended;
    grid_switch(&ended, outside);
    __builtin_trap();
}

int run_grid(GridLaunch& l) {
    const size_t blocks = static_cast<size_t>(l.grid[0]) * l.grid[1] * l.grid[2];
    const size_t threads = static_cast<size_t>(l.block[0]) * l.block[1] * l.block[2];
    const bool room = loop_stack.reserve(1) && (l.mode == LOOP || (l.mode == FIBERS ? fiber_stacks.reserve(MAX_THREADS) : small_stacks.reserve(blocks * threads)));
    if (!room) return NO_MEMORY;
    now.stack_low = reinterpret_cast<uint64_t>(loop_stack.low(0));
    now.stack_size = loop_stack.each;
    void* start = fresh_stack(loop_stack.low(0) + loop_stack.each, l.mode == LOOP ? run_in_a_loop : run_scheduler);
    grid_switch(&outside, start);
    while (outcome == ASKING) {
        if (!answer()) {
            now.report->where = thread_here();
            return INTERRUPTED;
        }
        outcome = 0;
        grid_switch(&outside, asked.stack);
    }
    return outcome;
}

namespace {
void meet_in_warp(uint32_t mask, uint64_t value, uint64_t site) {
    current->mask = mask;
    current->value = value;
    yield(AT_WARP, site);
}

void names_existing_lanes(uint32_t mask, uint64_t site) {
    const int32_t* b = grid_state.block_dim;
    const int lanes = b[0] * b[1] * b[2] - (grid_state.linear - grid_state.lane);
    if (lanes >= WARP_SIZE || !(mask >> lanes)) return;
    GridFinding f{};
    f.kind = WARP_DIVERGED;
    f.size = lanes;                  // those that the warp has
    f.site_a = site;
    f.a = f.b = thread_here();
    add_finding(f);
}
}  // namespace

extern "C" {
void grid_barrier(uint64_t site) {
    current->predicate = 0;
    yield(AT_BARRIER, site);
}

int32_t grid_barrier_count(int32_t predicate, uint64_t site) {
    current->predicate = predicate;
    yield(AT_BARRIER, site);
    return current->predicate;
}

int32_t grid_barrier_threads() { return static_cast<int32_t>(current->value); }

void grid_sync(uint64_t site) { yield(AT_GRID, site); }

const uint64_t* grid_warp_exchange(uint32_t mask, uint64_t value, uint32_t* lanes, uint64_t site) {
    names_existing_lanes(mask, site);
    meet_in_warp(mask, value, site);
    *lanes = meeting.lanes;
    return meeting.given;
}

void grid_warp_sync(uint32_t mask, uint64_t site) {
    meet_in_warp(mask, 0, site);
    current->warp_phase++;
    now.key = (now.key & ~shadow::IN_WARP) | (current->warp_phase % 64) << shadow::WARP_PHASE;
}

uint32_t grid_active_mask(uint64_t site) {
    yield(AT_MASK, site);
    return meeting.lanes;
}
}
