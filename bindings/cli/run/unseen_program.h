// What is said of a program of which no op was seen: what was looked for, why there was none where
// that can be told, and what holds for it all the same.
#pragma once

#include <string>
#include <vector>

namespace optile::cli {

struct UnseenProgram {
  std::string reason;  // why the shim was left out; empty where it was there
  bool daemon_answered = true;
  std::string framework;  // that it imports and whose ops cannot be seen; mostly empty
};

std::string unseen_program_text(const UnseenProgram& program);

// Of one that attached all the same, since it has threads of its own.
std::string whole_program_text(const std::string& program);

// A framework whose ops cannot be seen and that this Python program, its script or the text after
// -c, imports by name: "TensorFlow". Empty where it imports none, or is no Python.
std::string unseen_framework(const std::vector<std::string>& command);

}  // namespace optile::cli
