// The runtime as one translation unit. The guard is a library of its own, loaded before.
#include "access.cpp"
#include "blocks.cpp"
#include "device.cpp"
#include "image.cpp"
#include "tsan.cpp"

#include "guard.h"

extern "C" int grid_run(GridLaunch* launch) {
    GridLaunch& l = *launch;
    GridReport& report = *l.report;
    now.launch = launch;
    now.report = &report;
    now.bounds = l.flags & BOUNDS;
    now.track = l.flags & TRACK;
    now.sectors = l.flags & SECTORS;
    now.key = 0;
    grid_thread = 0;
    accesses.begin(l.mode == LOOP && now.track && !now.sectors);
    heap_used = 0;
    now.heap = {reinterpret_cast<uint64_t>(grid_heap), reinterpret_cast<uint64_t>(grid_heap) + HEAP, VARIABLE, 0, 0, 0, 0, 0, 0};
    report.n_findings = report.n_sites = 0;
    memcpy(grid_state.grid_dim, l.grid, sizeof l.grid);
    memcpy(grid_state.block_dim, l.block, sizeof l.block);
    for (int64_t i = 0; i < l.n_ranges; i++) {
        GridRange& r = l.ranges[i];
        r.read_low = r.write_low = ~0ull;
        r.read_high = r.write_high = r.bytes_read = r.bytes_written = 0;
    }
    if (!now.sites.begin() || (now.track && !now.shadow.begin())) return report.outcome = NO_MEMORY;
    stack_for_signals();
    handlers_acquire(l.main_thread);
    Guard guard;
    now.guard = &guard;
    now.elsewhere.clear();
    int result = 0;
    struct Call { GridLaunch* launch; int* result; } call{launch, &result};
    const int caught = guarded([](void* p) {
        Call& c = *static_cast<Call*>(p);
        *c.result = run_grid(*c.launch);
        if (accesses.on) end_log(true);
    }, &call, guard);
    if (caught) {                    // a signal ended it: where was it?
        report.where = thread_here();
        result = caught;
        const uint64_t used = guard.sp - now.stack_low;
        if (caught == INTERRUPTED && used < now.stack_size) {  // in a thread: what is on its stack says how it got there
            report.address = guard.sp;
            report.length = static_cast<int64_t>(now.stack_size - used);
            report.index = static_cast<int64_t>(guard.pc);
        }
    }
    if (accesses.on) end_log(true);
    accesses.let_go();
    if (l.main_thread && interrupted()) result = INTERRUPTED;
    handlers_release(l.main_thread);
    int64_t kept = 0;
    for (int64_t i = 0; i < report.n_findings; i++) {
        GridFinding& f = report.findings[i];
        if (f.kind == RACE && f.atomic) {  // a plain read that a compare-and-swap checks
            Site* read = !f.write_a ? now.sites.find(f.site_a, false) : !f.write_b ? now.sites.find(f.site_b, false) : nullptr;
            if (read && read->feeds_cas) continue;
        }
        report.findings[kept++] = f;
    }
    report.n_findings = kept;
    report.n_sites = now.sites.count();
    return report.outcome = result;
}
