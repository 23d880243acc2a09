#include "core/glob.h"

#include <cstddef>
#include <optional>

namespace keyed_sticky {

bool glob_matches(std::string_view pattern, std::string_view text) {
    std::size_t p = 0;
    std::size_t t = 0;
    // Only the last star is ever widened: an earlier one that needed more would leave the later
    // star no less to choose from, so going back to it can gain nothing.
    std::optional<std::size_t> after_star;
    std::size_t star_end = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            after_star = ++p;
            star_end = t;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
            ++p;
            ++t;
        } else if (after_star) {
            p = *after_star;
            t = ++star_end;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace keyed_sticky
