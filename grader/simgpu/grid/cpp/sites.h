// The places in a kernel that touch memory, and the 32-byte sectors that warps touch there. Threads run one after
// another: the n-th time that each thread of a warp passes a place counts as one instruction of the warp.
#pragma once
#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#include "abi.h"

constexpr int MAX_SITES = 4096, HASHED = 2 * MAX_SITES, PASSES = 512, WARP_SIZE = 32;

struct Site {
    uint64_t site;
    uint16_t id;
    bool write, feeds_cas;           // feeds_cas: what was read here went into a compare-and-swap
    uint32_t pass, passes;           // of the current thread; most of a thread of the current warp
    uint64_t run;                    // which run of a thread `pass` counts in
    GridRange* range;                // touched last here
    GridCell cell;
    uint64_t warps, sectors, ideal;
    uint64_t bytes_beyond;           // of the current warp, beyond the passes that are looked at
};

struct Pass { uint32_t sectors, bytes, sector[WARP_SIZE]; };

class Sites {
public:
    bool begin() {
        if (!passes_) {
            const size_t bytes = sizeof(Pass) * MAX_SITES * PASSES;
            void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (p == MAP_FAILED) return false;
            passes_ = static_cast<Pass*>(p);
        }
        memset(hash_, 0, sizeof hash_);
        for (int i = 1; i <= count_; i++)  // an interrupted launch leaves some behind
            for (uint32_t k = 0; k < sites_[i].passes; k++) passes_[i * PASSES + k].sectors = passes_[i * PASSES + k].bytes = 0;
        count_ = active_count_ = 0;
        return true;
    }

    Site* find(uint64_t site, bool write) {
        uint64_t h = (site * 0x9e3779b97f4a7c15ull) >> 40;
        for (;; h++) {
            const uint16_t id = hash_[h % HASHED];
            if (!id) break;
            if (sites_[id].site == site && sites_[id].write == write) return &sites_[id];
        }
        if (count_ + 1 == MAX_SITES) return &sites_[count_];
        Site& s = sites_[++count_];
        s = Site{};
        s.site = site;
        s.id = static_cast<uint16_t>(count_);
        s.write = write;
        hash_[h % HASHED] = s.id;
        return &s;
    }

    Site* by_id(uint16_t id) { return &sites_[id]; }

    void touched(Site& s, uint64_t address, int32_t size, uint64_t run) {
        if (s.run != run) { s.run = run; s.pass = 0; }
        const uint32_t k = s.pass++;
        if (k >= PASSES) { s.bytes_beyond += size; return; }
        if (k >= s.passes) {
            if (!s.passes) active_[active_count_++] = s.id;
            s.passes = k + 1;
        }
        Pass& p = passes_[s.id * PASSES + k];
        p.bytes += size;
        for (uint32_t sector = address >> 5, last = (address + size - 1) >> 5;; sector++) {
            bool known = false;
            for (uint32_t i = p.sectors; i-- > 0 && !known;) known = p.sector[i] == sector;
            if (!known && p.sectors < WARP_SIZE) p.sector[p.sectors++] = sector;
            if (sector == last) break;
        }
    }

    void warp_done() {               // the warp's threads have all run: what they touched in step is known
        for (int i = 0; i < active_count_; i++) {
            Site& s = sites_[active_[i]];
            uint64_t sectors = 0, ideal = 0, bytes = 0;
            for (uint32_t k = 0; k < s.passes; k++) {
                Pass& p = passes_[s.id * PASSES + k];
                const uint32_t least = (p.bytes + 31) / 32;
                sectors += p.sectors;
                ideal += least < p.sectors ? least : p.sectors;
                bytes += p.bytes;
                p.sectors = p.bytes = 0;
            }
            if (s.bytes_beyond) {    // a long loop: the passes beyond are taken to be like those before
                sectors += sectors * s.bytes_beyond / bytes;
                ideal += ideal * s.bytes_beyond / bytes;
                s.bytes_beyond = 0;
            }
            s.warps += s.passes;
            s.sectors += sectors;
            s.ideal += ideal;
            s.passes = 0;
        }
        active_count_ = 0;
    }

    int64_t list(GridSite* out, int64_t room) const {
        int64_t n = 0;
        for (int i = 1; i <= count_ && n < room; i++)
            if (sites_[i].warps) out[n++] = {sites_[i].site, sites_[i].warps, sites_[i].sectors, sites_[i].ideal, sites_[i].write};
        return n;
    }

    int64_t count() const { return count_; }

private:
    Pass* passes_ = nullptr;
    int count_ = 0, active_count_ = 0;
    uint16_t hash_[HASHED] = {}, active_[MAX_SITES] = {};
    Site sites_[MAX_SITES] = {};
};
