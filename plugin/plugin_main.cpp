// The entry points the broker looks up, and the wiring of the whole. The only file that knows every
// layer.

#include <chrono>
#include <exception>
#include <memory>
#include <string>

#include "broker/adapter.h"
#include "broker/broker_log.h"
#include "broker/compat.h"
#include "broker/event_table.h"
#include "broker/option_reader.h"
#include "core/memory_coordinator.h"

namespace keyed_sticky {

namespace {

constexpr const char* plugin_name = "keyed_sticky";

/// In the order of construction: each part uses those before it.
struct Plugin {
    Plugin(mosquitto_plugin_id_t* plugin_id, LoadedOptions loaded)
        : id(plugin_id),
          coordinator(store, coordinator_settings(loaded.options)),
          adapter(std::move(loaded), coordinator) {}
    Plugin(const Plugin&) = delete;
    Plugin& operator=(const Plugin&) = delete;
    ~Plugin() { unregister_events(id); }

    static MemoryCoordinator::Settings coordinator_settings(const Options& options) {
        const auto wall_clock = std::chrono::system_clock::now().time_since_epoch();
        const auto seconds_now =
            std::chrono::duration_cast<std::chrono::seconds>(wall_clock).count();
        return {.instance = "local",
                .first_term = static_cast<std::uint64_t>(seconds_now),
                .member_lease = options.lease_timeout};
    }

    mosquitto_plugin_id_t* id;
    MemoryStore store;
    MemoryCoordinator coordinator;
    Adapter adapter;
};

int load(mosquitto_plugin_id_t* id, void** userdata, const mosquitto_opt* options, int count) {
    if (const auto refusal = compat::version_refusal()) {
        broker_log(LogLevel::error, *refusal);
        return MOSQ_ERR_INVAL;
    }
    broker_log(LogLevel::notice,
               "version=" KEYED_STICKY_VERSION " built_for=" + compat::built_version() +
                   " running_with=" + compat::running_version());
    auto parsed = read_options(options, count);
    if (!parsed) {
        broker_log(LogLevel::error, "not loaded: see the lines above");
        return MOSQ_ERR_INVAL;
    }
    auto plugin = std::make_unique<Plugin>(id, *std::move(parsed));
    if (const std::string error = register_events(id, plugin->adapter); !error.empty()) {
        broker_log(LogLevel::error, error);
        return MOSQ_ERR_UNKNOWN;
    }
    compat::announce(id, plugin_name, KEYED_STICKY_VERSION);
    *userdata = plugin.release();
    return MOSQ_ERR_SUCCESS;
}

}  // namespace

}  // namespace keyed_sticky

extern "C" {

__attribute__((visibility("default"))) int mosquitto_plugin_version(int supported_version_count,
                                                                    const int* supported_versions) {
    for (int i = 0; i < supported_version_count; ++i) {
        if (supported_versions[i] == MOSQ_PLUGIN_VERSION) {
            return MOSQ_PLUGIN_VERSION;
        }
    }
    return -1;
}

__attribute__((visibility("default"))) int mosquitto_plugin_init(mosquitto_plugin_id_t* identifier,
                                                                 void** userdata,
                                                                 mosquitto_opt* options,
                                                                 int option_count) {
    try {
        return keyed_sticky::load(identifier, userdata, options, option_count);
    } catch (const std::exception& error) {
        mosquitto_log_printf(MOSQ_LOG_ERR, "keyed_sticky: not loaded: %s", error.what());
    } catch (...) {
        mosquitto_log_printf(MOSQ_LOG_ERR, "keyed_sticky: not loaded");
    }
    return MOSQ_ERR_UNKNOWN;
}

__attribute__((visibility("default"))) int mosquitto_plugin_cleanup(void* userdata,
                                                                    mosquitto_opt* /*options*/,
                                                                    int /*option_count*/) {
    try {
        const std::unique_ptr<keyed_sticky::Plugin> plugin{
            static_cast<keyed_sticky::Plugin*>(userdata)};
        if (plugin) {
            plugin->adapter.log_counters();
        }
        return MOSQ_ERR_SUCCESS;
    } catch (...) {
        return MOSQ_ERR_UNKNOWN;
    }
}

}  // extern "C"
