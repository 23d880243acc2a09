#pragma once

#include <string>

#include "support/broker.h"

namespace keyed_sticky::test {

// Mosquitto's dynamic security with this configuration.
// Clients: {"username": "alice", kPassword, "roles": […]}; they connect with the password "secret".
OtherPlugin dynamic_security(const std::string& json);

// Members of a client's JSON object: "secret" by PBKDF2-SHA512, 101 rounds, salt "keyed-sticky".
extern const std::string kPassword;

}  // namespace keyed_sticky::test
