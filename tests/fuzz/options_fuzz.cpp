// Any configuration is either refused with reasons or gives options that hold what the table says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/glob.h"
#include "core/nearest_name.h"
#include "core/option_rules.h"
#include "core/option_table.h"
#include "core/option_value.h"
#include "core/ordering_key.h"
#include "promise.h"

using namespace keyed_sticky;
using fuzz::promise;

namespace {

bool printable(const std::string& line) {
    return std::none_of(line.begin(), line.end(),
                        [](unsigned char byte) { return byte < 0x20 || byte == 0x7f; });
}

void check_rule(const GroupRule& rule) {
    promise(rule.slots >= 1 && rule.slots <= 65536, "slots are in range");
    promise(rule.key.topic_level >= 1 && rule.key.topic_level <= 200, "the level is in range");
    promise(!rule.share_pattern.empty(), "a pattern is not empty");
    promise(rule.share_pattern.find_first_of("/+#") == std::string::npos, "a pattern can match");
    const auto again = parse_group_rule(rule.share_pattern + " " + normalised(rule.key));
    promise(std::holds_alternative<GroupRule>(again), "the normal form of a rule is read");
    promise(normalised(std::get<GroupRule>(again).key) == normalised(rule.key),
            "the normal form of a rule is read as itself");
}

void check_options(const Options& options) {
    promise(!options.groups.empty(), "there is a group");
    promise(check_relations(options).empty(), "what is accepted satisfies the relations");
    promise(options.lease_timeout >= milliseconds{100}, "the lease is in range");
    promise(options.drain_timeout >= seconds{0}, "the drain is in range");
    promise(options.max_held_bytes >= 65536, "the bytes are in range");
    for (const GroupRule& rule : options.groups) check_rule(rule);
    for (const MemberRule& rule : options.members) promise(!rule.pattern.empty(), "no empty rule");
    promise(std::get<Duration>(parse_duration(format_duration(options.key_idle_timeout),
                                              {seconds{0}, options.key_idle_timeout})) ==
                options.key_idle_timeout,
            "a duration is read as it is written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input{data, size};
    std::vector<OptionSetting> settings;
    while (!input.at_end()) {
        const std::string_view line = input.line();
        const std::size_t blank = std::min(line.find(' '), line.size());
        settings.push_back({line.substr(0, blank), line.substr(std::min(blank + 1, line.size()))});
    }
    const ParseResult result = parse_options(settings);
    if (const auto* const options = std::get_if<Options>(&result)) {
        check_options(*options);
        promise(settings.size() >= options->groups.size() + options->members.size(),
                "no rule out of nothing");
    } else {
        const auto& errors = std::get<std::vector<std::string>>(result);
        promise(!errors.empty(), "a refusal has a reason");
        for (const std::string& error : errors) {
            promise(!error.empty() && printable(error), "an error is one printable line");
        }
    }
    if (settings.size() >= 2) {
        const std::string_view pattern = settings[0].value.substr(0, 40);
        const std::string_view text = settings[1].value.substr(0, 200);
        const std::string longer = "*" + std::string{pattern} + "*";
        promise(glob_matches("*", text), "a star matches everything");
        promise(glob_matches(std::string(text.size(), '?'), text), "a text matches its length");
        promise(!glob_matches(pattern, text) || glob_matches(longer, text), "stars only add");
    }
    return 0;
}
