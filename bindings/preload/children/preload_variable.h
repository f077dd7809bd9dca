// LD_PRELOAD in an environment that is about to be handed to a program, and the same without the
// shim. Nothing is allocated and no global is touched (program_file.h says why).
#pragma once

#include <stddef.h>

namespace optile::preload {

// What does not fit is handed on as it is.
inline constexpr size_t kMaxPreloadBytes = 4096;
inline constexpr size_t kMaxVariables = 8192;

struct PreloadVariable {
  size_t variables = 0;  // of the environment
  size_t at = 0;         // which of them it is
  const char* list = nullptr;
};

// False where the shim is not named in it, or where there is nothing that we could change: no such
// variable, two of them, too many variables, too long a list.
bool find_shim_in(char* const* environment, PreloadVariable* found);

// Whether something that must be the first library of all stands in the list behind the shim.
bool takes_the_first_place(const char* list);

// The list without the shim, and without an entry directly behind it that is `companion`: the
// runtime that the launcher put there, "" for none; a name without a folder stands for any file of
// that name. The others stay as they are and in their order.
// `to` has room for the whole list.
void put_without_shim(char* to, const char* list, const char* companion);

// The environment with `variable` (NAME=VALUE) in the place of LD_PRELOAD, or without any where
// nothing is left of the list. `to` has room for all of them and the null behind them.
void put_environment(char** to, char* const* environment, const PreloadVariable& preload,
                     char* variable, bool is_empty);

}  // namespace optile::preload
