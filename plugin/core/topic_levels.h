// The levels of a topic or filter, one after the other, without copying.
#pragma once

#include <cstddef>
#include <string_view>

namespace keyed_sticky {

/// Walks the parts between the '/': "a//b" has "a", "" and "b"; "/" has "" and ""; "" has one,
/// which is empty. A value type; views the text, which must outlive it.
class TopicLevels {
  public:
    explicit TopicLevels(std::string_view text) : rest_(text), at_end_(false) { cut(); }

    /// No level is left. Then neither level() nor advance() may be called.
    bool at_end() const { return at_end_; }
    std::string_view level() const { return rest_.substr(0, length_); }

    void advance() {
        if (length_ == rest_.size()) {
            at_end_ = true;
            return;
        }
        rest_.remove_prefix(length_ + 1);
        cut();
    }

  private:
    void cut() {
        const std::size_t slash = rest_.find('/');
        length_ = slash == std::string_view::npos ? rest_.size() : slash;
    }

    std::string_view rest_;
    std::size_t length_ = 0;
    bool at_end_;
};

}  // namespace keyed_sticky
