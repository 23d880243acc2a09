// The stamp: user properties that tell an MQTT 5 member what a record is to its order.
//
//   ks-key         the ordering key, exact bytes
//   ks-epoch       fencing token of the slot's ownership, 1 to 2^53 - 1; only ever rises for a slot
//   ks-generation  of the key's numbering, 0 to 2^53 - 1; a higher one starts again at sequence 1
//   ks-sequence    the record's number within the generation, 1 to 2^53 - 1, without gaps
//   ks-redelivery  "1" on a record that may have been sent before; otherwise absent
//   ks-handover    "cause=CAUSE;previous-epoch=N" on the first record after the slot changed its
//                  owner; otherwise absent. CAUSE is first-use, unsubscribed, disconnected,
//                  lease-expired or rebalanced; N is 0 if the slot had no owner before
//
// Numbers are written in decimal digits without leading zeros, so that a value has one spelling.
// The plugin removes every "ks-" property from what publishers send: a stamp is the plugin's own.
//
// Standard library only. Everything here may be called from any thread.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace keyed_sticky {

namespace stamp_property {

// Arrays, so that the names end with a zero for C interfaces.
inline constexpr char prefix[] = "ks-";
inline constexpr char key[] = "ks-key";
inline constexpr char epoch[] = "ks-epoch";
inline constexpr char generation[] = "ks-generation";
inline constexpr char sequence[] = "ks-sequence";
inline constexpr char redelivery[] = "ks-redelivery";
inline constexpr char handover[] = "ks-handover";

}  // namespace stamp_property

/// Largest number in a stamp: JSON and Lua still hold it exactly.
inline constexpr std::uint64_t largest_stamp_number = (std::uint64_t{1} << 53U) - 1;

/// What ks-handover says.
struct StampHandover {
    enum class Cause : std::uint8_t {
        first_use,
        unsubscribed,
        disconnected,
        lease_expired,
        rebalanced,
    };
    Cause cause = Cause::first_use;
    std::uint64_t previous_epoch = 0;  ///< 0: the slot had no owner before
    bool operator==(const StampHandover&) const = default;
};

struct Stamp {
    std::string_view key;  ///< a view of the property's value, valid as long as that
    std::uint64_t epoch = 0;
    std::uint64_t generation = 0;
    std::uint64_t sequence = 0;
    bool redelivery = false;
    std::optional<StampHandover> handover;
    bool operator==(const Stamp&) const = default;
};

enum class StampStatus : std::uint8_t {
    ok,
    absent,     ///< no stamp property at all: not a record of a handled group, or stamping is off
    missing,    ///< some are there, but not all of key, epoch, generation and sequence
    garbled,    ///< a value is not written as above, or out of its range
    duplicate,  ///< one of them is there twice, so neither can be trusted
};

struct StampResult {
    StampStatus status = StampStatus::absent;
    Stamp stamp;                ///< complete with ok; not to be used otherwise
    std::string_view property;  ///< with missing, garbled and duplicate: the first one concerned
};

/// Reads the stamp from a message's user properties: a range of (name, value) pairs of strings, in
/// any order, others among them. A name under "ks-" that is not known is ignored: a later plugin
/// may have put it there.
template <typename Pairs>
StampResult parse_stamp(const Pairs& user_properties);

/// A number as the stamp writes it.
class StampNumberText {
  public:
    explicit StampNumberText(std::uint64_t number) {
        size_ = static_cast<std::size_t>(
            std::to_chars(text_.data(), text_.data() + text_.size(), number).ptr - text_.data());
    }
    std::string_view view() const { return {text_.data(), size_}; }
    /// The same with a zero at the end. Valid as long as this object.
    const char* c_str() const { return text_.data(); }

  private:
    std::array<char, 21> text_{};  // the digits of 2^64 - 1, and the zero
    std::size_t size_ = 0;
};

std::string_view to_string(StampHandover::Cause cause);

/// The value of ks-handover.
class StampHandoverText {
  public:
    explicit StampHandoverText(const StampHandover& handover);
    std::string_view view() const { return {text_.data(), size_}; }
    /// The same with a zero at the end. Valid as long as this object.
    const char* c_str() const { return text_.data(); }

  private:
    void append(std::string_view part) {
        for (const char byte : part) text_.at(size_++) = byte;
    }

    std::array<char, 64> text_{};
    std::size_t size_ = 0;
};

/// Calls write(name, value) for each property of the stamp, in the order of the list above, with
/// two string_views that are valid during the call. Both end with a zero, except the key's value:
/// that is whatever stamp.key views. Allocates nothing.
/// Precondition: the numbers are in their ranges; otherwise parse_stamp() will refuse the result.
template <typename Write>
void write_stamp(const Stamp& stamp, Write&& write) {
    write(std::string_view{stamp_property::key}, stamp.key);
    write(std::string_view{stamp_property::epoch}, StampNumberText{stamp.epoch}.view());
    write(std::string_view{stamp_property::generation}, StampNumberText{stamp.generation}.view());
    write(std::string_view{stamp_property::sequence}, StampNumberText{stamp.sequence}.view());
    if (stamp.redelivery) {
        write(std::string_view{stamp_property::redelivery}, std::string_view{"1"});
    }
    if (stamp.handover) {
        write(std::string_view{stamp_property::handover},
              StampHandoverText{*stamp.handover}.view());
    }
}

