#include "faulty_link.h"

#include <utility>

namespace keyed_sticky::contract {

FaultyLink::FaultyLink(std::unique_ptr<Coordinator> store_side, FaultPlan& plan)
    : store_side_(std::move(store_side)), plan_(plan) {}

void FaultyLink::submit(CoordinatorCommand command, TimePoint now) {
    now_ = now;
    waiting_.push_back(std::move(command));
}

std::optional<CoordinatorAnswer> FaultyLink::poll() {
    call_next();
    if (arrived_.empty()) {
        return std::nullopt;
    }
    CoordinatorAnswer answer = std::move(arrived_.front());
    arrived_.pop_front();
    return answer;
}

void FaultyLink::tick(TimePoint now) {
    now_ = now;
    call_next();
    const auto fault = plan_.next();
    if (fault != Fault::request_lost) {
        store_side_->tick(now);
    }
    if (fault) {
        plan_.next();
        store_side_->tick(now);
    }
}

bool FaultyLink::holds(const GroupName& group, TimePoint now) const {
    return store_side_->holds(group, now);
}

void FaultyLink::call_next() {
    if (waiting_.empty()) {
        return;
    }
    const auto fault = plan_.next();
    if (fault == Fault::request_lost) {
        return;
    }
    store_side_->submit(waiting_.front(), now_);
    if (fault == Fault::answer_lost) {
        store_side_->poll();
        return;
    }
    if (auto answer = store_side_->poll()) {
        arrived_.push_back(*std::move(answer));
    }
    waiting_.pop_front();
}

}  // namespace keyed_sticky::contract
