// How the placement commands end when there is no answer.
#pragma once

#include <string>

namespace optile::cli {

inline constexpr int kNotFeasible = 1;  // there is an answer, and it breaks a limit

// Says why on stderr. Returns the exit code.
int refuse(const std::string& why);

}  // namespace optile::cli
