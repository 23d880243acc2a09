// The memory coordinator keeps the contract, directly and over a link that loses requests and
// answers.
#include "coordinator_contract.h"
#include "memory_world.h"

namespace keyed_sticky::contract {
namespace {

const WorldFactory memory{"Memory", &make_memory_world};
const WorldFactory faulty_link{"FaultyLink", &make_faulty_link_world};

INSTANTIATE_TEST_SUITE_P(Embedded, CoordinatorContract, testing::Values(memory, faulty_link),
                         world_name);
INSTANTIATE_TEST_SUITE_P(Embedded, CoordinatorFaultContract, testing::Values(faulty_link),
                         world_name);

}  // namespace
}  // namespace keyed_sticky::contract
