// Identities. Each is a type of its own, so that a slot is never taken for an epoch.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace keyed_sticky {

/// A group is a share name *and* a topic filter: the same name with another filter is another
/// ordering domain. Both are exact bytes as the client sent them, without the "$share/" prefix.
struct GroupName {
    std::string share;
    std::string filter;
    // clang-tidy 14 takes the zero that a rewritten comparison compares with for a null pointer.
    auto operator<=>(const GroupName&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// A slot of a group, 0 to slots - 1.
enum class Slot : std::uint32_t {};

constexpr std::uint32_t index(Slot slot) {
    return static_cast<std::uint32_t>(slot);
}

/// Fencing token of a slot's ownership: (term << 20) | number of the change within the term. Fits
/// in 53 bits, so Lua and JSON compare it exactly. Zero means "never owned".
class Epoch {
  public:
    static constexpr unsigned change_bits = 20;

    constexpr Epoch() = default;
    constexpr explicit Epoch(std::uint64_t value) : value_(value) {}
    /// term: 1 to 2^33 - 1, as the coordinator granted it. change: 0 to 2^20 - 1.
    static constexpr Epoch of(std::uint64_t term, std::uint64_t change) {
        return Epoch{(term << change_bits) | change};
    }

    constexpr std::uint64_t value() const { return value_; }
    constexpr std::uint64_t term() const { return value_ >> change_bits; }
    constexpr std::uint64_t change() const {
        return value_ & ((std::uint64_t{1} << change_bits) - 1);
    }
    constexpr auto operator<=>(const Epoch&) const = default;  // NOLINT(modernize-use-nullptr)

  private:
    std::uint64_t value_ = 0;
};

enum class Qos : std::uint8_t { at_most_once = 0, at_least_once = 1, exactly_once = 2 };

}  // namespace keyed_sticky
