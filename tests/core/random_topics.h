// Random topics and filters out of few different levels, so that many of them meet.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace keyed_sticky::reference {

class RandomTopics {
  public:
    explicit RandomTopics(unsigned seed) : random_(seed) {}

    std::size_t below(std::size_t end) {
        return std::uniform_int_distribution<std::size_t>{0, end - 1}(random_);
    }

    /// Never empty: that is no topic.
    std::string topic() {
        std::string text;
        while (text.empty()) text = join(levels({"a", "b", "", "$SYS", "\xc3\xa9"}));
        return text;
    }

    std::string filter() {
        std::string text;
        while (text.empty()) {
            auto parts = levels({"a", "b", "", "+", "+", "$SYS", "\xc3\xa9"});
            if (below(3) == 0) parts.emplace_back("#");
            if (below(12) == 0) parts = {"#"};
            text = join(parts);
        }
        return text;
    }

  private:
    std::vector<std::string_view> levels(const std::vector<std::string_view>& from) {
        std::vector<std::string_view> parts(1 + below(4));
        for (std::string_view& part : parts) part = from[below(from.size())];
        return parts;
    }

    static std::string join(const std::vector<std::string_view>& parts) {
        std::string text;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (i != 0) text += '/';
            text += parts[i];
        }
        return text;
    }

    std::mt19937 random_;
};

}  // namespace keyed_sticky::reference
