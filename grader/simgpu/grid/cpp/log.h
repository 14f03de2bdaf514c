// Accesses as runs, while a launch is regular: each thread comes by each place in the kernel once at most, and its
// neighbour touches the next element there. That costs far less than to look at each element, and loses nothing: if the
// runs cannot conflict there is nothing to find; else, or as soon as a launch is irregular, they are played back,
// thread by thread, into the shadow, which finds what it would have found. (In which order a thread came by two places
// is known where a run begins, and taken to last while runs go on: of two writes of a thread, the other may be named.)
#pragma once
#include "abi.h"
#include "sites.h"

struct Run {                         // thread + i touched address + i * stride, for i < count
    uint64_t address, thread, count; // threads are counted from 1, in the order in which they run
    int64_t stride;
    GridCell* cell;
    GridRange* range;
    uint64_t low() const { return stride < 0 ? address + stride * (count - 1) : address; }
    uint64_t high() const { return (stride < 0 ? address : address + stride * (count - 1)) + cell->size; }
    bool writes() const { return cell->write; }
};

class Log {
public:
    bool on;                         // are accesses logged, and none yet in the shadow?

    void begin(bool regular) {
        on = regular;
        runs_ = 0;
    }

    // Notes an access that goes on with its cell's run. Most do.
    static bool goes_on(GridCell& c, uint64_t address, int32_t size, uint64_t thread) {
        if (c.next_address != address || c.next_thread != thread || c.size != size || !within(*c.range, address, size)) return false;
        c.next_address += c.stride;
        c.next_thread++;
        return true;
    }

    // Notes one that does not. False if it does not fit: then `end`, and use the shadow.
    bool take(GridCell& c, Site& site, GridRange& range, uint64_t address, int32_t size, uint64_t thread) {
        if (c.next_thread > thread || range.space == SHARED) return false;
        if (!c.site ? !add(c, site, size, thread) : !in_order(c, thread) || c.size != size || c.site != &site) return false;
        Run& before = list_[c.run];
        if (c.range == &range && c.next_thread == thread && before.thread + 1 == thread) {
            before.stride = c.stride = static_cast<int64_t>(address - before.address);
        } else {
            if (runs_ == MAX_RUNS || (runs_ > 64 && runs_ * SHORTEST > thread * cells_)) return false;
            close(c);
            list_[runs_] = {address, thread, 1, size, &c, &range};
            c.run = runs_++;
            c.range = &range;
            c.stride = size;
        }
        c.next_address = address + c.stride;
        c.next_thread = thread + 1;
        return true;
    }

    // The launch is over (`ended`), or irregular from here on. If anything can conflict, play(cell, range, address,
    // thread) is called for each access, in order.
    template <typename Play>
    void end(bool ended, Play play) {
        on = false;                  // first: this may be interrupted
        for (int i = 0; i < cells_; i++) close(*known_[i]);
        if (ended && apart()) {
            for (uint64_t i = 0; i < runs_; i++) touched(list_[i]);
        } else {
            play_back(play);
        }
    }

    void let_go() {                  // of the cells: they lie in the kernel's own memory
        for (int i = 0; i < cells_; i++) *known_[i] = GridCell{};
        cells_ = 0;
    }

private:
    static constexpr int MAX_CELLS = 64, MAX_ACTIVE = 64;
    static constexpr uint64_t MAX_RUNS = 1 << 16, SHORTEST = 4;  // on average, from then on
    struct Extent { uint64_t low, high; const Run* run; };

    int cells_;
    uint64_t runs_;
    GridCell *known_[MAX_CELLS], *order_[MAX_CELLS];  // order_: as each thread comes by them
    Run list_[MAX_RUNS];             // in the order in which they begin
    Extent extents_[2][MAX_RUNS];

    void close(GridCell& c) {
        if (c.next_thread) list_[c.run].count = c.next_thread - list_[c.run].thread;
        c.next_thread = c.next_address = 0;
    }

    bool add(GridCell& c, Site& site, int32_t size, uint64_t thread) {
        if (cells_ == MAX_CELLS) return false;
        int at = 0;                  // after the last place that the thread has come by
        for (int i = 0; i < cells_; i++)
            if (order_[i]->next_thread > thread) at = i + 1;
        known_[cells_] = &c;
        for (int i = cells_; i > at; i--) order_[i] = order_[i - 1];
        order_[at] = &c;
        cells_++;
        c.size = size;
        c.write = site.write;
        c.site = &site;
        pass_over(at, thread);
        return true;
    }

