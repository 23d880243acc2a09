#include "support/script.h"

#include <optional>
#include <sstream>
#include <stdexcept>

#include "support/raw_client.h"

namespace keyed_sticky::test {
namespace {

class Actor {
  public:
    Actor(const Broker& broker, const Step& step) : client_(broker) {
        auto options = step.options;
        options.client_id = step.client;
        connack_ = client_.connect(options).reason();
    }

    [[nodiscard]] int connack() const { return connack_; }
    RawClient& raw() { return client_; }

    void ping() {
        if (!client_.closed()) client_.send_pingreq();
    }
    void await_pong() {
        if (!client_.closed()) client_.wait_for(PacketType::kPingresp);
    }
    // Takes and acknowledges all that is here; true where there was a message.
    bool take_all(std::vector<Copy>& copies) {
        bool any = false;
        while (!client_.closed()) {
            const auto packet = client_.read_packet(Duration{0});
            if (!packet) break;
            any = take(*packet, copies) || any;
        }
        return any;
    }

  private:
    bool take(const Packet& packet, std::vector<Copy>& copies) {
        if (packet.type == PacketType::kPubrel) {
            client_.send_ack(PacketType::kPubcomp, packet.id);
            return true;
        }
        if (packet.type != PacketType::kPublish) return false;
        copies.push_back(
            {packet.topic, packet.payload, packet.qos, packet.retain, packet.properties});
        if (packet.qos == 1) client_.send_ack(PacketType::kPuback, packet.id);
        if (packet.qos == 2) client_.send_ack(PacketType::kPubrec, packet.id);
        return true;
    }

    RawClient client_;
    int connack_ = 0;
};

std::string reasons_of(const char* name, const Packet& packet) {
    std::string text = name;
    for (const auto reason : packet.reasons) text += ' ' + std::to_string(reason);
    return text;
}

class Run {
  public:
    explicit Run(const Broker& broker) : broker_(broker) {}

    Observation run(const Script& script) {
        for (const Step& step : script) {
            observation_.answers.push_back(answer(step));
            settle(step.kind == Step::Kind::kDrop ? 2 : 1);
        }
        for (auto& [name, actor] : actors_) {
            if (!actor.raw().closed()) actor.raw().send_disconnect();
        }
        return std::move(observation_);
    }

  private:
    std::string answer(const Step& step) {
        if (step.kind == Step::Kind::kConnect) {
            actors_.erase(step.client);
            return "connack " +
                   std::to_string(
                       actors_.try_emplace(step.client, broker_, step).first->second.connack());
        }
        RawClient& client = actors_.at(step.client).raw();
        if (client.closed()) return "gone";
        try {
            return act(client, step);
        } catch (const std::runtime_error&) {
            if (client.closed()) return "closed";
            throw;
        }
    }

    static std::string act(RawClient& client, const Step& step) {
        switch (step.kind) {
            case Step::Kind::kSubscribe:
                return reasons_of("suback", client.subscribe(step.filters));
            case Step::Kind::kUnsubscribe: {
                std::vector<std::string> filters;
                for (const auto& filter : step.filters) filters.push_back(filter.filter);
                const auto id = client.next_id();
                client.send_bytes(encode_unsubscribe(client.protocol(), id, filters));
                return reasons_of("unsuback", client.wait_for(PacketType::kUnsuback, id));
            }
            case Step::Kind::kPublish:
                return publish(client, step.publish);
            case Step::Kind::kDrop:
                client.close();
                return "dropped";
            case Step::Kind::kConnect:
                break;
        }
        return {};
    }

    static std::string publish(RawClient& client, const RawPublish& publish) {
        const auto id = client.publish(publish);
        if (publish.qos == 0) return "published";
        if (publish.qos == 1) return reasons_of("puback", client.wait_for(PacketType::kPuback, id));
        const auto pubrec = client.wait_for(PacketType::kPubrec, id);
        if (pubrec.reason() >= 0x80) return reasons_of("pubrec", pubrec);
        client.send_ack(PacketType::kPubrel, id);
        return reasons_of("pubrec", pubrec) + ' ' +
               reasons_of("pubcomp", client.wait_for(PacketType::kPubcomp, id));
    }

    // Two pings each, as RawClient::barrier(), but all clients at once; again while anything comes,
    // and at least `rounds` times: what follows from a lost connection the broker does when it
    // notices.
    void settle(int rounds) {
        for (bool again = true; again || rounds > 0; --rounds) {
            again = false;
            for (int i = 0; i < 2; ++i) {
                for (auto& [name, actor] : actors_) actor.ping();
                for (auto& [name, actor] : actors_) actor.await_pong();
            }
            for (auto& [name, actor] : actors_)
                again = actor.take_all(observation_.copies[name]) || again;
        }
    }

    const Broker& broker_;
    std::map<std::string, Actor> actors_;
    Observation observation_;
};

}  // namespace

Observation run_script(const Broker& broker, const Script& script) {
    return Run(broker).run(script);
}

std::string to_string(const Copy& copy) {
    std::ostringstream out;
    out << copy.topic << " '" << copy.payload.substr(0, 40) << "' qos=" << copy.qos
        << (copy.retain ? " retain" : "");
    for (const auto id : copy.properties.subscription_identifiers) out << " id=" << id;
    for (const auto& [name, value] : copy.properties.user) out << ' ' << name << '=' << value;
    return out.str();
}

std::string to_string(const Script& script) {
    std::ostringstream out;
    int number = 0;
    for (const Step& step : script) {
        out << "  " << number++ << ' ' << step.client;
        switch (step.kind) {
            case Step::Kind::kConnect:
                out << " connects, protocol " << static_cast<int>(step.options.protocol);
                if (step.options.will) out << ", will " << step.options.will->topic;
                break;
            case Step::Kind::kSubscribe:
            case Step::Kind::kUnsubscribe:
                out << (step.kind == Step::Kind::kSubscribe ? " subscribes" : " unsubscribes");
                for (const auto& [filter, options] : step.filters) {
                    out << ' ' << filter << " qos=" << options.qos << " nl=" << options.no_local
                        << " rap=" << options.retain_as_published
                        << " rh=" << options.retain_handling
                        << " id=" << options.identifier.value_or(0);
                }
                break;
            case Step::Kind::kPublish:
                out << " publishes " << step.publish.topic << " '" << step.publish.payload
                    << "' qos=" << step.publish.qos << " retain=" << step.publish.retain;
                break;
            case Step::Kind::kDrop:
                out << " drops";
                break;
        }
        out << '\n';
    }
    return out.str();
}

}  // namespace keyed_sticky::test
