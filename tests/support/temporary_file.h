#pragma once

#include <string>

namespace keyed_sticky::test {

// Path of a new file with this text, whose name ends with `name`. It is removed when the test
// program ends.
std::string temporary_file(const std::string& name, const std::string& text);

}  // namespace keyed_sticky::test
