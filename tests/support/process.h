#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/eventually.h"

namespace keyed_sticky::test {

// Another program, e.g. a stock client, with files for its standard input and output. It dies with
// the thread that started it; the destructor kills it.
class Process {
  public:
    struct Files {
        std::filesystem::path input = "/dev/null";
        std::filesystem::path output = "/dev/null";  // also of what it writes to standard error
    };
    // The program is looked up in PATH. Throws where it cannot be started; one that is not there
    // ends with code 127.
    Process(std::vector<std::string> command, const Files& files);
    ~Process();
    Process(Process&& other) noexcept;
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    Process& operator=(Process&&) = delete;

    // Its exit code; nothing where it was ended by a signal. Throws where it runs on.
    std::optional<int> wait(Duration deadline = kDeadline);
    void terminate();

  private:
    pid_t pid_ = -1;
};

}  // namespace keyed_sticky::test
