#include "support/temporary_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

namespace keyed_sticky::test {
namespace {

struct Files {
    Files() = default;
    ~Files() {
        std::error_code ignored;
        for (const auto& path : paths) std::filesystem::remove(path, ignored);
    }
    Files(const Files&) = delete;
    Files& operator=(const Files&) = delete;

    std::vector<std::filesystem::path> paths;
};

}  // namespace

std::string temporary_file(const std::string& name, const std::string& text) {
    static Files files;
    const auto path = std::filesystem::temp_directory_path() /
                      ("keyed-sticky-" + std::to_string(::getpid()) + '-' +
                       std::to_string(files.paths.size()) + '-' + name);
    files.paths.push_back(path);
    std::ofstream(path) << text;
    return path.string();
}

}  // namespace keyed_sticky::test
