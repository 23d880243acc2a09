// The plugin's options, parsed and checked. option_table.h says how each is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace keyed_sticky {

/// Where a message's ordering key comes from.
struct KeyRule {
    enum class Source : std::uint8_t { topic_level, client_id, username, user_property };
    /// What to do with a message that has no key under the rule.
    enum class Missing : std::uint8_t {
        whole_topic,  ///< the whole topic is the key
        round_robin,  ///< no order asked for: the slots take turns
        reject,       ///< refused: counted and logged
    };
    Source source = Source::topic_level;
    std::uint32_t topic_level = 1;  ///< 1: the part before the first '/'
    std::string property_name;      ///< with user_property
    Missing missing = Missing::whole_topic;
};

/// One `group` option: which groups are handled, and how.
struct GroupRule {
    std::string share_pattern;  ///< over share names; '*' any run, '?' one byte
    KeyRule key;
    std::uint32_t slots = 4096;
};

/// One `members` option: who may join a handled group.
struct MemberRule {
    enum class Field : std::uint8_t { client_id, username };
    Field field = Field::client_id;
    std::string pattern;  ///< '*' any run, '?' one byte
};

/// Whether anything else in the broker decides access (acl_file, dynamic security, another plugin).
enum class BrokerAcl : std::uint8_t {
    automatic,  ///< read from the broker's configuration file; `present` where that cannot be read
    none,
    present,
};

/// What gives way when a lane or the total of held records is full.
enum class Overflow : std::uint8_t { drop_newest, drop_oldest };

struct Options {
    std::vector<GroupRule> groups;    ///< the first whose pattern matches wins; at least one
    std::vector<MemberRule> members;  ///< empty: everybody who may subscribe
    BrokerAcl broker_acl = BrokerAcl::automatic;
    Duration lease_timeout = seconds{10};
    Duration rebalance_delay = seconds{5};
    Duration drain_timeout = seconds{3};
    std::size_t unacked_window =
        1020;  ///< QoS 1 records a member may still lack, kept for redelivery
    std::size_t max_held_messages = 100'000;  ///< held and kept records, in total
    std::size_t max_held_bytes = std::size_t{256} * 1024 * 1024;  ///< the same in bytes
    std::size_t max_held_per_slot =
        10'000;  ///< held messages of one slot, so that one cannot fill it all
    Overflow overflow = Overflow::drop_newest;
    Duration hold_timeout =
        seconds{3600};  ///< how long a group without any member keeps its held records
    std::size_t max_tracked_keys = 1'000'000;  ///< per group, for the stamp's sequences
    Duration key_idle_timeout = seconds{3600};
    bool stamp = true;
    bool log_keys = false;  ///< ordering keys in the log
};

}  // namespace keyed_sticky
