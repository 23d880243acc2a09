#include "support/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace keyed_sticky::test {

Process::Process(std::vector<std::string> command, const Files& files) {
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (auto& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int input = ::open(files.input.c_str(), O_RDONLY | O_CLOEXEC);
    const int output =
        ::open(files.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (input < 0 || output < 0) throw std::runtime_error("cannot open a file of " + command[0]);
    pid_ = ::fork();
    if (pid_ == 0) {
        // Of a process with threads: system calls only.
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::dup2(input, STDIN_FILENO);
        ::dup2(output, STDOUT_FILENO);
        ::dup2(output, STDERR_FILENO);
        ::close_range(3, ~0U, 0);
        ::execvp(arguments[0], arguments.data());
        ::_exit(127);
    }
    ::close(input);
    ::close(output);
    if (pid_ < 0) throw std::runtime_error("cannot fork");
}

Process::Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

Process::~Process() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

std::optional<int> Process::wait(Duration deadline) {
    int status = 0;
    if (!eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }, deadline))
        throw std::runtime_error("a process runs on");
    pid_ = -1;
    return WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
}

void Process::terminate() {
    if (pid_ > 0) ::kill(pid_, SIGTERM);
}

}  // namespace keyed_sticky::test
