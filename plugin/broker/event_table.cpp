#include "broker/event_table.h"

#include <exception>
#include <vector>

namespace keyed_sticky {

namespace {

EventHandler& handler_of(void* userdata) {
    return *static_cast<EventHandler*>(userdata);
}

/// Runs action; whatever it throws ends here.
template <typename Action>
int guarded(void* userdata, int answer_on_failure, Action action) noexcept {
    EventHandler& handler = handler_of(userdata);
    try {
        return action(handler);
    } catch (const std::exception& error) {
        handler.failed(error.what());
    } catch (...) {
        handler.failed("unknown exception");
    }
    return answer_on_failure;
}

/// The same for events that take no answer.
template <typename Action>
int notified(void* userdata, Action action) noexcept {
    return guarded(userdata, MOSQ_ERR_SUCCESS, [&](EventHandler& handler) {
        action(handler);
        return int{MOSQ_ERR_SUCCESS};
    });
}

extern "C" {

static int on_access_check(int /*event*/, void* data, void* userdata) noexcept {
    return guarded(userdata, handler_of(userdata).undecided(), [&](EventHandler& handler) {
        return handler.access_check(*static_cast<const mosquitto_evt_acl_check*>(data));
    });
}

static int on_message(int /*event*/, void* data, void* userdata) noexcept {
    return notified(userdata, [&](EventHandler& handler) {
        handler.message(*static_cast<const mosquitto_evt_message*>(data));
    });
}

static int on_disconnect(int /*event*/, void* data, void* userdata) noexcept {
    return notified(userdata, [&](EventHandler& handler) {
        handler.disconnected(*static_cast<const mosquitto_evt_disconnect*>(data));
    });
}

static int on_tick(int /*event*/, void* data, void* userdata) noexcept {
    return notified(userdata, [&](EventHandler& handler) {
        handler.tick(*static_cast<mosquitto_evt_tick*>(data));
    });
}

static int on_reload(int /*event*/, void* /*data*/, void* userdata) noexcept {
    return notified(userdata, [](EventHandler& handler) { handler.reload(); });
}

static int on_connect(int /*event*/, void* data, void* userdata) noexcept {
    return notified(userdata, [&](EventHandler& handler) {
        handler.connected(compat::connected_client(data));
    });
}

static int on_client_offline(int /*event*/, void* data, void* userdata) noexcept {
    return notified(userdata, [&](EventHandler& handler) {
        handler.went_offline(compat::offline_client(data));
    });
}

static int on_subscribe(int /*event*/, void* data, void* userdata) noexcept {
    return notified(userdata, [&](EventHandler& handler) {
        handler.subscribed(compat::subscription(data, true));
    });
}

static int on_unsubscribe(int /*event*/, void* data, void* userdata) noexcept {
    return notified(userdata, [&](EventHandler& handler) {
        handler.unsubscribed(compat::subscription(data, false));
    });
}

}  // extern "C"

struct Binding {
    int event;
    MOSQ_FUNC_generic_callback callback;
    const char* name;
};

std::vector<Binding> event_table() {
    std::vector<Binding> table{
        {MOSQ_EVT_ACL_CHECK, on_access_check, "access check"},
        {MOSQ_EVT_MESSAGE, on_message, "message"},
        {MOSQ_EVT_DISCONNECT, on_disconnect, "disconnect"},
        {MOSQ_EVT_TICK, on_tick, "tick"},
        {MOSQ_EVT_RELOAD, on_reload, "reload"},
    };
    if (const auto later = compat::later_events()) {
        table.push_back({later->connect, on_connect, "connect"});
        table.push_back({later->client_offline, on_client_offline, "client offline"});
        table.push_back({later->subscribe, on_subscribe, "subscribe"});
        table.push_back({later->unsubscribe, on_unsubscribe, "unsubscribe"});
    }
    return table;
}

}  // namespace

std::string register_events(mosquitto_plugin_id_t* plugin, EventHandler& handler) {
    for (const Binding& binding : event_table()) {
        const int result =
            mosquitto_callback_register(plugin, binding.event, binding.callback, nullptr, &handler);
        if (result != MOSQ_ERR_SUCCESS) {
            unregister_events(plugin);
            return std::string("the broker refused the ") + binding.name + " event with code " +
                   std::to_string(result);
        }
    }
    return {};
}

void unregister_events(mosquitto_plugin_id_t* plugin) noexcept {
    try {
        for (const Binding& binding : event_table()) {
            mosquitto_callback_unregister(plugin, binding.event, binding.callback, nullptr);
        }
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): out of memory for the table
                                       // itself
    }
}

}  // namespace keyed_sticky
