#include "memory_world.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/memory_coordinator.h"
#include "faulty_link.h"

namespace keyed_sticky::contract {

namespace {

class MemoryWorld final : public CoordinatorWorld {
  public:
    explicit MemoryWorld(bool over_link) : over_link_(over_link) {}

    Coordinator& start(const std::string& instance) override {
        std::unique_ptr<Coordinator> process = std::make_unique<MemoryCoordinator>(
            store_, MemoryCoordinator::Settings{.instance = instance,
                                                .first_term = 1,
                                                .instance_lease = instance_lease(),
                                                .member_lease = member_lease()});
        if (over_link_) {
            process = std::make_unique<FaultyLink>(std::move(process), plan_);
        }
        return *processes_.emplace_back(std::move(process));
    }

    void crash(Coordinator& process) override {
        cut_off_.erase(&process);
        std::erase_if(processes_, [&](const auto& one) { return one.get() == &process; });
    }
    void cut_off(Coordinator& process) override { cut_off_.insert(&process); }
    void reconnect(Coordinator& process) override {
        cut_off_.erase(&process);
        process.tick(now_);
    }
    void flush_store() override { store_.clear(); }

    Duration instance_lease() const override { return seconds{3}; }
    Duration member_lease() const override { return seconds{10}; }
    TimePoint now() const override { return now_; }

    void pass(Duration duration) override {
        const TimePoint end = now_ + duration;
        while (now_ < end) {
            now_ = std::min(now_ + milliseconds{500}, end);
            for (const auto& process : processes_) {
                if (!cut_off_.contains(process.get())) {
                    process->tick(now_);
                }
            }
        }
    }

    std::optional<CoordinatorAnswer> await(Coordinator& process) override {
        // The link makes one call a poll(), and no more than all that the suites ever submit at
        // once.
        for (int attempts = over_link_ ? 400 : 1; attempts > 0; --attempts) {
            if (auto answer = process.poll()) {
                return answer;
            }
        }
        return std::nullopt;
    }

    std::size_t calls() const override { return plan_.calls; }
    void fail_call(std::size_t nth, Fault fault) override {
        plan_.failing_call = nth;
        plan_.fault = fault;
    }

  private:
    const bool over_link_;
    FaultPlan plan_;
    MemoryStore store_;
    TimePoint now_{seconds{1000}};
    std::vector<std::unique_ptr<Coordinator>> processes_;
    std::set<const Coordinator*> cut_off_;
};

}  // namespace

std::unique_ptr<CoordinatorWorld> make_memory_world() {
    return std::make_unique<MemoryWorld>(false);
}

std::unique_ptr<CoordinatorWorld> make_faulty_link_world() {
    return std::make_unique<MemoryWorld>(true);
}

}  // namespace keyed_sticky::contract
