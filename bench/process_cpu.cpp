#include "process_cpu.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace keyed_sticky::bench {
namespace {

std::optional<CpuTimes> from_schedstat(const std::string& process) {
    CpuTimes total;
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator(process + "/task", error)) {
        std::ifstream file(thread.path() / "schedstat");
        std::uint64_t ran = 0;
        std::uint64_t waited = 0;
        if (!(file >> ran >> waited)) return std::nullopt;
        total.ran += std::chrono::nanoseconds(ran);
        total.waited += std::chrono::nanoseconds(waited);
    }
    if (error || total.ran.count() == 0) return std::nullopt;
    return total;
}

std::optional<CpuTimes> from_stat(const std::string& process) {
    std::ifstream file(process + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto name_end = text.rfind(')');  // the name may hold anything, blanks and brackets too
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream fields(text.substr(name_end + 1));
    std::string skipped;
    for (int field = 3; field < 14; ++field) fields >> skipped;
    std::int64_t user = 0;
    std::int64_t system = 0;
    if (!(fields >> user >> system)) return std::nullopt;
    return CpuTimes{
        std::chrono::nanoseconds((user + system) * (1'000'000'000 / sysconf(_SC_CLK_TCK))),
        std::chrono::nanoseconds(0)};
}

}  // namespace

CpuTimes process_cpu(int pid) {
    const auto process = "/proc/" + std::to_string(pid);
    if (const auto times = from_schedstat(process)) return *times;
    if (const auto times = from_stat(process)) return *times;
    throw std::runtime_error("no CPU accounting for process " + std::to_string(pid));
}

CpuTimes operator-(const CpuTimes& later, const CpuTimes& earlier) {
    return {later.ran - earlier.ran, later.waited - earlier.waited};
}

CpuTimes& operator+=(CpuTimes& total, const CpuTimes& part) {
    total.ran += part.ran;
    total.waited += part.waited;
    return total;
}

}  // namespace keyed_sticky::bench
