#include "broker/broker_conf.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace keyed_sticky {

namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Takes the first word off text.
std::string_view next_word(std::string_view& text) {
    text = trimmed(text);
    const auto end = std::min(text.find_first_of(blanks), text.size());
    const auto word = text.substr(0, end);
    text.remove_prefix(end);
    return word;
}

/// `topic PATTERN [direction [qos [local-prefix [remote-prefix]]]]`: the local name is prefix and
/// pattern.
void read_bridge_topic(std::string_view rest, BrokerConf& conf) {
    const auto pattern = next_word(rest);
    next_word(rest);  // direction
    next_word(rest);  // QoS
    const auto prefix = next_word(rest);
    std::string local{prefix == "\"\"" ? std::string_view{} : prefix};
    local += pattern;
    if (local.starts_with("$share/")) {
        conf.shared_topics.push_back(std::move(local));
    }
}

bool names_a_plugin(std::string_view keyword) {
    return keyword == "plugin" || keyword == "auth_plugin" || keyword == "global_plugin";
}

void read_line(std::string_view line, BrokerConf& conf,
               const std::function<void(std::string_view)>& include) {
    std::string_view rest = line;
    const auto keyword = next_word(rest);
    if (keyword.empty() || keyword.front() == '#') {
        return;
    }
    const auto value = trimmed(rest);
    if (keyword == "per_listener_settings") {
        conf.per_listener_settings = value == "true" || value == "1";
    } else if (keyword == "allow_duplicate_messages") {
        conf.allow_duplicate_messages = value == "true" || value == "1";
    } else if (keyword == "acl_file") {
        conf.acl_file = true;
    } else if (names_a_plugin(keyword)) {
        conf.plugins.emplace_back(value);
    } else if (keyword == "plugin_load") {
        next_word(rest);  // the name plugin_use refers to
        conf.plugins.emplace_back(trimmed(rest));
    } else if (keyword == "topic") {
        read_bridge_topic(rest, conf);
    } else if (keyword == "include_dir") {
        include(value);
    }
}

std::optional<std::string> content_of(const std::filesystem::path& path) {
    std::ifstream file{path, std::ios::binary};
    if (!file) {
        return std::nullopt;
    }
    return std::string{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
}

std::vector<std::string> process_arguments() {
    std::vector<std::string> arguments;
    std::istringstream stream{content_of("/proc/self/cmdline").value_or("")};
    for (std::string argument; std::getline(stream, argument, '\0');) {
        arguments.push_back(argument);
    }
    return arguments;
}

/// Reads a file and what it includes. False: something could not be read; why says what.
bool read_file(const std::filesystem::path& path, BrokerConf& conf, std::string& why) {
    const auto text = content_of(path);
    if (!text) {
        why = "cannot read " + path.string();
        return false;
    }
    bool complete = true;
    parse_broker_conf(*text, conf, [&](std::string_view directory) {
        std::vector<std::filesystem::path> files;
        std::error_code error;
        for (std::filesystem::directory_iterator entry{std::filesystem::path{directory}, error},
             end;
             !error && entry != end; entry.increment(error)) {
            if (entry->path().extension() == ".conf") {
                files.push_back(entry->path());
            }
        }
        if (error) {
            why = "cannot list " + std::string{directory};
            complete = false;
            return;
        }
        std::ranges::sort(files);
        for (const auto& file : files) {
            complete = read_file(file, conf, why) && complete;
        }
    });
    return complete;
}

}  // namespace

void parse_broker_conf(std::string_view text, BrokerConf& conf,
                       const std::function<void(std::string_view directory)>& include) {
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        read_line(text.substr(0, end), conf, include);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

std::optional<std::string> conf_path(const std::vector<std::string>& arguments) {
    const auto option = std::ranges::find_if(arguments, [](const std::string& argument) {
        return argument == "-c" || argument == "--config-file";
    });
    if (option == arguments.end() || std::next(option) == arguments.end()) {
        return std::nullopt;
    }
    return *std::next(option);
}

std::optional<BrokerConf> read_broker_conf(std::string& why) {
    const auto arguments = process_arguments();
    if (arguments.empty()) {
        why = "cannot read the process's arguments";
        return std::nullopt;
    }
    BrokerConf conf;
    const auto path = conf_path(arguments);
    if (path && !read_file(*path, conf, why)) {
        return std::nullopt;
    }
    return conf;
}

bool never_decides_access(std::string_view plugin_path) {
    constexpr std::array<std::string_view, 4> harmless{
        "mosquitto_persist_sqlite.so", "mosquitto_password_file.so", "mosquitto_sparkplug_aware.so",
        "mosquitto_keyed_sticky.so"};
    const auto slash = plugin_path.rfind('/');
    const auto name = slash == std::string_view::npos ? plugin_path : plugin_path.substr(slash + 1);
    return std::ranges::find(harmless, name) != harmless.end();
}

}  // namespace keyed_sticky
