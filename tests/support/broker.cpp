#include "support/broker.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "support/mosquitto_install.h"

namespace keyed_sticky::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPrintedLogBytes = 65'536;
constexpr int kPortAttempts = 20;

class FileDescriptor {
  public:
    explicit FileDescriptor(int fd) : fd_(fd) {}
    ~FileDescriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    FileDescriptor(const FileDescriptor&) = delete;
    FileDescriptor& operator=(const FileDescriptor&) = delete;
    [[nodiscard]] int get() const { return fd_; }

  private:
    int fd_;
};

std::uint16_t free_port() {
    const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        throw std::runtime_error("no free loopback port");
    }
    return ntohs(address.sin_port);
}

fs::path new_directory() {
    std::string name = (fs::temp_directory_path() / "keyed-sticky-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    return name;
}

std::string read_file(const fs::path& path) {
    const std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return std::move(text).str();
}

void write_plugin(std::ostream& out, const fs::path& path,
                  const std::vector<PluginOption>& options) {
    out << "plugin " << path.string() << '\n';
    for (const auto& option : options) {
        out << "plugin_opt_" << option.name << ' ' << option.value << '\n';
    }
}

void write_lines(std::ostream& out, const std::vector<std::string>& lines) {
    for (const auto& line : lines) out << line << '\n';
}

ExitStatus decode(int status) {
    ExitStatus result;
    if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    return result;
}

std::string describe(const ExitStatus& status) {
    if (status.code) return "exit code " + std::to_string(*status.code);
    if (status.signal) return "signal " + std::to_string(*status.signal);
    return "no end";
}

// Leaks that are not the plugin's. The root's loader keeps the names of libraries that it finds
// through --library-path. Mosquitto 2.0 forgets 16 bytes for each websockets listener, and the
// entry it made for a subscription that was there already.
constexpr const char* kLoaderLeaks = "leak:lib64/ld-linux\n";
constexpr const char* kWebsocketLeaks = "leak:mosquitto__calloc\n";
constexpr const char* kSubscribeLeaks = "leak:sub__add\n";

// The environment of the broker process as NAME=value strings. Mosquitto itself leaks when it
// refuses its configuration: where it may do so, leaks are not looked for.
std::vector<std::string> broker_environment(const BrokerConfig& config,
                                            const fs::path& suppressions, bool may_refuse) {
    std::map<std::string, std::string> variables;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const auto equals = text.find('=');
        if (equals == std::string_view::npos) continue;
        variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    std::string preload = sanitizer_preload();
    if (!preload.empty()) {
        // What the environment says goes last, and so wins.
        const auto prepend = [&](const char* name, const std::string& options) {
            auto& value = variables[name];
            value = value.empty() ? options : options + ':' + value;
        };
        prepend("ASAN_OPTIONS",
                std::string("exitcode=99:detect_leaks=") + (may_refuse ? "0" : "1") +
                    // The broker has no frame pointers: without this the stack ends too early for
                    // the suppression to name the function. It costs time, so only where needed.
                    (config.subscribes_again ? ":fast_unwind_on_malloc=0" : ""));
        prepend("LSAN_OPTIONS", "print_suppressions=0:suppressions=" + suppressions.string());
        prepend("UBSAN_OPTIONS", "exitcode=99:print_stacktrace=1");
    }
    for (const auto& library : config.preload) {
        if (!preload.empty()) preload += ':';
        preload += library;
    }
    if (!preload.empty()) variables["LD_PRELOAD"] = preload;
    for (const auto& [name, value] : config.environment) variables[name] = value;
    std::vector<std::string> result;
    result.reserve(variables.size());
    for (const auto& [name, value] : variables) {
        auto& entry = result.emplace_back(name);
        entry += '=';
        entry += value;
    }
    return result;
}

std::vector<char*> c_array(std::vector<std::string>& strings) {
    std::vector<char*> result;
    result.reserve(strings.size() + 1);
    for (auto& string : strings) result.push_back(string.data());
    result.push_back(nullptr);
    return result;
}

}  // namespace

Broker::Broker(BrokerConfig config, Unstarted)
    : config_(std::move(config)), directory_(new_directory()) {}

Broker::Broker(BrokerConfig config) : Broker(std::move(config), Unstarted{}) {
    for (int attempt = 0; attempt < kPortAttempts; ++attempt) {
        choose_ports();
        switch (try_start()) {
            case Start::kListening:
                return;
            case Start::kPortTaken:
                continue;
            case Start::kEnded:
                throw std::runtime_error("the broker did not start (" + describe(last_end_) +
                                         "):\n" + log());
        }
    }
    throw std::runtime_error("no port stayed free long enough to start a broker on it");
}

