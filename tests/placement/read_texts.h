// Texts of graphs that are read, and refused.
#pragma once

#include <string>

#include "placement/import/importer.h"

namespace optile::placement {

// Why a text is no graph; empty where it is one.
inline std::string refusal(const std::string& text) {
  const auto model = read_model(text);
  return model.ok() ? "" : model.message();
}

// A text with its first `old` replaced, which has to be there.
inline std::string with(std::string text, const std::string& old, const std::string& fresh) {
  text.replace(text.find(old), old.size(), fresh);
  return text;
}

}  // namespace optile::placement
