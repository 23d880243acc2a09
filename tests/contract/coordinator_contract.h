// What every Coordinator must do, whatever it keeps its state in. coordinator_contract.cpp has the
// promises; an implementation brings a CoordinatorWorld and instantiates the suites in a file of
// its own:
//
//   INSTANTIATE_TEST_SUITE_P(Redis, CoordinatorContract, testing::Values(WorldFactory{"redis",
//   &make_redis_world}));
//
// and CoordinatorFaultContract too, where its world can make calls fail.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "core/coordinator.h"
#include "core/time.h"

namespace keyed_sticky::contract {

/// How a call to the store fails, once; the implementation is expected to get over it by itself.
enum class Fault {
    request_lost,  ///< it never arrived
    answer_lost,   ///< it was carried out, and nobody told
};

/// A store and the broker processes on it. Each world starts with an empty store.
class CoordinatorWorld {
  public:
    CoordinatorWorld() = default;
    CoordinatorWorld(const CoordinatorWorld&) = delete;
    CoordinatorWorld& operator=(const CoordinatorWorld&) = delete;
    virtual ~CoordinatorWorld() = default;

    /// Starts a process of that name; the world keeps it. Started again after crash(): the same
    /// process restarted.
    virtual Coordinator& start(const std::string& instance) = 0;
    /// The process is gone without a word.
    virtual void crash(Coordinator& process) = 0;
    /// The process runs on, but does not reach the store: it renews nothing. The suites submit
    /// nothing meanwhile.
    virtual void cut_off(Coordinator& process) = 0;
    virtual void reconnect(Coordinator& process) = 0;
    /// The store loses all it has.
    virtual void flush_store() = 0;

    virtual Duration instance_lease() const = 0;
    virtual Duration member_lease() const = 0;
    virtual TimePoint now() const = 0;
    /// Lets time go on. Processes that run and reach the store renew meanwhile.
    virtual void pass(Duration duration) = 0;
    /// The next answer, for which it waits as long as its store may need; nullopt: there is none to
    /// come.
    virtual std::optional<CoordinatorAnswer> await(Coordinator& process) = 0;

    /// Calls to the store so far. A world that cannot make them fail need not count them.
    virtual std::size_t calls() const { return 0; }
    /// Makes the nth call from the start of this world fail, 1 being the first.
    virtual void fail_call(std::size_t /*nth*/, Fault /*fault*/) {}
};

struct WorldFactory {
    std::string name;  ///< letters and digits
    std::function<std::unique_ptr<CoordinatorWorld>()> make;
};

inline void PrintTo(const WorldFactory& factory, std::ostream* out) {
    *out << factory.name;
}

class CoordinatorContract : public testing::TestWithParam<WorldFactory> {
  protected:
    std::unique_ptr<CoordinatorWorld> world = GetParam().make();
};

/// For worlds that can make calls fail.
class CoordinatorFaultContract : public testing::TestWithParam<WorldFactory> {};

inline std::string world_name(const testing::TestParamInfo<WorldFactory>& info) {
    return info.param.name;
}

}  // namespace keyed_sticky::contract
