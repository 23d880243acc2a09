// Names of the user properties of the stamp, as include/keyed_sticky/stamp.h promises them to
// workers.
#pragma once
namespace keyed_sticky::stamp {
inline constexpr const char* key = "ks-key";
inline constexpr const char* epoch = "ks-epoch";
inline constexpr const char* generation = "ks-generation";
inline constexpr const char* sequence = "ks-sequence";
inline constexpr const char* redelivery = "ks-redelivery";
inline constexpr const char* handover = "ks-handover";
}  // namespace keyed_sticky::stamp
