// Per-key sequences for the stamp. Bounded: idle keys are forgotten, and a forgotten key that comes
// back starts a new, higher generation, so that no (generation, sequence) is ever used twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/time.h"

namespace keyed_sticky {

/// One ordering key with its last sequence. Its address is stable until it is forgotten.
struct TrackedKey {
    std::string_view name;  ///< bytes owned by the table
    std::uint64_t generation =
        0;  ///< 0: the table has no floor yet; set by raise_generation(), then fixed
    std::uint64_t sequence = 0;      ///< last one given out; 0: none yet
    std::uint32_t live_records = 0;  ///< records in lanes that point here: such a key is not idle
    TimePoint last_used;
    TrackedKey* older = nullptr;
    TrackedKey* newer = nullptr;
};

class KeyTable {
  public:
    /// max_keys: at least 1. It is exceeded only while more keys than that have records in lanes.
    explicit KeyTable(std::size_t max_keys) : max_keys_(max_keys) {}
    KeyTable(const KeyTable&) = delete;
    KeyTable& operator=(const KeyTable&) = delete;

    /// Generations given out from now on are above this (a term's first epoch: terms rise over
    /// restarts). Keys that were met before the first floor get theirs now.
    void raise_generation(std::uint64_t floor);

    /// The key's entry, made if need be, as the most recently used one. hash: XXH32 of the name,
    /// seed 0.
    TrackedKey& touch(std::string_view name, std::uint32_t hash, TimePoint now);

    static void pin(TrackedKey& key) { ++key.live_records; }
    static void unpin(TrackedKey& key) { --key.live_records; }

    /// Forgets keys not used since `before`, oldest first, at most `limit` of them, so that no call
    /// takes long. Returns how many were forgotten.
    std::size_t forget_idle(TimePoint before, std::size_t limit);

    std::size_t size() const { return keys_.size(); }
    /// Keys forgotten because the table was full; those of forget_idle() are not among them.
    std::uint64_t evicted() const { return evicted_; }
    const TrackedKey* oldest() const { return oldest_; }

  private:
    struct Name {
        std::string_view bytes;
        std::uint32_t hash;
    };
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(const Name& name) const { return name.hash; }
        std::size_t operator()(const std::string& name) const;
    };
    struct Equal {
        using is_transparent = void;
        bool operator()(const Name& a, const std::string& b) const { return a.bytes == b; }
        bool operator()(const std::string& a, const Name& b) const { return a == b.bytes; }
        bool operator()(const std::string& a, const std::string& b) const { return a == b; }
    };

    void append(TrackedKey& key);
    void unlink(TrackedKey& key);
    void make_room();
    /// Forgets the oldest key, or moves it to the young end if it has records. True if it was
    /// forgotten.
    bool forget_oldest();

    std::size_t max_keys_;
    std::uint64_t last_generation_ = 0;
    std::uint64_t evicted_ = 0;
    std::unordered_map<std::string, TrackedKey, Hash, Equal> keys_;
    TrackedKey* oldest_ = nullptr;
    TrackedKey* newest_ = nullptr;
};

}  // namespace keyed_sticky
