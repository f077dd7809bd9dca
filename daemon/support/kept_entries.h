// Files of ours that hold a JSON array, one entry for each process that something is kept of.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace optile::daemon {

// Hands each entry of `file` to `take`, which may throw Json's exceptions at what it does not know.
// False where it did: not written by us then, and nothing in the file is to be believed. Nothing is
// handed on, and true, where the file is not there, not ours, or no array.
bool read_kept_entries(const std::string& file,
                       const std::function<void(const nlohmann::json&)>& take);

// `all`, an array, in place of what `file` says; an empty one leaves no file. One that cannot be
// written costs only what the next daemon would have known.
void write_kept_entries(const std::string& file, const nlohmann::json& all);

}  // namespace optile::daemon
