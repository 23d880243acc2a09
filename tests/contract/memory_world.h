// Worlds on a MemoryStore, in simulated time.
#pragma once

#include <memory>

#include "coordinator_contract.h"

namespace keyed_sticky::contract {

/// Processes reach the store directly: every command is carried out at once, none can fail.
std::unique_ptr<CoordinatorWorld> make_memory_world();

/// Processes reach the store over a link that takes its time and may lose a request or an answer;
/// then it repeats.
std::unique_ptr<CoordinatorWorld> make_faulty_link_world();

}  // namespace keyed_sticky::contract