Broker::~Broker() {
    stop();
    // An exception on its way out of the test is not known as a failure yet.
    if (testing::Test::HasFailure() || std::uncaught_exceptions() > 0) print_log();
    const char* keep = std::getenv("KEYED_STICKY_KEEP");
    if (keep != nullptr && *keep != '\0') {
        std::cerr << "kept " << directory_.string() << '\n';
        return;
    }
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
}

Broker::RefusedStart Broker::start_expecting_failure(BrokerConfig config) {
    Broker broker(std::move(config), Unstarted{});
    broker.may_refuse_ = true;
    for (int attempt = 0; attempt < kPortAttempts; ++attempt) {
        broker.choose_ports();
        switch (broker.try_start()) {
            case Start::kListening:
                ADD_FAILURE() << "the broker accepted a configuration that it must refuse";
                broker.stop();
                return {broker.last_end_, broker.log()};
            case Start::kPortTaken:
                continue;
            case Start::kEnded:
                EXPECT_FALSE(broker.last_end_.signal)
                    << "the broker was ended by a signal, not refused";
                EXPECT_NE(broker.last_end_.code, 99) << "a sanitizer ended the broker";
                return {broker.last_end_, broker.log()};
        }
    }
    throw std::runtime_error("no port stayed free long enough to start a broker on it");
}

BrokerVersion Broker::version() {
    return MosquittoInstall::selected().version();
}

fs::path Broker::stock_plugin(std::string_view name) {
    return MosquittoInstall::selected().stock_plugin(name);
}

std::uint16_t Broker::websocket_port() const {
    if (!config_.websockets) throw std::logic_error("this broker has no websockets listener");
    return websocket_port_;
}

void Broker::choose_ports() {
    port_ = free_port();
    do {
        websocket_port_ = free_port();
    } while (websocket_port_ == port_);
}

void Broker::write_config() const {
    std::ostringstream out;
    write_lines(out, config_.global_lines);
    if (::geteuid() == 0) out << "user root\n";
    out << "log_dest stderr\n";
    if (config_.verbose) {
        out << "log_type all\n";
    } else {
        out << "log_type error\nlog_type warning\nlog_type notice\nlog_type information\n";
    }
    if (config_.persistence == Persistence::kFile) {
        out << "persistence true\npersistence_location " << directory_.string() << "/\n";
    }
    const std::string anonymous =
        std::string("allow_anonymous ") + (config_.allow_anonymous ? "true" : "false") + '\n';
    out << "listener " << port_ << " 127.0.0.1\n" << anonymous;
    write_lines(out, config_.listener_lines);
    if (config_.persistence == Persistence::kSqlite) {
        write_plugin(out, stock_plugin("persist_sqlite"),
                     {{"db_file", (directory_ / "mosquitto.sqlite3").string()}});
    }
    for (const auto& plugin : config_.plugins_before)
        write_plugin(out, plugin.path, plugin.options);
    if (config_.with_plugin) write_plugin(out, plugin_under_test(), config_.plugin_options);
    for (const auto& plugin : config_.plugins_after) write_plugin(out, plugin.path, plugin.options);
    write_lines(out, config_.trailing_lines);
    if (config_.websockets) {
        out << "listener " << websocket_port_ << " 127.0.0.1\nprotocol websockets\n" << anonymous;
        write_lines(out, config_.websocket_lines);
    }
    std::ofstream(directory_ / "mosquitto.conf") << out.str();
}

