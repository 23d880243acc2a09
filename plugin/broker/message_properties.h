// MQTT properties of a message: the broker's list during a callback, a copy of one, and a list made
// for the broker.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "broker/compat.h"
#include "core/message.h"

namespace keyed_sticky {

/// A property list that the broker frees: made with the broker's own functions, so that its memory
/// accounting holds. Appending takes the same time however long the list is.
class BrokerPropertyList {
  public:
    BrokerPropertyList() = default;
    BrokerPropertyList(const BrokerPropertyList&) = delete;
    BrokerPropertyList& operator=(const BrokerPropertyList&) = delete;
    ~BrokerPropertyList() { mosquitto_property_free_all(&head_); }

    /// Each throws std::bad_alloc where the broker has no memory; the list is then as before.
    void add(const compat::Property& property);
    void add_user_property(const char* name, const char* value);
    void add_subscription_identifier(std::uint32_t identifier);

    /// Null: empty. The list stays this object's until release().
    mosquitto_property* get() const { return head_; }
    /// Gives the list away.
    mosquitto_property* release();

  private:
    void appended(int result, mosquitto_property* at);
    mosquitto_property* append_at() const { return tail_ == nullptr ? head_ : tail_; }

    mosquitto_property* head_ = nullptr;
    mosquitto_property* tail_ = nullptr;
};

/// Both kinds of MessageProperties can be appended to a list for the broker. "ks-" user properties
/// never are: they are ours to give, and a publisher's would be taken for ours.
class BrokerProperties : public MessageProperties {
  public:
    virtual void append_to(BrokerPropertyList& list) const = 0;
};

/// The broker's list, during one callback.
class BorrowedProperties final : public BrokerProperties {
  public:
    explicit BorrowedProperties(const mosquitto_property* list) : list_(list) {}

    std::unique_ptr<MessageProperties> clone() const override;
    std::optional<std::string_view> user_property(std::string_view name) const override;
    std::size_t bytes() const override;
    void append_to(BrokerPropertyList& list) const override;

    /// Whether a "ks-epoch" is among them, as in every message this plugin stamped.
    bool stamped() const;

  private:
    const mosquitto_property* list_;
    mutable std::optional<compat::Property> found_;  ///< keeps what user_property() returned
};

class OwnedProperties final : public BrokerProperties {
  public:
    explicit OwnedProperties(std::vector<compat::Property> properties);

    std::unique_ptr<MessageProperties> clone() const override;
    std::optional<std::string_view> user_property(std::string_view name) const override;
    std::size_t bytes() const override { return bytes_; }
    void append_to(BrokerPropertyList& list) const override;

  private:
    std::vector<compat::Property> properties_;
    std::size_t bytes_ = 0;
};

}  // namespace keyed_sticky
