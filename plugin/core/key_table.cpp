#include "core/key_table.h"

#include <algorithm>

#include "keyed_sticky/slot_hash.h"

namespace keyed_sticky {

std::size_t KeyTable::Hash::operator()(const std::string& name) const {
    return key_hash(name);
}

void KeyTable::raise_generation(std::uint64_t floor) {
    const bool first = last_generation_ == 0;
    last_generation_ = std::max(last_generation_, floor);
    for (TrackedKey* key = first ? oldest_ : nullptr; key != nullptr; key = key->newer) {
        key->generation = ++last_generation_;
    }
}

TrackedKey& KeyTable::touch(std::string_view name, std::uint32_t hash, TimePoint now) {
    const auto found = keys_.find(Name{name, hash});
    if (found != keys_.end()) {
        TrackedKey& key = found->second;
        key.last_used = now;
        if (newest_ != &key) {
            unlink(key);
            append(key);
        }
        return key;
    }
    make_room();
    const auto made = keys_.try_emplace(std::string(name)).first;
    TrackedKey& key = made->second;
    key.name = made->first;
    key.generation = last_generation_ == 0 ? 0 : ++last_generation_;
    key.last_used = now;
    append(key);
    return key;
}

std::size_t KeyTable::forget_idle(TimePoint before, std::size_t limit) {
    std::size_t forgotten = 0;
    for (std::size_t tried = 0; tried < limit && oldest_ != nullptr && oldest_->last_used < before;
         ++tried) {
        forgotten += forget_oldest() ? 1 : 0;
    }
    if (keys_.size() < keys_.bucket_count() / 8) {
        keys_.rehash(0);  // a flood of keys must not leave its bucket array behind
    }
    return forgotten;
}

void KeyTable::make_room() {
    // Two tries: a key with records is passed over, and the table may then grow past its bound for
    // a while.
    for (int tries = 0; tries < 2 && keys_.size() >= max_keys_; ++tries) {
        evicted_ += forget_oldest() ? 1 : 0;
    }
}

bool KeyTable::forget_oldest() {
    TrackedKey& key = *oldest_;
    unlink(key);
    if (key.live_records > 0) {
        // Not idle: it stands as if used just now, so that the keys behind it are looked at next.
        if (newest_ != nullptr) {
            key.last_used = newest_->last_used;
        }
        append(key);
        return false;
    }
    keys_.erase(keys_.find(Name{key.name, key_hash(key.name)}));
    return true;
}

void KeyTable::append(TrackedKey& key) {
    key.older = newest_;
    key.newer = nullptr;
    (newest_ != nullptr ? newest_->newer : oldest_) = &key;
    newest_ = &key;
}

void KeyTable::unlink(TrackedKey& key) {
    (key.older != nullptr ? key.older->newer : oldest_) = key.newer;
    (key.newer != nullptr ? key.newer->older : newest_) = key.older;
    key.older = nullptr;
    key.newer = nullptr;
}

}  // namespace keyed_sticky
