// Shell scripts that only choose a program and become it, such as the shims of pyenv. Read, never
// run: what cannot be told from the text is left to the shell.
#pragma once

#include <string>

namespace optile::cli {

// What the shell script at `path` replaces itself with: the one program that it execs by its full
// path with all its arguments, or what pyenv would choose in this folder and environment. Empty
// where it is neither, or no such program is there.
std::string program_behind(const std::string& path);

// Whether a program of that path is a shell that such scripts are written for.
bool is_shell(const std::string& interpreter);

}  // namespace optile::cli
