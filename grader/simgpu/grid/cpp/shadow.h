// Who touched each 4 bytes of memory last: finds two threads of one launch that touch the same bytes, at least one
// writing, with nothing between them that orders them. Also counts the distinct bytes.
#pragma once
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#include "abi.h"
#include "sites.h"

namespace shadow {

// A key says which thread, and between which barriers: block 30 bits, barriers passed by the block 14, by the warp 6,
// thread 10. The 4 bits above belong to the record that holds the key.
using Key = uint64_t;
constexpr Key KEY = (Key{1} << 60) - 1, THREAD = (Key{1} << 10) - 1, WARP = THREAD & ~Key{31};
constexpr int WARP_PHASE = 10, PHASE = 16, BLOCK = 30;
constexpr Key IN_WARP = Key{63} << WARP_PHASE, IN_BLOCK = Key{0x3fff} << PHASE, BLOCKS = KEY & ~((Key{1} << BLOCK) - 1);

constexpr Key FIRST_PHASE = Key{1} << PHASE;

constexpr uint64_t ATOMIC = 1ull << 63, SEEN_READ = 1ull << 62, SEEN_WRITTEN = 1ull << 61, SPLIT = 1ull << 60;

struct Record {
    uint64_t writer;                 // key, ATOMIC, and what happened in this launch
    uint64_t reader, other;          // two threads that read; above the keys: which address this is
    uint16_t epoch, writer_site, reader_site, other_site;
};
static_assert(sizeof(Record) == 32, "one record for 4 bytes");

constexpr int WORD_BITS = 25, BYTE_BITS = 24;
constexpr uint64_t RELEASE_ABOVE = (256u << 20) / sizeof(Record);

struct Map {
    Record* records = nullptr;
    int bits = 0;
    size_t bytes() const { return sizeof(Record) << bits; }
    bool open(int wanted) {
        bits = wanted;
        if (!records) {
            void* p = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (p == MAP_FAILED) return false;
            records = static_cast<Record*>(p);
        }
        return true;
    }
    void forget() {
        if (records) munmap(records, bytes());
        records = nullptr;
    }
};

struct Shadow {
    Map words, bytes;                // all zero at first: nothing of this lies in the library's file
    uint16_t epoch = 0, launch_epoch = 0;
    uint64_t used = 0;               // records written since the memory was last given back
    uint64_t acquired = 0;           // the current block sees what the first `acquired` blocks wrote: a fence and an atomic
    uint64_t released = 0;           // ... which the blocks before this one went through
    bool fenced = false;             // has the current block gone through a fence?

