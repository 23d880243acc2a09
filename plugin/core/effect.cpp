#include "core/effect.h"

namespace keyed_sticky {

std::string_view to_string(HandoverCause cause) {
    switch (cause) {
        case HandoverCause::first_use:
            return "first-use";
        case HandoverCause::unsubscribed:
            return "unsubscribed";
        case HandoverCause::disconnected:
            return "disconnected";
        case HandoverCause::lease_expired:
            return "lease-expired";
        case HandoverCause::rebalanced:
            return "rebalanced";
    }
    return "unknown";
}

}  // namespace keyed_sticky
