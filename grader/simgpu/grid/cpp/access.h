// What is done at each access to memory: is it within bounds and aligned, who else touches it, which sectors.
#pragma once
#include "launch.h"

enum Kind { READ, WRITE, ATOMIC, VOLATILE_READ };

GridRange* range_of(uint64_t address, int32_t size);  // access.cpp
void look(uint64_t address, int32_t size, Kind kind, Site& site, GridCell& cell);
[[noreturn]] void fault(int outcome, uint64_t address, int32_t size, bool write, uint64_t site);
void race(const GridRange&, uint64_t address, int32_t size, bool write, const Site&, shadow::Key earlier, uint16_t site, bool wrote, bool atomic);

// A place that goes on as it began needs no look at bounds and alignment: its first two accesses had it.
__attribute__((always_inline)) inline void access(uint64_t address, int32_t size, uint64_t where, Kind kind) {
    if (address - now.stack_low < now.stack_size) return;  // a local variable
    Site& site = *now.sites.find(where, kind == WRITE || kind == ATOMIC);
    if ((kind == READ || kind == WRITE) && Log::goes_on(site.cell, address, size, grid_thread)) return;
    look(address, size, kind, site, site.cell);
}
