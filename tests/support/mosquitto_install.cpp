#include "support/mosquitto_install.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>

namespace keyed_sticky::test {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> environment(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
}

std::optional<fs::path> first_existing(const std::vector<fs::path>& paths) {
    const auto found =
        std::find_if(paths.begin(), paths.end(), [](const fs::path& p) { return fs::exists(p); });
    if (found == paths.end()) return std::nullopt;
    return *found;
}

// usr/lib and, where the system has them, its folders for one architecture: the latter first.
std::vector<fs::path> library_folders(const fs::path& root) {
    std::vector<fs::path> result;
    for (const auto& entry : fs::directory_iterator(root / "usr/lib")) {
        if (entry.is_directory() && entry.path().filename().string().ends_with("-linux-gnu")) {
            result.push_back(entry.path());
        }
    }
    result.push_back(root / "usr/lib");
    return result;
}

// What it writes to standard output.
std::string output_of(const std::vector<std::string>& command) {
    std::string line;
    for (const auto& word : command) line += '\'' + word + "' ";
    line += "2>/dev/null";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(line.c_str(), "r"), ::pclose);
    std::string result;
    std::array<char, 4096> buffer{};
    while (pipe && std::fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr)
        result += buffer.data();
    return result;
}

BrokerVersion version_of(std::vector<std::string> command) {
    command.emplace_back("-h");  // ends with code 1, 3 or 0, by version
    const std::string text = output_of(command);
    BrokerVersion version;
    if (std::sscanf(text.c_str(), "mosquitto version %d.%d.%d", &version.major, &version.minor,
                    &version.patch) != 3) {
        throw std::runtime_error("no mosquitto runs as " + command.front() + ": " + text);
    }
    return version;
}

}  // namespace

const MosquittoInstall& MosquittoInstall::selected() {
    const auto selection = environment("KEYED_STICKY_BROKER");
    if (!selection) {
        throw std::runtime_error(
            "KEYED_STICKY_BROKER is not set: `system`, or `root:/path` of a Debian root");
    }
    static const MosquittoInstall install(*selection);
    return install;
}

MosquittoInstall::MosquittoInstall(std::string_view selection) {
    constexpr std::string_view kRoot = "root:";
    if (selection == "system") {
        root_ = "/";
    } else if (selection.starts_with(kRoot)) {
        root_ = selection.substr(kRoot.size());
    } else {
        throw std::runtime_error("KEYED_STICKY_BROKER must be `system` or `root:/path`");
    }
    const auto program =
        first_existing({root_ / "usr/sbin/mosquitto", root_ / "usr/local/sbin/mosquitto",
                        root_ / "usr/bin/mosquitto"});
    if (!program) throw std::runtime_error("no mosquitto in " + root_.string());
    if (root_ != "/") {
        const auto loader = first_existing(
            {root_ / "lib64/ld-linux-x86-64.so.2", root_ / "lib/ld-linux-aarch64.so.1"});
        if (!loader) throw std::runtime_error("no program loader in " + root_.string());
        std::string path;
        for (const auto& folder : library_folders(root_))
            path += (path.empty() ? "" : ":") + folder.string();
        command_ = {loader->string(), "--library-path", path};
    }
    command_.push_back(program->string());
    version_ = version_of(command_);
}

fs::path MosquittoInstall::stock_plugin(std::string_view name) const {
    const std::string file = "mosquitto_" + std::string(name) + ".so";
    std::vector<fs::path> candidates;
    for (const auto& folder : library_folders(root_)) {
        candidates.push_back(folder / "mosquitto" / file);
        candidates.push_back(folder / file);
    }
    const auto found = first_existing(candidates);
    if (!found) throw std::runtime_error("this mosquitto has no " + file);
    return *found;
}

fs::path plugin_under_test() {
    const auto path = environment("KEYED_STICKY_PLUGIN");
    if (!path) throw std::runtime_error("KEYED_STICKY_PLUGIN is not set: the path of the plugin");
    if (!fs::exists(*path)) throw std::runtime_error("KEYED_STICKY_PLUGIN: no file " + *path);
    return fs::absolute(*path);
}

std::string sanitizer_preload() {
    return environment("KEYED_STICKY_PRELOAD").value_or("");
}

}  // namespace keyed_sticky::test
