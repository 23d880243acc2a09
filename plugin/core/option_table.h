// The one table of the plugin's options. Parsing, the defaults told to the operator and
// mosquitto.conf.example follow it.
//
// In mosquitto.conf an option is written `plugin_opt_NAME VALUE`; names here are without the
// prefix. The table is built at the first use; everything here may be called from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/options.h"

namespace keyed_sticky {

struct OptionInfo {
    enum class Type : std::uint8_t {
        group_rule,
        member_rule,
        choice,
        duration,
        count,
        size,
        on_off
    };
    std::string_view name;
    Type type;
    std::string range;  ///< as the operator reads it, e.g. "0s to 1h" or "auto | none | present"
    std::string default_value;  ///< as it would be written; empty: nothing is set
    std::string_view unit;      ///< what a number counts, or how it is written; empty: not a number
    std::string_view text;      ///< one line: what it does
    bool repeatable;            ///< false: giving it twice is an error
};

/// All options, in the order of the documentation.
std::span<const OptionInfo> option_table();

/// One option as the broker hands it over. The views are only used during the call.
struct OptionSetting {
    std::string_view name;
    std::string_view value;  ///< blanks at either end do not count
};

/// Either options that satisfy check_relations(), or every error found, one line each, never none.
using ParseResult = std::variant<Options, std::vector<std::string>>;

/// Reads the settings in their order; what is not set keeps its default. Errors name the option,
/// what is wrong and what may be written instead.
ParseResult parse_options(std::span<const OptionSetting> settings);

/// What does not go together, one line each; empty: all is well. Call it again once
/// BrokerAcl::automatic is resolved to what the broker's configuration says.
///
/// Asked for: at least one group; no share pattern twice; a lease_timeout above zero; with
/// BrokerAcl::present, members.
std::vector<std::string> check_relations(const Options& options);

}  // namespace keyed_sticky
