// The broker calls a plugin on one thread, and its functions may be called on that thread only.
#pragma once

#include <stdexcept>
#include <thread>

namespace keyed_sticky {

/// Remembers the thread it was made on.
class MainThread {
  public:
    MainThread() : id_(std::this_thread::get_id()) {}

    bool is_here() const { return std::this_thread::get_id() == id_; }

    /// Throws std::logic_error on any other thread: the call that follows would race with the
    /// broker.
    void require_here() const {
        if (!is_here()) {
            throw std::logic_error("called outside the broker's main thread");
        }
    }

  private:
    std::thread::id id_;
};

}  // namespace keyed_sticky
