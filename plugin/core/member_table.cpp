#include "core/member_table.h"

namespace keyed_sticky {

MemberIndex MemberTable::insert(std::string_view client_id) {
    MemberIndex index = 0;
    if (free_.empty()) {
        index = static_cast<MemberIndex>(members_.size());
        members_.emplace_back();
    } else {
        index = free_.back();
        free_.pop_back();
    }
    members_[index].emplace();
    members_[index]->client_id = client_id;
    by_client_id_.emplace(client_id, index);
    return index;
}

void MemberTable::erase(MemberIndex index) {
    by_client_id_.erase(members_[index]->client_id);
    members_[index].reset();
    free_.push_back(index);
}

std::optional<MemberIndex> MemberTable::find(std::string_view client_id) const {
    const auto found = by_client_id_.find(client_id);
    if (found == by_client_id_.end()) {
        return std::nullopt;
    }
    return found->second;
}

std::vector<EligibleMember> MemberTable::eligible() const {
    std::vector<EligibleMember> result;
    for (const auto& [client_id, index] : by_client_id_) {
        if (members_[index]->eligible()) {
            result.push_back({index, client_id});
        }
    }
    return result;
}

}  // namespace keyed_sticky
