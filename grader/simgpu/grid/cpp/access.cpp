// The functions that generated code calls before each access to memory.
#include "access.h"

Running now;
Log accesses;
uint64_t grid_thread;
GridState grid_state;
alignas(128) char grid_shared_memory[SHARED_BYTES];

GridThread thread_here() {
    GridThread t;
    memcpy(t.block, grid_state.block, sizeof t.block);
    memcpy(t.thread, grid_state.thread, sizeof t.thread);
    return t;
}

GridThread thread_of(shadow::Key key) {
    const uint64_t block = key >> shadow::BLOCK, thread = key & shadow::THREAD;
    const int32_t *g = grid_state.grid_dim, *b = grid_state.block_dim;
    GridThread t;
    t.block[0] = block % g[0];
    t.block[1] = block / g[0] % g[1];
    t.block[2] = block / g[0] / g[1];
    t.thread[0] = thread % b[0];
    t.thread[1] = thread / b[0] % b[1];
    t.thread[2] = thread / b[0] / b[1];
    return t;
}

void add_finding(const GridFinding& f) {
    GridReport& r = *now.report;
    for (int64_t i = 0; i < r.n_findings; i++) {
        const GridFinding& g = r.findings[i];
        if (g.kind == f.kind && g.site_a == f.site_a && g.site_b == f.site_b) return;
    }
    if (r.n_findings < MAX_FINDINGS) r.findings[r.n_findings++] = f;
}

GridRange* range_of(uint64_t address, int32_t size) {
    GridLaunch& l = *now.launch;
    for (int64_t i = 0; i < l.n_ranges; i++)
        if (within(l.ranges[i], address, size)) return &l.ranges[i];
    for (GridRange* r : now.elsewhere)
        if (within(*r, address, size)) return r;
    return within(now.heap, address, size) ? &now.heap : nullptr;
}

void fault(int outcome, uint64_t address, int32_t size, bool write, uint64_t site) {
    GridReport& r = *now.report;
    r.address = address;
    r.size = size;
    r.write = write;
    r.site = site;
    leave_launch(outcome);
}

void race(const GridRange& r, uint64_t address, int32_t size, bool write, const Site& site, shadow::Key earlier, uint16_t earlier_site, bool wrote, bool atomic) {
    GridFinding f{};
    f.kind = RACE;
    f.space = static_cast<int32_t>(r.space);
    f.address = address;
    f.size = size;
    f.write_a = wrote;
    f.write_b = write;
    f.atomic = atomic;
    f.site_a = now.sites.by_id(earlier_site)->site;
    f.site_b = site.site;
    f.a = thread_of(earlier);
    f.b = thread_of(now.key);
    add_finding(f);
}

namespace {
void touch(GridRange& r, uint64_t address, int32_t size, Kind kind, Site& site) {
    const uint64_t end = address + size;
    if (kind != WRITE) {
        if (address < r.read_low) r.read_low = address;
        if (end > r.read_high) r.read_high = end;
    }
    const bool writes = kind == WRITE || kind == ATOMIC;
    if (writes) {
        if (address < r.write_low) r.write_low = address;
        if (end > r.write_high) r.write_high = end;
    }
    const bool shared = r.space == SHARED;
    if (now.track) {
        const bool atomic = kind == ATOMIC || kind == VOLATILE_READ;
        if (atomic) now.shadow.atomic(now.key);
        const shadow::Access a{now.key, address, size, writes, atomic, &site};
        const int fresh = shadow::touch(now.shadow, shared, a, [&](shadow::Key earlier, uint16_t id, bool wrote, bool either_atomic) {
            race(r, address, size, writes, site, earlier, id, wrote, either_atomic);
        });
        (writes ? r.bytes_written : r.bytes_read) += fresh;
    }
    if (now.sectors && !shared) now.sites.touched(site, address, size, grid_thread);
}
}  // namespace

void look(uint64_t address, int32_t size, Kind kind, Site& site, GridCell& cell) {
    const bool writes = kind == WRITE || kind == ATOMIC;
    GridRange* r = site.range;
    if (__builtin_expect(!r || !within(*r, address, size), 0)) {
        r = range_of(address, size);
        if (!r) r = elsewhere(address, size);
        if (!r) {
            if (now.bounds) fault(OUT_OF_BOUNDS, address, size, writes, site.site);
            return;
        }
        site.range = r;
    }
    if (now.bounds && __builtin_expect(address & (size - 1), 0) && (size & (size - 1)) == 0) fault(MISALIGNED, address, size, writes, site.site);
    if (accesses.on) {
        if ((kind == READ || kind == WRITE) && accesses.take(cell, site, *r, address, size, grid_thread)) return;
        end_log(false);
    }
    touch(*r, address, size, kind, site);
}

static shadow::Key key_of(uint64_t block, uint64_t thread) { return (block << shadow::BLOCK & shadow::BLOCKS) | shadow::FIRST_PHASE | thread; }

void end_log(bool ended) {
    const int32_t* b = grid_state.block_dim;
    const uint64_t key = now.key, threads = static_cast<uint64_t>(b[0]) * b[1] * b[2];
    accesses.end(ended, [&](const GridCell& c, GridRange& range, uint64_t address, uint64_t thread) {
        GridRange* r = within(range, address, c.size) ? &range : range_of(address, c.size);
        now.key = key_of((thread - 1) / threads, (thread - 1) % threads);
        if (r) touch(*r, address, c.size, c.write ? WRITE : READ, *c.site);
    });
    now.key = key;
}

static void in_line(GridCell* cell, uint64_t address, int32_t size, uint64_t where, Kind kind) {
    if (address - now.stack_low < now.stack_size) return;
    look(address, size, kind, *now.sites.find(where, kind == WRITE), *cell);
}

extern "C" {
void grid_cell_read(GridCell* cell, uint64_t address, int32_t size, uint64_t site) { in_line(cell, address, size, site, READ); }
void grid_cell_write(GridCell* cell, uint64_t address, int32_t size, uint64_t site) { in_line(cell, address, size, site, WRITE); }
void grid_read(uint64_t address, int32_t size, uint64_t site) { access(address, size, site, READ); }
void grid_write(uint64_t address, int32_t size, uint64_t site) { access(address, size, site, WRITE); }
void grid_volatile_read(uint64_t address, int32_t size, uint64_t site) { access(address, size, site, VOLATILE_READ); }
void grid_atomic(uint64_t address, int32_t size, uint64_t site) { access(address, size, site, ATOMIC); }

// `old = *p; do ... while (atomicCAS(p, old, ...) != old)`: the plain read is no race, the exchange checks it.
void grid_compare_and_swap(uint64_t address, int32_t size, uint64_t site) {
    if (accesses.on) end_log(false);
    if (now.track && range_of(address, size))
        if (uint16_t id = shadow::last_read(now.shadow, address, now.key)) now.sites.by_id(id)->feeds_cas = true;
    access(address, size, site, ATOMIC);
}

void grid_fence() { now.shadow.fenced = true; }

void grid_fail(int32_t kind, uint64_t site, int64_t index, int64_t length, int32_t axis) {
    GridReport& r = *now.report;
    r.kind = kind;
    r.site = site;
    r.index = index;
    r.length = length;
    r.axis = axis;
    leave_launch(FAILED);
}

int64_t grid_sites(GridSite* out, int64_t room) { return now.sites.list(out, room); }
}
