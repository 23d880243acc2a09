// A coordinator at the far end of a link, for the tests: it shows that the contract suite can be
// passed by an implementation whose answers come later and whose calls fail, and that the suite
// notices one that copes badly.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>

#include "coordinator_contract.h"
#include "core/coordinator.h"

namespace keyed_sticky::contract {

/// Which call over any link of a world fails.
struct FaultPlan {
    std::size_t calls = 0;         ///< so far; a renewal that is due is a call too
    std::size_t failing_call = 0;  ///< 0: none
    Fault fault = Fault::request_lost;

    /// Counts a call. The fault it meets, if any.
    std::optional<Fault> next() {
        ++calls;
        return calls == failing_call ? std::optional{fault} : std::nullopt;
    }
};

/// One call is made for each poll() or tick(), so answers are late; a failed call is made again
/// before any later one.
class FaultyLink final : public Coordinator {
  public:
    /// plan must outlive the link.
    FaultyLink(std::unique_ptr<Coordinator> store_side, FaultPlan& plan);

    void submit(CoordinatorCommand command, TimePoint now) override;
    std::optional<CoordinatorAnswer> poll() override;
    void tick(TimePoint now) override;
    bool holds(const GroupName& group, TimePoint now) const override;

  private:
    void call_next();

    std::unique_ptr<Coordinator> store_side_;
    FaultPlan& plan_;
    TimePoint now_;
    std::deque<CoordinatorCommand> waiting_;
    std::deque<CoordinatorAnswer> arrived_;
};

}  // namespace keyed_sticky::contract
