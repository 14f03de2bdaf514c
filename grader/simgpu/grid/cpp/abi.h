// What the two sides of a launch agree on: Python fills a GridLaunch (abi.py mirrors these structs), generated code
// calls the functions, the runtime fills the GridReport.
#pragma once
#include <cstdint>

enum GridMode { LOOP = 0, FIBERS = 1, COOPERATIVE = 2 };
enum GridFlags { TRACK = 1, SECTORS = 2, BOUNDS = 4 };
enum GridSpace { GLOBAL = 0, SHARED = 1, VARIABLE = 2 };

// How a launch ended. The first eight are the guard's.
enum GridOutcome { STATUS = 16, OUT_OF_BOUNDS = 17, MISALIGNED = 18, FAILED = 19, NO_MEMORY = 20, ASSERTED = 21 };

enum GridFindingKind { RACE = 1, BARRIER_LEFT = 2, BARRIER_LINES = 3, WARP_DIVERGED = 4 };

struct GridRange {                   // memory that the kernel may touch
    uint64_t low, high;
    int64_t space;
    uint64_t read_low, read_high, write_low, write_high;  // what it touched of it
    uint64_t bytes_read, bytes_written;                   // distinct bytes, if sectors are counted too
};

inline bool within(const GridRange& r, uint64_t address, int32_t size) { return address >= r.low && address + size <= r.high; }

struct GridThread { int32_t block[3], thread[3]; };

struct GridFinding {
    int32_t kind, space;
    uint64_t address;
    int32_t size, write_a, write_b, atomic;
    uint64_t site_a, site_b;         // a: the earlier access
    GridThread a, b;
};

struct GridSite {                    // what warps did at one place
    uint64_t site, warps, sectors, ideal;
    int64_t write;
};

constexpr int MAX_FINDINGS = 64;

struct GridReport {
    int32_t outcome, status, kind, axis, size, write;
    uint64_t site, address;
    int64_t index, length;
    GridThread where;                // the thread that ended the launch
    int64_t n_findings, n_sites;
    GridFinding findings[MAX_FINDINGS];
};

struct GridLaunch {
    int (*kernel)(void*);            // one thread's work; not 0: end the launch with that status
    void* argument;
    int32_t grid[3], block[3];
    int32_t mode, flags;
    int64_t main_thread, shared_bytes;
    uint64_t static_low, static_high; // __shared__ arrays that live in the kernel's own library
    int64_t n_ranges;
    GridRange* ranges;
    GridReport* report;
    GridRange* (*elsewhere)(uint64_t address, int32_t size);  // memory in no range that it may touch too; may be null
};

struct GridState {                   // generated code reads its coordinates here
    int32_t thread[3], block[3], block_dim[3], grid_dim[3];
    int32_t lane, linear;            // in the warp; in the block
};

struct Site;
struct GridCell {                    // a place in a kernel that touches memory; all zero before the launch
    uint64_t next_address, next_thread;  // if the thread that runs is this one and touches that: add ...
    int64_t stride;                  // ... this and 1, and it is noted (generated code does so itself)
    Site* site;                      // the rest is log.h's
    GridRange* range;
    uint64_t run;
    int32_t size, rank;
    bool write;
};
static_assert(sizeof(GridCell) == 64, "generated code has room for this");

extern "C" {
extern GridState grid_state;
extern uint64_t grid_thread;         // counts each time that a thread runs on

extern char grid_shared_memory[];    // what `extern __shared__` and shared arrays of numba lie in

int grid_run(GridLaunch*);
int64_t grid_sites(GridSite* out, int64_t room);

void grid_cell_read(GridCell*, uint64_t address, int32_t size, uint64_t site);  // a place is called with one size and site
void grid_cell_write(GridCell*, uint64_t address, int32_t size, uint64_t site);
void grid_read(uint64_t address, int32_t size, uint64_t site);
void grid_write(uint64_t address, int32_t size, uint64_t site);
void grid_atomic(uint64_t address, int32_t size, uint64_t site);
void grid_compare_and_swap(uint64_t address, int32_t size, uint64_t site);
void grid_volatile_read(uint64_t address, int32_t size, uint64_t site);  // races with plain writes only
void grid_fence();
void grid_barrier(uint64_t site);
int32_t grid_barrier_count(int32_t predicate, uint64_t site);  // how many threads had a predicate that is not 0
int32_t grid_barrier_threads();                                // how many threads met at this thread's last barrier
void grid_sync(uint64_t site);                                 // all threads of the grid (COOPERATIVE)
void grid_warp_sync(uint32_t mask, uint64_t site);
uint32_t grid_active_mask(uint64_t site);
// Meets the lanes of `mask`; returns the 32 values given, *lanes those that gave one.
const uint64_t* grid_warp_exchange(uint32_t mask, uint64_t value, uint32_t* lanes, uint64_t site);
[[noreturn]] void grid_fail(int32_t kind, uint64_t site, int64_t index, int64_t length, int32_t axis);
}
