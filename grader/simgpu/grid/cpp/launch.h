// The launch that runs now. One at a time in a process: Python holds a lock around it.
#pragma once
#include <vector>

#include "abi.h"
#include "log.h"
#include "shadow.h"
#include "sites.h"

constexpr int MAX_THREADS = 1024, SHARED_BYTES = 227 * 1024;

struct Guard;

struct Running {
    GridLaunch* launch = nullptr;
    GridReport* report = nullptr;
    Guard* guard = nullptr;
    std::vector<GridRange*> elsewhere;  // memory that pointers lead to which are no arguments
    GridRange heap{};                // what kernels allocate from
    uint64_t stack_low = 0, stack_size = 0;  // of the thread that runs: its own memory
    shadow::Key key = 0;             // of the thread that runs
    bool bounds = false, track = false, sectors = false;
    shadow::Shadow shadow;
    Sites sites;
};

extern Running now;
extern Log accesses;

[[noreturn]] void leave_launch(int outcome);  // back to grid_run, from any stack
void add_finding(const GridFinding&);
GridThread thread_here();
GridThread thread_of(shadow::Key);   // the thread that a key names

GridRange* elsewhere(uint64_t address, int32_t size);  // asks Python for the memory there; from any stack
int run_grid(GridLaunch&);           // every block; under the guard
void end_log(bool ended);            // see log.h
