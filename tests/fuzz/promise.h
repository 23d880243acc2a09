// What a fuzz target says it has found, and the pieces of its input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace keyed_sticky::fuzz {

/// Ends the process with the broken promise, which libFuzzer reports with the input.
inline void promise(bool kept, const char* what) {
    if (kept) return;
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
}

/// The fuzzer's bytes, cut into pieces at newlines.
class Input {
  public:
    Input(const std::uint8_t* data, std::size_t size) : bytes_(data, data + size), rest_(bytes_) {}
    Input(const Input&) = delete;
    Input& operator=(const Input&) = delete;

    bool at_end() const { return rest_.empty(); }
    /// The bytes up to the next newline, which is skipped; empty at the end.
    std::string_view line() {
        const std::string_view piece = rest_.substr(0, rest_.find('\n'));
        rest_.remove_prefix(piece.size() == rest_.size() ? piece.size() : piece.size() + 1);
        return piece;
    }
    std::string_view rest() const { return rest_; }

  private:
    std::string bytes_;
    std::string_view rest_;
};

}  // namespace keyed_sticky::fuzz
