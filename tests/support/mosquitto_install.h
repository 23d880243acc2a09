#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "support/broker.h"

namespace keyed_sticky::test {

// The mosquitto that KEYED_STICKY_BROKER selects. All functions here throw std::runtime_error where
// the environment says nothing, or names what is not there.
class MosquittoInstall {
  public:
    // Read from the environment once.
    static const MosquittoInstall& selected();

    [[nodiscard]] BrokerVersion version() const { return version_; }
    // The program and the arguments that must come first.
    [[nodiscard]] const std::vector<std::string>& command() const { return command_; }
    [[nodiscard]] std::filesystem::path stock_plugin(std::string_view name) const;

  private:
    explicit MosquittoInstall(std::string_view selection);

    std::filesystem::path root_;
    std::vector<std::string> command_;
    BrokerVersion version_;
};

// KEYED_STICKY_PLUGIN, as an absolute path of an existing file.
std::filesystem::path plugin_under_test();

// KEYED_STICKY_PRELOAD, empty where not set.
std::string sanitizer_preload();

}  // namespace keyed_sticky::test
