// mosquitto.conf.example against the option table.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/option_table.h"

namespace keyed_sticky {
namespace {

struct Entry {
    std::string name;
    std::string value;
    std::string above;  // the comment lines before it, back to the last blank line
};

std::vector<Entry> entries() {
    std::ifstream file{KEYED_STICKY_SOURCE_DIR "/mosquitto.conf.example"};
    EXPECT_TRUE(file.is_open());
    constexpr std::string_view prefix = "#plugin_opt_";
    std::vector<Entry> found;
    std::string above;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(prefix)) {
            const std::string setting = line.substr(prefix.size());
            const std::size_t blank = std::min(setting.find(' '), setting.size());
            found.push_back({setting.substr(0, blank),
                             setting.substr(std::min(blank + 1, setting.size())), above});
        } else {
            EXPECT_TRUE(line.empty() || line.starts_with('#')) << "not commented out: " << line;
            if (line.empty()) above.clear();
            above += line;
            above += '\n';
        }
    }
    return found;
}

// Every option is in the example, those that are no lists exactly once, with the default of the
// table.
TEST(ExampleConf, HasEveryOptionWithItsDefault) {
    const std::vector<Entry> all = entries();
    for (const OptionInfo& info : option_table()) {
        SCOPED_TRACE(info.name);
        const auto same = [&](const Entry& entry) { return entry.name == info.name; };
        const auto count = std::count_if(all.begin(), all.end(), same);
        if (info.repeatable) {
            EXPECT_GE(count, 1);
            continue;
        }
        ASSERT_EQ(count, 1);
        EXPECT_EQ(std::find_if(all.begin(), all.end(), same)->value, info.default_value);
    }
}

// The example knows no option that the plugin does not.
TEST(ExampleConf, HasNoUnknownOption) {
    for (const Entry& entry : entries()) {
        const auto table = option_table();
        EXPECT_TRUE(std::any_of(table.begin(), table.end(), [&](const OptionInfo& info) {
            return info.name == entry.name;
        })) << entry.name;
    }
}

// The explanation above each option tells the range that is really checked.
TEST(ExampleConf, TellsEveryRange) {
    const std::vector<Entry> all = entries();
    for (const OptionInfo& info : option_table()) {
        if (info.repeatable) continue;
        const auto entry = std::find_if(all.begin(), all.end(),
                                        [&](const Entry& e) { return e.name == info.name; });
        ASSERT_NE(entry, all.end()) << info.name;
        EXPECT_NE(entry->above.find("# Range: " + info.range), std::string::npos)
            << info.name << " lacks: " << info.range;
    }
}

// With every line uncommented it is a configuration the plugin accepts.
TEST(ExampleConf, UncommentedItParses) {
    const std::vector<Entry> all = entries();
    std::vector<OptionSetting> settings;
    settings.reserve(all.size());
    for (const Entry& entry : all) settings.push_back({entry.name, entry.value});
    const ParseResult result = parse_options(settings);
    if (const auto* const errors = std::get_if<std::vector<std::string>>(&result)) {
        for (const std::string& error : *errors) ADD_FAILURE() << error;
    }
}

}  // namespace
}  // namespace keyed_sticky
