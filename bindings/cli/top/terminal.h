// Where the picture is shown and keys come from. One thread.
#pragma once

#include <chrono>
#include <optional>

#include "bindings/cli/top/layout.h"
#include "bindings/cli/top/picture.h"

namespace optile::cli {

class Terminal {
 public:
  virtual ~Terminal() = default;

  virtual Size size() const = 0;
  virtual void show(const Picture& picture) = 0;

  struct Event {
    std::optional<int> key;  // nothing: the time is over
    bool closed = false;     // the terminal is gone, or somebody asks us to end
  };
  virtual Event wait(std::chrono::milliseconds most) = 0;
};

}  // namespace optile::cli
