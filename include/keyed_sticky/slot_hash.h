// Which slot of a group an ordering key belongs to. Frozen: plugin, workers and Redis scripts
// compute the same.
//
// The slot is XXH32(key bytes, seed 0) modulo the group's slot count.
//
// - The key is taken byte for byte, as in the ks-key property: no case folding, no Unicode normal
//   form, no terminating zero.
// - XXH32 is the 32 bit xxHash, an unsigned number that is the same on every machine:
//   https://github.com/Cyan4973/xxHash/blob/v0.8.1/doc/xxhash_spec.md
// - The slot count is the `slots` of the plugin's group option, 4096 unless it is set there. It
//   must not change while records of the group are under way.
//
// For example, with 4096 slots: "" is in slot 3333, "k1" in slot 1854, "dev/k1/up" in slot 906.
//
// Link with xxHash (-lxxhash).
#pragma once

#include <xxhash.h>

#include <cstdint>
#include <string_view>

namespace keyed_sticky {

/// The key's hash, before it is reduced to a slot. Any bytes are a key, also none. Never fails;
/// from any thread.
inline std::uint32_t key_hash(std::string_view key) {
    return XXH32(key.data(), key.size(), 0);
}

/// The key's slot, 0 to slots - 1. slots: 1 to 65536 (the plugin's limit; every number above 0 is
/// well defined). From any thread.
inline std::uint32_t slot_of(std::string_view key, std::uint32_t slots) {
    return key_hash(key) % slots;
}

}  // namespace keyed_sticky