void Broker::spawn() {
    std::vector<std::string> arguments = MosquittoInstall::selected().command();
    arguments.insert(arguments.end(), {"-c", (directory_ / "mosquitto.conf").string()});
    const fs::path suppressions = directory_ / "leak-suppressions";
    std::ofstream(suppressions) << kLoaderLeaks << (config_.websockets ? kWebsocketLeaks : "")
                                << (config_.subscribes_again ? kSubscribeLeaks : "");
    std::vector<std::string> environment = broker_environment(config_, suppressions, may_refuse_);
    const auto argv = c_array(arguments);
    const auto envp = c_array(environment);
    const FileDescriptor log(
        ::open((directory_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    const FileDescriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (log.get() < 0 || null.get() < 0) throw std::runtime_error("cannot open the broker's log");
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("cannot fork");
    if (pid_ > 0) return;
    // The child, in what may be a process of many threads: system calls only. It must not keep a
    // client's socket open.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(126);
    ::dup2(null.get(), STDIN_FILENO);
    ::dup2(log.get(), STDOUT_FILENO);
    ::dup2(log.get(), STDERR_FILENO);
    ::close_range(3, ~0U, 0);
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
}

Broker::Start Broker::try_start() {
    write_config();
    const std::size_t offset = log().size();
    spawn();
    const bool settled = eventually([&] {
        if (wait_for_end(Duration{0})) return true;
        const std::string text = log().substr(offset);
        const auto line = text.find("mosquitto version ");
        return line != std::string::npos && text.find(" running\n", line) != std::string::npos;
    });
    if (!settled) {
        kill9();
        throw std::runtime_error("the broker neither listened nor ended:\n" + log());
    }
    if (running()) return Start::kListening;
    return log().find("Address already in use", offset) != std::string::npos ? Start::kPortTaken
                                                                             : Start::kEnded;
}

void Broker::start() {
    if (running()) throw std::logic_error("the broker runs already");
    if (try_start() != Start::kListening) {
        throw std::runtime_error("the broker did not start (" + describe(last_end_) + "):\n" +
                                 log());
    }
}

void Broker::restart() {
    stop();
    start();
}

std::optional<ExitStatus> Broker::wait_for_end(Duration deadline) {
    int status = 0;
    const bool ended =
        eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }, deadline);
    if (!ended) return std::nullopt;
    pid_ = -1;
    last_end_ = decode(status);
    return last_end_;
}

ExitStatus Broker::stop_allowing_failure(Duration deadline) {
    if (!running()) return last_end_;
    // It may have ended by itself: then the signal goes to a process that is still ours to wait
    // for.
    // Mosquitto forgets a signal that comes between its "running" line and its first loop: so it is
    // sent again.
    constexpr Duration kPatience{500};
    for (Duration waited{0}; waited < deadline; waited += kPatience) {
        ::kill(pid_, SIGTERM);
        ::kill(pid_, SIGCONT);
        if (const auto end = wait_for_end(std::min(kPatience, deadline - waited))) return *end;
    }
    ADD_FAILURE() << "the broker did not end within " << deadline.count() << " ms of SIGTERM";
    kill9();
    return last_end_;
}

ExitStatus Broker::stop(Duration deadline) {
    if (!running()) return last_end_;
    const ExitStatus status = stop_allowing_failure(deadline);
    EXPECT_TRUE(status.clean()) << "the broker ended with " << describe(status);
    return status;
}

void Broker::kill9() {
    if (!running()) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    last_end_ = decode(status);
}

void Broker::sighup() {
    write_config();
    ::kill(pid_, SIGHUP);
}

void Broker::sigstop() {
    ::kill(pid_, SIGSTOP);
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
}

void Broker::sigcont() {
    ::kill(pid_, SIGCONT);
}

std::chrono::milliseconds Broker::cpu_time() const {
    // Fields 14 and 15 of /proc/PID/stat, counted from after the name, which may contain anything.
    const std::string stat = read_file("/proc/" + std::to_string(pid_) + "/stat");
    std::istringstream fields(stat.substr(stat.rfind(')') + 1));
    std::string skipped;
    for (int field = 3; field < 14; ++field) fields >> skipped;
    std::int64_t user = 0;
    std::int64_t system = 0;
    if (!(fields >> user >> system)) throw std::runtime_error("the broker does not run");
    return std::chrono::milliseconds((user + system) * 1000 / ::sysconf(_SC_CLK_TCK));
}

std::int64_t Broker::resident_kib() const {
    const std::string status = read_file("/proc/" + std::to_string(pid_) + "/status");
    const auto position = status.find("VmRSS:");
    if (position == std::string::npos) throw std::runtime_error("the broker does not run");
    return std::stoll(status.substr(position + 6));
}

std::string Broker::log() const {
    return read_file(directory_ / "log");
}

bool Broker::log_contains(std::string_view text) const {
    return log().find(text) != std::string::npos;
}

std::size_t Broker::log_count(std::string_view text) const {
    const std::string all = log();
    std::size_t count = 0;
    for (auto at = all.find(text); at != std::string::npos; at = all.find(text, at + text.size()))
        ++count;
    return count;
}

bool Broker::wait_for_log(std::string_view text, Duration deadline) const {
    return wait_for_log_after(0, text, deadline);
}

bool Broker::wait_for_log_after(std::size_t offset, std::string_view text,
                                Duration deadline) const {
    return eventually([&] { return log().find(text, offset) != std::string::npos; }, deadline);
}

void Broker::print_log() const {
    const std::string all = log();
    const bool cut = all.size() > kPrintedLogBytes;
    std::cerr << "---- log of the broker on port " << port_ << (cut ? " (its end)" : "")
              << " ----\n"
              << (cut ? all.substr(all.size() - kPrintedLogBytes) : all)
              << "---- end of the log ----\n";
}

}  // namespace keyed_sticky::test
