#include "core/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

namespace keyed_sticky {
namespace {

// Levenshtein's distance with one row of the table (Wagner and Fischer, 1974).
std::size_t distance(std::string_view from, std::string_view to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < to.size(); ++j) {
            const std::size_t replaced = diagonal + (from[i] == to[j] ? 0U : 1U);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
    std::string_view best;
    std::optional<std::size_t> fewest;
    for (const std::string_view candidate : known) {
        // A name that much longer or shorter is too far anyway; this also bounds the work for a
        // hostile name.
        if (name.size() > 2 * candidate.size()) continue;
        const std::size_t changes = distance(name, candidate);
        if (2 * changes <= candidate.size() && (!fewest || changes < *fewest)) {
            fewest = changes;
            best = candidate;
        }
    }
    return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> known) {
    const std::string_view nearest = nearest_name(name, known);
    if (nearest.empty()) return {};
    return " (did you mean " + std::string{nearest} + "?)";
}

}  // namespace keyed_sticky
