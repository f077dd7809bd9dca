// Shell scripts that only choose a program and become it, such as the shims of pyenv and asdf.
// Read, never run: what cannot be told from the text is left to the shell.
#pragma once

#include <string>
#include <vector>

namespace optile::cli {

struct WrappedProgram {
  std::string path;                    // empty: none
  std::vector<std::string> arguments;  // that stand before those of the script; nothing is expanded
};

// What the shell script at `path` replaces itself with: the one program that it execs by its full
// path with all its arguments, or what pyenv or asdf would choose in this folder and environment.
// None where it is neither, or no such program is there.
WrappedProgram program_behind(const std::string& path);

// Whether a program of that path is a shell that such scripts are written for.
bool is_shell(const std::string& interpreter);

}  // namespace optile::cli
