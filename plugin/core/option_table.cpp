#include "core/option_table.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/nearest_name.h"
#include "core/option_rules.h"
#include "core/option_value.h"

namespace keyed_sticky {
namespace {

using Type = OptionInfo::Type;

struct DurationField {
    Duration Options::*field;
    Range<Duration> range;
};
struct CountField {
    std::size_t Options::*field;
    Range<std::size_t> range;
};
struct SizeField {
    std::size_t Options::*field;
    Range<std::size_t> range;
};
struct SwitchField {
    bool Options::*field;
};
template <typename E, std::size_t N>
struct ChoiceField {
    E Options::*field;
    std::array<std::pair<std::string_view, E>, N> choices;
};
struct GroupField {};
struct MemberField {};

// Where an option is kept and what it may be. Its default is whatever a fresh Options holds.
using Field = std::variant<GroupField, MemberField, DurationField, CountField, SizeField,
                           SwitchField, ChoiceField<BrokerAcl, 3>, ChoiceField<Overflow, 2>>;

struct Row {
    std::string_view name;
    Field field;
    std::string_view unit;
    std::string_view text;
};

constexpr std::size_t kibi = 1024;
constexpr std::size_t tebi = kibi * kibi * kibi * kibi;
using std::chrono::hours;

const std::array<Row, 16> rows{{
    {"group", GroupField{}, "",
     "Share names whose groups are handled, where their ordering key is, and their slots."},
    {"members", MemberField{}, "",
     "Clients that may join handled groups; without any, everybody who may subscribe."},
    {"broker_acl",
     ChoiceField<BrokerAcl, 3>{&Options::broker_acl,
                               {{{"auto", BrokerAcl::automatic},
                                 {"none", BrokerAcl::none},
                                 {"present", BrokerAcl::present}}}},
     "", "Whether anything else in the broker decides who may read what."},
    {"lease_timeout", DurationField{&Options::lease_timeout, {milliseconds{100}, hours{24}}},
     "duration", "How long a member whose connection was lost keeps its slots."},
    {"rebalance_delay", DurationField{&Options::rebalance_delay, {seconds{0}, hours{1}}},
     "duration",
     "How long after a join slots move to the newcomer, so that several joins are one move."},
    {"drain_timeout", DurationField{&Options::drain_timeout, {seconds{0}, hours{1}}}, "duration",
     "How long a slot that is to move waits for what its owner still has in flight."},
    {"unacked_window", CountField{&Options::unacked_window, {0, 1'000'000}}, "records",
     "Newest QoS 1 records of a member that are kept to be sent again where acknowledgements are "
     "not visible."},
    {"max_held_messages", CountField{&Options::max_held_messages, {1, 100'000'000}}, "records",
     "Most records held or kept, in all groups together."},
    {"max_held_bytes", SizeField{&Options::max_held_bytes, {64 * kibi, tebi}}, "bytes",
     "Most bytes held or kept, in all groups together."},
    {"max_held_per_slot", CountField{&Options::max_held_per_slot, {1, 100'000'000}}, "records",
     "Most records held for one slot, so that one stuck slot leaves room for the others."},
    {"overflow",
     ChoiceField<Overflow, 2>{
         &Options::overflow,
         {{{"drop_newest", Overflow::drop_newest}, {"drop_oldest", Overflow::drop_oldest}}}},
     "", "Which record gives way when a bound on held records is reached."},
    {"hold_timeout", DurationField{&Options::hold_timeout, {seconds{0}, hours{24}}}, "duration",
     "How long a group without any member keeps its held records."},
    {"max_tracked_keys", CountField{&Options::max_tracked_keys, {1, 100'000'000}}, "keys",
     "Most ordering keys of a group whose sequence is remembered."},
    {"key_idle_timeout", DurationField{&Options::key_idle_timeout, {seconds{1}, hours{24 * 365}}},
     "duration", "How long the sequence of an ordering key without messages is remembered."},
    {"stamp", SwitchField{&Options::stamp}, "",
     "Whether MQTT 5 members get the ks- user properties."},
    {"log_keys", SwitchField{&Options::log_keys}, "",
     "Whether ordering keys are written to the log."},
}};

Type type_of(const GroupField&) {
    return Type::group_rule;
}
Type type_of(const MemberField&) {
    return Type::member_rule;
}
Type type_of(const DurationField&) {
    return Type::duration;
}
Type type_of(const CountField&) {
    return Type::count;
}
Type type_of(const SizeField&) {
    return Type::size;
}
Type type_of(const SwitchField&) {
    return Type::on_off;
}
template <typename E, std::size_t N>
Type type_of(const ChoiceField<E, N>&) {
    return Type::choice;
}

std::string range_of(const GroupField&) {
    return "SHARE-PATTERN [key=topic:N | key=client-id | key=username | key=user-property:NAME] "
           "[missing=whole-topic | missing=round-robin | missing=reject] [slots=N]";
}
std::string range_of(const MemberField&) {
    return "client-id:PATTERN | username:PATTERN";
}
std::string range_of(const DurationField& f) {
    return format_duration(f.range.min) + " to " + format_duration(f.range.max);
}
std::string range_of(const CountField& f) {
    return std::to_string(f.range.min) + " to " + std::to_string(f.range.max);
}
std::string range_of(const SizeField& f) {
    return format_size(f.range.min) + " to " + format_size(f.range.max);
}
std::string range_of(const SwitchField&) {
    return "on | off";
}
template <typename E, std::size_t N>
std::string range_of(const ChoiceField<E, N>& f) {
    std::string names;
    for (const auto& choice : f.choices)
        names += (names.empty() ? "" : " | ") + std::string{choice.first};
    return names;
}

std::string written(const GroupField&, const Options&) {
    return {};
}
std::string written(const MemberField&, const Options&) {
    return {};
}
std::string written(const DurationField& f, const Options& o) {
    return format_duration(o.*f.field);
}
std::string written(const CountField& f, const Options& o) {
    return std::to_string(o.*f.field);
}
std::string written(const SizeField& f, const Options& o) {
    return format_size(o.*f.field);
}
std::string written(const SwitchField& f, const Options& o) {
    return std::string{format_switch(o.*f.field)};
}
template <typename E, std::size_t N>
std::string written(const ChoiceField<E, N>& f, const Options& o) {
    const auto found = std::find_if(f.choices.begin(), f.choices.end(), [&](const auto& choice) {
        return choice.second == o.*f.field;
    });
    return found == f.choices.end() ? std::string{} : std::string{found->first};
}

bool is_repeatable(const Row& row) {
    return std::holds_alternative<GroupField>(row.field) ||
           std::holds_alternative<MemberField>(row.field);
}

// Calls store(value) for a good one.
template <typename T, typename Store>
std::optional<BadValue> keep(Parsed<T> parsed, Store store) {
    if (auto* bad = std::get_if<BadValue>(&parsed)) return std::move(*bad);
    store(std::move(std::get<T>(parsed)));
    return std::nullopt;
}
template <typename T>
std::optional<BadValue> keep(Parsed<T> parsed, T& where) {
    return keep(std::move(parsed), [&](T value) { where = std::move(value); });
}

// Each reads `text` into its field of `o`; nothing is changed for a bad one.
std::optional<BadValue> read(const GroupField&, std::string_view text, Options& o) {
    return keep(parse_group_rule(text),
                [&](GroupRule rule) { o.groups.push_back(std::move(rule)); });
}
std::optional<BadValue> read(const MemberField&, std::string_view text, Options& o) {
    return keep(parse_member_rule(text),
                [&](MemberRule rule) { o.members.push_back(std::move(rule)); });
}
std::optional<BadValue> read(const DurationField& f, std::string_view text, Options& o) {
    return keep(parse_duration(text, f.range), o.*f.field);
}
std::optional<BadValue> read(const CountField& f, std::string_view text, Options& o) {
    return keep(parse_count(text, f.range), o.*f.field);
}
std::optional<BadValue> read(const SizeField& f, std::string_view text, Options& o) {
    return keep(parse_size(text, f.range), o.*f.field);
}
std::optional<BadValue> read(const SwitchField& f, std::string_view text, Options& o) {
    return keep(parse_switch(text), o.*f.field);
}
template <typename E, std::size_t N>
std::optional<BadValue> read(const ChoiceField<E, N>& f, std::string_view text, Options& o) {
    std::array<std::string_view, N> names;
    for (std::size_t i = 0; i < N; ++i) {
        names.at(i) = f.choices.at(i).first;
        if (names.at(i) != text) continue;
        o.*f.field = f.choices.at(i).second;
        return std::nullopt;
    }
    return BadValue{in_quotes(text) + " is none of " + range_of(f) + did_you_mean(text, names)};
}

std::vector<std::string_view> option_names() {
    std::vector<std::string_view> names(rows.size());
    std::transform(rows.begin(), rows.end(), names.begin(),
                   [](const Row& row) { return row.name; });
    return names;
}

}  // namespace

std::span<const OptionInfo> option_table() {
    static const std::vector<OptionInfo> table = [] {
        const Options defaults;
        std::vector<OptionInfo> infos;
        for (const Row& row : rows) {
            std::visit(
                [&](const auto& field) {
                    infos.push_back(OptionInfo{row.name, type_of(field), range_of(field),
                                               written(field, defaults), row.unit, row.text,
                                               is_repeatable(row)});
                },
                row.field);
        }
        return infos;
    }();
    return table;
}

ParseResult parse_options(std::span<const OptionSetting> settings) {
    Options options;
    std::vector<std::string> errors;
    std::array<bool, rows.size()> given{};
    bool bad_group = false;
    bool bad_members = false;
    for (const OptionSetting& setting : settings) {
        const auto row = std::find_if(rows.begin(), rows.end(),
                                      [&](const Row& r) { return r.name == setting.name; });
        if (row == rows.end()) {
            errors.push_back("unknown option " + in_quotes(setting.name) +
                             did_you_mean(setting.name, option_names()));
            continue;
        }
        const std::string name{row->name};
        if (std::exchange(given.at(static_cast<std::size_t>(row - rows.begin())), true) &&
            !is_repeatable(*row)) {
            errors.push_back("option " + name + ": given more than once");
            continue;
        }
        const std::string_view value = trim(setting.value);
        const auto bad =
            std::visit([&](const auto& field) { return read(field, value, options); }, row->field);
        if (!bad) continue;
        errors.push_back("option " + name + ": " + bad->why);
        bad_group = bad_group || std::holds_alternative<GroupField>(row->field);
        bad_members = bad_members || std::holds_alternative<MemberField>(row->field);
    }
    // A rule that could not be read is no missing rule: saying so as well would only distract.
    Options judged = options;
    if (bad_group && judged.groups.empty()) judged.groups.emplace_back();
    if (bad_members && judged.members.empty()) judged.members.emplace_back();
    std::vector<std::string> relations = check_relations(judged);
    errors.insert(errors.end(), std::make_move_iterator(relations.begin()),
                  std::make_move_iterator(relations.end()));
    if (!errors.empty()) return errors;
    return options;
}

std::vector<std::string> check_relations(const Options& options) {
    std::vector<std::string> errors;
    if (options.groups.empty()) {
        errors.emplace_back(
            "option group: none is given, so this plugin would do nothing: name the share names to "
            "handle, "
            "as `group telemetry key=topic:2`");
    }
    for (auto rule = options.groups.begin(); rule != options.groups.end(); ++rule) {
        const auto same = [&](const GroupRule& earlier) {
            return earlier.share_pattern == rule->share_pattern;
        };
        if (std::any_of(options.groups.begin(), rule, same)) {
            errors.push_back("option group: the pattern " + in_quotes(rule->share_pattern) +
                             " is given twice; the first would always win");
        }
    }
    if (options.lease_timeout <= Duration::zero())
        errors.emplace_back("option lease_timeout: must be above 0s");
    if (options.broker_acl == BrokerAcl::present && options.members.empty()) {
        errors.emplace_back(
            "option members: none is given, but the broker has access control (broker_acl). "
            "Messages of handled groups reach "
            "a member without the broker's own READ check, so say who may join, as `members "
            "client-id:worker-*` or "
            "`members username:*`");
    }
    return errors;
}

}  // namespace keyed_sticky