    bool begin() {
        if (used > RELEASE_ABOVE || epoch > 0xff00) {
            words.forget();
            bytes.forget();
            used = 0;
            if (epoch > 0xff00) epoch = 0;
        }
        launch_epoch = ++epoch;
        released = 0;
        return words.open(WORD_BITS) && bytes.open(BYTE_BITS);
    }
    void next_block() { acquired = 0; fenced = false; }
    void all_met() { if (epoch < 0xffff) epoch++; }  // a barrier of the whole grid
    void atomic(Key key) {
        acquired = released;
        if (fenced) released = (key >> BLOCK & 0x3fffffff) + 1;
    }
};

struct Access { Key key; uint64_t address; int32_t size; bool write, atomic; Site* site; };

inline bool apart(const Shadow& s, Key a, Key b) {  // may they run at the same time?
    const Key x = a ^ b;
    if (x & BLOCKS) return (a >> BLOCK) >= s.acquired;
    if ((x & IN_BLOCK) || !(x & THREAD)) return false;
    return !((x & IN_WARP) && !(x & WARP));
}

// `conflict(earlier key, earlier site id, earlier wrote, either atomic)` is told what is found.
template <typename Conflict>
__attribute__((always_inline)) inline void check(Shadow& s, Record& r, bool shared, const Access& a, Conflict conflict) {
    const Key w = r.writer & KEY;
    const bool other_block = shared;  // shared memory of another block is other memory
    if (w && !(other_block && ((w ^ a.key) & BLOCKS))) {
        const bool was_atomic = r.writer & ATOMIC;
        if (__builtin_expect(!(was_atomic && a.atomic) && apart(s, w, a.key), 0)) conflict(w, r.writer_site, true, was_atomic || a.atomic);
    }
    if (a.write) {
        const Key r0 = r.reader & KEY, r1 = r.other & KEY;
        if (r0 && !(other_block && ((r0 ^ a.key) & BLOCKS)) && __builtin_expect(apart(s, r0, a.key), 0)) conflict(r0, r.reader_site, false, a.atomic);
        else if (r1 && !(other_block && ((r1 ^ a.key) & BLOCKS)) && __builtin_expect(apart(s, r1, a.key), 0)) conflict(r1, r.other_site, false, a.atomic);
        r.writer = (r.writer & (SEEN_READ | SEEN_WRITTEN | SPLIT)) | a.key | (a.atomic ? ATOMIC : 0);
        r.writer_site = a.site->id;
    } else if (!a.atomic && (r.reader & KEY) != a.key) {
        const uint64_t tag = ~KEY;
        if (((r.reader ^ a.key) & (BLOCKS | THREAD))) {  // another thread: keep both
            r.other = (r.other & tag) | (r.reader & KEY);
            r.other_site = r.reader_site;
        }
        r.reader = (r.reader & tag) | a.key;
        r.reader_site = a.site->id;
    }
}

inline Record& at(Shadow& s, Map& map, uint64_t unit) {
    Record& r = map.records[unit & ((1ull << map.bits) - 1)];
    const uint64_t tag = unit >> map.bits, high = (tag & 15) << 60, low = (tag >> 4 & 15) << 60;
    const bool ours = (r.reader & ~KEY) == high && (r.other & ~KEY) == low;
    if (__builtin_expect(r.epoch != s.epoch || !ours, 0)) {
        const bool this_launch = ours && r.epoch >= s.launch_epoch;
        if (r.epoch < s.launch_epoch) s.used++;
        r.writer = this_launch ? r.writer & (SEEN_READ | SEEN_WRITTEN) : 0;
        r.reader = high;
        r.other = low;
        r.epoch = s.epoch;
    }
    return r;
}

inline int newly_seen(Record& r, bool write) {
    const uint64_t bit = write ? SEEN_WRITTEN : SEEN_READ;
    if (r.writer & bit) return 0;
    r.writer |= bit;
    return 1;
}

// One access, at most 16 bytes; returns how many of its bytes this launch had not read (written) before.
template <typename Conflict>
__attribute__((always_inline)) inline int touch(Shadow& s, bool shared, const Access& a, Conflict conflict) {
    int fresh = 0;
    const uint64_t end = a.address + a.size;
    for (uint64_t word = a.address >> 2; word << 2 < end; word++) {
        Record& r = at(s, s.words, word);
        const bool whole = word << 2 >= a.address && (word << 2) + 4 <= end;
        if (__builtin_expect(whole && !(r.writer & SPLIT), 1)) {
            check(s, r, shared, a, conflict);
            fresh += 4 * newly_seen(r, a.write);
            continue;
        }
        const uint64_t first = word << 2;
        if (!(r.writer & SPLIT)) {   // from now on each byte has a record of its own
            for (int i = 0; i < 4; i++) {
                Record& b = at(s, s.bytes, first + i);
                const uint64_t r0 = b.reader & ~KEY, r1 = b.other & ~KEY;
                b.writer = r.writer;
                b.reader = r0 | (r.reader & KEY);
                b.other = r1 | (r.other & KEY);
                b.writer_site = r.writer_site;
                b.reader_site = r.reader_site;
                b.other_site = r.other_site;
            }
            r.writer |= SPLIT;
        }
        for (int i = 0; i < 4; i++)
            if (first + i >= a.address && first + i < end) {
                Record& b = at(s, s.bytes, first + i);
                check(s, b, shared, a, conflict);
                fresh += newly_seen(b, a.write);
            }
    }
    return fresh;
}

// The site of the last plain read of this address by this thread, or 0.
inline uint16_t last_read(Shadow& s, uint64_t address, Key key) {
    Record& r = at(s, s.words, address >> 2);
    return ((r.reader ^ key) & (BLOCKS | THREAD)) == 0 && (r.reader & KEY) ? r.reader_site : 0;
}

}  // namespace shadow
