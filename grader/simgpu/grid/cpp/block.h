// A block of threads that wait for each other: at its barriers, in their warps, or for the whole grid.
#pragma once
#include "fibers.h"

namespace {

class Block {
public:
    Block(Fiber* fibers, Stacks& from, size_t first_stack) : fibers_(fibers), stacks_(from), first_(first_stack) {
        memcpy(at_, grid_state.block, sizeof at_);
        key_ = block_key();
        n_ = 0;
        for (int z = 0; z < grid_state.block_dim[2]; z++)
            for (int y = 0; y < grid_state.block_dim[1]; y++)
                for (int x = 0; x < grid_state.block_dim[0]; x++, n_++) {
                    Fiber& f = fibers_[n_];
                    f = Fiber{};
                    f.thread[0] = x;
                    f.thread[1] = y;
                    f.thread[2] = z;
                    f.sp = fresh_stack(stacks_.top(first_ + n_), thread_body);
                }
    }

    // Runs until every thread has ended (true) or waits for the other blocks (false).
    bool run() {
        memcpy(grid_state.block, at_, sizeof at_);
        stacks = &stacks_;
        block_fibers = fibers_;
        block_first_stack = first_;
        block_key_now = key_;
        for (;;) {
            for (int w = 0; w < n_; w += WARP_SIZE) run_warp(w, w + WARP_SIZE < n_ ? w + WARP_SIZE : n_);
            int ended = 0, at_grid = 0;
            for (int i = 0; i < n_; i++) {
                ended += fibers_[i].state == DONE;
                at_grid += fibers_[i].state == AT_GRID;
            }
            if (ended == n_) return true;
            if (at_grid && at_grid + ended == n_) return false;
            release(n_ - ended);
        }
    }

    void pass_grid_barrier() { release_all(AT_GRID, 0, 0); }

private:
    Fiber* fibers_;
    Stacks& stacks_;
    size_t first_;
    int n_;
    int32_t at_[3];
    shadow::Key key_;

    // Every thread from `i` on that can run, to its next wait.
    void run_from(int i, int end) {
        warp_end = fibers_ + end;
        for (; i < end; i++)
            if (fibers_[i].state == READY) {
                becomes_current(&fibers_[i]);
                grid_switch(&scheduler, current->sp);
                break;
            }
        if (now.sectors) now.sites.warp_done();
    }

    void run_warp(int first, int end) {
        waiting_in_warp = 0;
        do run_from(first, end);
        while (waiting_in_warp && meet(first, end));
    }

    // Lets lanes that wait for each other go on. False if none waits for its warp.
    bool meet(int first, int end) {
        int odd = -1;
        for (int i = first; i < end; i++) {
            Fiber& f = fibers_[i];
            if (f.state != AT_WARP) continue;
            bool all = true;
            int ended = -1;
            for (int k = first; k < end && all; k++) {
                if (!(f.mask >> (k - first) & 1)) continue;
                if (fibers_[k].state == DONE) ended = k;
                else all = fibers_[k].state == AT_WARP && fibers_[k].mask == f.mask;
            }
            if (all && ended >= 0) report(WARP_DIVERGED, f, i, fibers_[ended], ended);
            if (all) return go_on(first, end, i, AT_WARP);
            if (odd < 0) odd = i;
        }
        for (int i = first; i < end; i++)
            if (fibers_[i].state == AT_MASK) return go_on(first, end, i, AT_MASK);
        if (odd < 0) return false;
        for (int k = first; k < end; k++)  // lanes named in a mask wait somewhere else
            if (fibers_[odd].mask >> (k - first) & 1 && !(fibers_[k].state == AT_WARP && fibers_[k].mask == fibers_[odd].mask)) {
                report(WARP_DIVERGED, fibers_[odd], odd, fibers_[k], k);
                break;
            }
        return go_on(first, end, odd, AT_WARP);
    }

    bool go_on(int first, int end, int leader, State state) {
        const Fiber with = fibers_[leader];
        meeting.lanes = 0;
        for (int k = first; k < end; k++) {
            Fiber& f = fibers_[k];
            if (f.state != state || (state == AT_WARP ? f.mask != with.mask : f.site != with.site)) continue;
            meeting.lanes |= 1u << (k - first);
            meeting.given[k - first] = f.value;
        }
        for (int k = first; k < end; k++)
            if (meeting.lanes >> (k - first) & 1) {
                fibers_[k].state = READY;
                waiting_in_warp--;
            }
        return true;                 // they run next, alone: `meeting` is theirs till they have read it
    }

    void report(int kind, const Fiber& a, int i, const Fiber& b, int k) {
        GridFinding f{};
        f.kind = kind;
        f.site_a = a.site;
        f.site_b = b.state == DONE ? 0 : b.site;
        f.a = thread_of(key_ | i);
        f.b = thread_of(key_ | k);
        add_finding(f);
    }

    void release(int alive) {
        int waiting = -1, other = -1, count = 0, met = 0;
        for (int i = 0; i < n_; i++) {
            Fiber& f = fibers_[i];
            if (f.state != AT_BARRIER && f.state != AT_GRID) continue;
            if (f.state != AT_BARRIER) { other = i; continue; }
            if (waiting < 0) waiting = i;
            else if (f.site != fibers_[waiting].site) report(BARRIER_LINES, fibers_[waiting], waiting, f, i);
            count += f.predicate != 0;
            met++;
        }
        if (other >= 0) report(BARRIER_LINES, fibers_[waiting], waiting, fibers_[other], other);
        if (alive < n_)
            for (int i = 0; i < n_; i++)
                if (fibers_[i].state == DONE) { report(BARRIER_LEFT, fibers_[waiting], waiting, fibers_[i], i); break; }
        release_all(AT_BARRIER, count, met);
    }

    void release_all(State state, int count, int met) {
        for (int i = 0; i < n_; i++) {
            Fiber& f = fibers_[i];
            if (f.state != state) continue;
            f.state = READY;
            f.predicate = count;
            f.value = met;
            f.phase++;
        }
    }
};

}  // namespace
