#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "support/eventually.h"

namespace keyed_sticky::test {

struct BrokerVersion {
    int major = 0;
    int minor = 0;
    int patch = 0;

    friend bool operator==(const BrokerVersion&, const BrokerVersion&) = default;
    friend bool operator<(const BrokerVersion& a, const BrokerVersion& b) {
        return std::tie(a.major, a.minor, a.patch) < std::tie(b.major, b.minor, b.patch);
    }
    friend bool operator>=(const BrokerVersion& a, const BrokerVersion& b) { return !(a < b); }
};

// plugin_opt_<name> <value>. The same name may stand more than once.
struct PluginOption {
    std::string name = {};
    std::string value = {};
};

struct OtherPlugin {
    std::filesystem::path path = {};  // Broker::stock_plugin() finds Mosquitto's own
    std::vector<PluginOption> options = {};
};

enum class Persistence {
    kNone,
    kFile,    // mosquitto.db, written when the broker stops
    kSqlite,  // the sqlite persistence plugin of Mosquitto 2.1, loaded before all others
};

// What mosquitto.conf is composed of, in the order of the fields. Where `per_listener_settings
// true` is among the global lines, everything after them belongs to the TCP listener, except
// `websocket_lines`.
struct BrokerConfig {
    bool with_plugin = true;
    std::vector<PluginOption> plugin_options = {};
    std::vector<OtherPlugin> plugins_before = {};
    std::vector<OtherPlugin> plugins_after = {};
    bool allow_anonymous = true;
    bool verbose = true;  // false: no line for each packet, for tests of speed
    Persistence persistence = Persistence::kNone;
    bool websockets = false;        // one more listener, see Broker::websocket_port()
    bool subscribes_again = false;  // a client subscribes twice to a filter: Mosquitto 2.0 leaks
    std::vector<std::string> global_lines = {};     // before the first listener
    std::vector<std::string> listener_lines = {};   // after the TCP listener, before the plugins
    std::vector<std::string> trailing_lines = {};   // after the plugins
    std::vector<std::string> websocket_lines = {};  // after the websockets listener
    std::map<std::string, std::string> environment = {};
    std::vector<std::string> preload = {};  // LD_PRELOAD, after those of KEYED_STICKY_PRELOAD
};

// How a broker process ended: its exit code, or the signal that ended it.
struct ExitStatus {
    std::optional<int> code = {};
    std::optional<int> signal = {};
    [[nodiscard]] bool clean() const { return code == 0; }
};

// A real mosquitto on free loopback ports, with a directory of its own that is removed at the end.
//
// Which mosquitto, and which build of the plugin, the environment says; where it says nothing the
// constructor throws, so that a test without a broker fails:
//   KEYED_STICKY_BROKER   `system` (the installed mosquitto), or `root:/path` of a Debian root: its
//                         broker runs with the root's own loader and libraries, not chrooted, so
//                         that all paths are shared
//   KEYED_STICKY_PLUGIN   the plugin built for that version; needed only with `with_plugin`
//   KEYED_STICKY_PRELOAD  libraries to preload, separated by colons: the runtimes of the sanitizers
//                         that the plugin is built with
//   KEYED_STICKY_KEEP     not empty: the directory stays
//
// A broker that ends other than with exit code 0 fails the test: a sanitizer that has something to
// say ends it so (code 99), at the latest when it stops. Where the test failed, the end of the log
// goes to standard error. ASAN_OPTIONS, LSAN_OPTIONS and UBSAN_OPTIONS of the environment are added
// to the fixture's own; ASAN_OPTIONS=fast_unwind_on_malloc=0 shows where a leak comes from.
//
// The process dies with the *thread* that started it: start brokers from a thread that outlives the
// test's use of them.
//
// Not thread-safe, except that all const members may be called while another thread waits.
class Broker {
  public:
    // Writes mosquitto.conf, starts the broker and waits until it listens. Throws
    // std::runtime_error with the log where it does not. A port that somebody else took in between
    // is replaced by another.
    explicit Broker(BrokerConfig config = {});
    // Stops the broker as stop() does.
    ~Broker();
    Broker(const Broker&) = delete;
    Broker& operator=(const Broker&) = delete;

    struct RefusedStart {
        ExitStatus status;
        std::string log;
    };
    // Starts a broker that must refuse this configuration, and returns its log. One that listens
    // fails the test, as does one that is ended by a signal.
    static RefusedStart start_expecting_failure(BrokerConfig config);

    // Version of the selected mosquitto, from its `-h`; needs no running broker.
    static BrokerVersion version();
    // Path of one of Mosquitto's own plugins, e.g. "dynamic_security", "persist_sqlite". Throws
    // where there is none.
    static std::filesystem::path stock_plugin(std::string_view name);

    [[nodiscard]] std::uint16_t port() const { return port_; }
    // Precondition: config.websockets.
    [[nodiscard]] std::uint16_t websocket_port() const;
    [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
    // Takes effect with the next start(), or for what mosquitto reads again, with sighup().
    [[nodiscard]] BrokerConfig& config() { return config_; }

    [[nodiscard]] bool running() const { return pid_ > 0; }
    // Precondition: running().
    [[nodiscard]] pid_t pid() const { return pid_; }
    // User and system time used so far, in steps of the kernel's clock tick (10 ms). Precondition:
    // running().
    [[nodiscard]] std::chrono::milliseconds cpu_time() const;
    // Resident memory in KiB. Precondition: running().
    [[nodiscard]] std::int64_t resident_kib() const;

    // Writes mosquitto.conf again from config() and sends SIGHUP.
    void sighup();
    void sigstop();
    void sigcont();

    // SIGTERM, and waits for the end. Other than a clean end fails the test, with the log. A
    // stopped process is continued first. Where it does not end within `deadline` it is killed,
    // which fails the test. No effect where it does not run.
    ExitStatus stop(Duration deadline = kDeadline);
    // Like stop(), but any end within the deadline is accepted.
    ExitStatus stop_allowing_failure(Duration deadline = kDeadline);
    // SIGKILL, and waits. The directory, with what was persisted, stays.
    void kill9();
    // Precondition: not running. Same directory and ports.
    void start();
    // stop() and start().
    void restart();

    // All that the broker wrote, on either stream, over all its starts.
    [[nodiscard]] std::string log() const;
    [[nodiscard]] bool log_contains(std::string_view text) const;
    [[nodiscard]] std::size_t log_count(std::string_view text) const;
    [[nodiscard]] bool wait_for_log(std::string_view text, Duration deadline = kDeadline) const;
    // Waits for `text` written after the first `offset` bytes of the log (log().size() of an
    // earlier moment).
    [[nodiscard]] bool wait_for_log_after(std::size_t offset, std::string_view text,
                                          Duration deadline = kDeadline) const;

  private:
    struct Unstarted {};
    Broker(BrokerConfig config, Unstarted);

    enum class Start { kListening, kPortTaken, kEnded };
    Start try_start();
    void choose_ports();
    void write_config() const;
    void spawn();
    [[nodiscard]] std::optional<ExitStatus> wait_for_end(Duration deadline);
    void print_log() const;

    BrokerConfig config_;
    std::filesystem::path directory_;
    std::uint16_t port_ = 0;
    std::uint16_t websocket_port_ = 0;
    pid_t pid_ = -1;
    ExitStatus last_end_;
    bool may_refuse_ = false;
};

}  // namespace keyed_sticky::test
