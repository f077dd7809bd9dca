// How people name a program: by its whole path, or by the end of it, as tables print it.
#pragma once

#include <string>

namespace optile::base {

inline bool is_program_called(const std::string& program, const std::string& name) {
  return program == name || (!name.empty() && program.ends_with("/" + name));
}

}  // namespace optile::base