    bool in_order(const GridCell& c, uint64_t thread) {
        int at = 0;
        while (order_[at] != &c) at++;
        for (int i = at + 1; i < cells_; i++)
            if (order_[i]->next_thread > thread) return false;
        pass_over(at, thread);
        return true;
    }

    // Places that the thread has left out: should it come by after all, that must show.
    void pass_over(int end, uint64_t thread) {
        for (int i = 0; i < end; i++)
            if (order_[i]->next_thread == thread) close(*order_[i]);
    }

    static void touched(const Run& r) {
        uint64_t& low = r.writes() ? r.range->write_low : r.range->read_low;
        uint64_t& high = r.writes() ? r.range->write_high : r.range->read_high;
        if (r.low() < low) low = r.low();
        if (r.high() > high) high = r.high();
    }

    static int64_t size_of(int64_t stride) { return stride < 0 ? -stride : stride; }

    // Wherever the two overlap, is it one thread's element in both?
    static bool one_mapping(const Run& a, const Run& b) {
        const int64_t stride = a.count > 1 ? a.stride : b.stride;
        if (b.count > 1 && b.stride != stride) return false;
        const int64_t shift = static_cast<int64_t>(a.address - stride * a.thread - b.address + stride * b.thread);
        return b.cell->size - size_of(stride) <= shift && shift <= size_of(stride) - a.cell->size;
    }

    // Can no two threads have touched the same bytes, one of them writing?
    bool apart() {
        bool written = false;
        for (uint64_t i = 0; i < runs_; i++) {
            const Run& r = list_[i];
            if (r.low() < r.range->low || r.high() > r.range->high) return false;  // went on into another argument
            if (r.writes() && r.count > 1 && size_of(r.stride) < r.cell->size) return false;
            written |= r.writes();
            extents_[0][i] = {r.low(), r.high(), &r};
        }
        if (!written) return true;
        const Extent *sorted = by_address(), *active[MAX_ACTIVE];
        int alive = 0;
        for (uint64_t i = 0; i < runs_; i++) {
            const Extent& e = sorted[i];
            int kept = 0;
            for (int k = 0; k < alive; k++) {
                const Extent& a = *active[k];
                if (a.high <= e.low) continue;
                if ((a.run->writes() || e.run->writes()) && !one_mapping(*a.run, *e.run)) return false;
                active[kept++] = &a;
            }
            if (kept == MAX_ACTIVE) return false;
            active[kept] = &e;
            alive = kept + 1;
        }
        return true;
    }

    const Extent* by_address() {     // by merging
        Extent *from = extents_[0], *to = extents_[1];
        for (uint64_t width = 1; width < runs_; width *= 2) {
            for (uint64_t start = 0; start < runs_; start += 2 * width) {
                const uint64_t middle = start + width < runs_ ? start + width : runs_, end = start + 2 * width < runs_ ? start + 2 * width : runs_;
                for (uint64_t a = start, b = middle, k = start; k < end; k++)
                    to[k] = a < middle && (b == end || from[a].low <= from[b].low) ? from[a++] : from[b++];
            }
            Extent* t = from;
            from = to;
            to = t;
        }
        return from;
    }

    template <typename Play>
    void play_back(Play play) {
        const Run* active[MAX_CELLS] = {};
        for (int i = 0; i < cells_; i++) order_[i]->rank = i;
        uint64_t next = 0, left = 0;
        for (uint64_t thread = 0; left || next < runs_; thread++) {
            if (!left) thread = list_[next].thread;
            for (; next < runs_ && list_[next].thread == thread; next++, left++) active[list_[next].cell->rank] = &list_[next];
            for (int i = 0; i < cells_; i++) {
                const Run* r = active[i];
                if (!r) continue;
                play(*r->cell, *r->range, r->address + r->stride * (thread - r->thread), thread);
                if (thread + 1 == r->thread + r->count) {
                    active[i] = nullptr;
                    left--;
                }
            }
        }
    }
};