// Implementation from here on.

namespace stamp_detail {

inline constexpr std::string_view cause_prefix = "cause=";
inline constexpr std::string_view previous_epoch_prefix = ";previous-epoch=";

inline constexpr std::array<StampHandover::Cause, 5> causes{
    StampHandover::Cause::first_use, StampHandover::Cause::unsubscribed,
    StampHandover::Cause::disconnected, StampHandover::Cause::lease_expired,
    StampHandover::Cause::rebalanced};

inline std::optional<std::uint64_t> number(std::string_view text, std::uint64_t smallest) {
    if (text.size() > 1 && text.front() == '0') return std::nullopt;
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || rest != end) return std::nullopt;
    if (value < smallest || value > largest_stamp_number) return std::nullopt;
    return value;
}

inline std::optional<StampHandover> handover(std::string_view text) {
    if (!text.starts_with(cause_prefix)) return std::nullopt;
    text.remove_prefix(cause_prefix.size());
    for (const StampHandover::Cause cause : causes) {
        const std::string_view name = to_string(cause);
        if (!text.starts_with(name)) continue;
        std::string_view rest = text.substr(name.size());
        if (!rest.starts_with(previous_epoch_prefix)) continue;
        rest.remove_prefix(previous_epoch_prefix.size());
        if (const auto previous = number(rest, 0)) return StampHandover{cause, *previous};
    }
    return std::nullopt;
}

class Reader {
  public:
    // False: the property is garbled or there twice; result() says which.
    bool take(std::string_view name, std::string_view value) {
        if (name == stamp_property::key) return keep(key_, stamp_property::key, value);
        if (name == stamp_property::epoch) {
            return keep(epoch_, stamp_property::epoch, number(value, 1));
        }
        if (name == stamp_property::generation) {
            return keep(generation_, stamp_property::generation, number(value, 0));
        }
        if (name == stamp_property::sequence) {
            return keep(sequence_, stamp_property::sequence, number(value, 1));
        }
        if (name == stamp_property::redelivery) {
            return keep(redelivery_, stamp_property::redelivery,
                        value == "1" ? std::optional<bool>{true} : std::nullopt);
        }
        if (name == stamp_property::handover) {
            return keep(handover_, stamp_property::handover, stamp_detail::handover(value));
        }
        return true;
    }

    StampResult result() const {
        if (bad_) return *bad_;
        if (!key_ && !epoch_ && !generation_ && !sequence_ && !redelivery_ && !handover_) {
            return {};
        }
        if (!key_) return {StampStatus::missing, {}, stamp_property::key};
        if (!epoch_) return {StampStatus::missing, {}, stamp_property::epoch};
        if (!generation_) return {StampStatus::missing, {}, stamp_property::generation};
        if (!sequence_) return {StampStatus::missing, {}, stamp_property::sequence};
        return {StampStatus::ok,
                {*key_, *epoch_, *generation_, *sequence_, redelivery_.has_value(), handover_},
                {}};
    }

  private:
    template <typename T>
    bool keep(std::optional<T>& field, std::string_view name, const std::optional<T>& value) {
        if (field || !value) {
            bad_ = StampResult{field ? StampStatus::duplicate : StampStatus::garbled, {}, name};
            return false;
        }
        field = value;
        return true;
    }
    bool keep(std::optional<std::string_view>& field, std::string_view name,
              std::string_view value) {
        return keep(field, name, std::optional<std::string_view>{value});
    }

    std::optional<std::string_view> key_;
    std::optional<std::uint64_t> epoch_;
    std::optional<std::uint64_t> generation_;
    std::optional<std::uint64_t> sequence_;
    std::optional<bool> redelivery_;
    std::optional<StampHandover> handover_;
    std::optional<StampResult> bad_;
};

}  // namespace stamp_detail

inline std::string_view to_string(StampHandover::Cause cause) {
    switch (cause) {
        case StampHandover::Cause::first_use:
            return "first-use";
        case StampHandover::Cause::unsubscribed:
            return "unsubscribed";
        case StampHandover::Cause::disconnected:
            return "disconnected";
        case StampHandover::Cause::lease_expired:
            return "lease-expired";
        case StampHandover::Cause::rebalanced:
            return "rebalanced";
    }
    return "unknown";
}

inline StampHandoverText::StampHandoverText(const StampHandover& handover) {
    append(stamp_detail::cause_prefix);
    append(to_string(handover.cause));
    append(stamp_detail::previous_epoch_prefix);
    append(StampNumberText{handover.previous_epoch}.view());
}

template <typename Pairs>
StampResult parse_stamp(const Pairs& user_properties) {
    stamp_detail::Reader reader;
    for (const auto& [name, value] : user_properties) {
        if (!reader.take(name, value)) break;
    }
    return reader.result();
}

}  // namespace keyed_sticky
