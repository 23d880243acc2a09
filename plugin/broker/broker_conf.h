// What this plugin must know of the broker's own configuration file.
//
// A plugin is given its own options only. Some settings around it decide whether it can work at
// all, so the file is read again, as the broker reads it. Parsing is pure; only read_broker_conf()
// touches the system.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keyed_sticky {

struct BrokerConf {
    bool per_listener_settings = false;
    bool acl_file = false;
    bool allow_duplicate_messages = true;
    std::vector<std::string> plugins;  ///< paths of all plugins, in order, this one included
    std::vector<std::string>
        shared_topics;  ///< `topic` lines of bridges whose local topic is a share subscription
};

/// Reads the lines of one file into conf. include: called with each directory of an include_dir
/// line.
void parse_broker_conf(std::string_view text, BrokerConf& conf,
                       const std::function<void(std::string_view directory)>& include);

/// The value of -c or --config-file among a process's arguments, wherever it stands: the broker may
/// have been started through another program. nullopt: the broker runs without a file, on its
/// defaults.
std::optional<std::string> conf_path(const std::vector<std::string>& arguments);

/// Configuration of the running process. nullopt: it could not be read; why says the reason.
/// A broker started without a file has an empty one.
std::optional<BrokerConf> read_broker_conf(std::string& why);

/// Whether the plugin of that path is one of Mosquitto's own that takes no part in access
/// decisions.
bool never_decides_access(std::string_view plugin_path);

}  // namespace keyed_sticky
