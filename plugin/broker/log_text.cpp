// The parts of broker_log.h that need no broker.
#include "broker/broker_log.h"

namespace keyed_sticky {

std::string escaped(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string result;
    result.reserve(text.size());
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        if (character == '\\') {
            result += "\\\\";
        } else if (byte < 0x20 || byte == 0x7f) {
            result += "\\x";
            result += digits[byte >> 4U];
            result += digits[byte & 0x0fU];
        } else {
            result += character;
        }
    }
    return result;
}

LogLimiter::Verdict LogLimiter::allow(std::string_view kind, TimePoint now) {
    auto found = kinds_.find(kind);
    if (found == kinds_.end()) {
        found = kinds_.emplace(std::string{kind}, Kind{now}).first;
    }
    Kind& state = found->second;
    if (now - state.window_start >= period_) {
        state.window_start = now;
        state.written = 0;
    }
    if (state.written == burst_) {
        ++state.left_out;
        return {};
    }
    ++state.written;
    const Verdict verdict{true, state.left_out};
    state.left_out = 0;
    return verdict;
}

}  // namespace keyed_sticky
