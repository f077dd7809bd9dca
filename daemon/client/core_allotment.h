// What a client may use now, by budget and lease, and what that makes of its widths: which
// configurations are tried, what its ops are bounded by, what its threads share. Plain arithmetic;
// the daemon's one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "bindings/abi/layout.h"
#include "daemon/client/configuration_space.h"
#include "daemon/transport/attach_request.h"

namespace optile::daemon {

// Fallbacks of a client whose masks must be left alone: the user bound the threads, or the kernel
// refused.
inline constexpr uint32_t kMasksLeftAlone =
    OPTILE_FALLBACK_USER_BINDING | OPTILE_FALLBACK_MASK_REFUSED;

class CoreAllotment {
 public:
  // `attach_request` outlives it. `left_alone`: by hand, in an earlier run.
  CoreAllotment(const AttachRequest& attach_request, ConfigurationSpace space, bool left_alone);

  // Budget or lease changed. False where its plan is repeated: then all of its widths stay, and
  // only the units that its threads are bound to follow.
  bool set_space(ConfigurationSpace space);
  const ConfigurationSpace& space() const { return space_; }
  // Of these the client may have: masks are left alone where its `fallbacks` say so.
  const std::vector<perfmodel::Configuration>& configurations(uint32_t fallbacks) const;
  int cores() const { return cores_; }
  int cores_at_attach() const { return cores_at_attach_; }
  bool is_narrowed() const { return cores_ < cores_at_attach_; }
  bool was_narrowed() const { return was_narrowed_; }  // at some time

  // So many cores more for a while, which others do not use.
  void set_lent(int cores) { lent_ = cores; }
  int lent() const { return lent_; }
  // Undone by hand: for the rest of the run; in an earlier run.
  void set_undone() { undone_ = true; }
  bool was_left_alone() const { return left_alone_; }

  // As the client tells it: what the program has, whatever bounds it, and by whose word.
  void set_default_width(int width) { default_width_ = width; }
  void set_default_width_source(uint32_t source) { default_width_source_ = source; }
  int default_width() const { return default_width_; }  // 0 = not known

  // The user set the width and wants no other.
  bool is_fixed_by_user() const;
  // That, or the widths of a stored plan again, or the bits of an untouched run.
  bool keeps_widths() const;
  // What bounds the default width: budget or lease; what it came with bounds it no further. 0 =
  // none.
  int default_width_cap() const;
  int page_cap() const;  // the same with what is lent
  int bounded(int default_width) const;
  // What the program's own threads may use together, as long as anything may be changed at all.
  int shared_cores() const;

 private:
  const AttachRequest& attach_request_;
  ConfigurationSpace space_;
  int cores_at_attach_;
  int cores_;
  bool left_alone_;
  bool undone_ = false;
  bool was_narrowed_ = false;
  int lent_ = 0;
  int default_width_ = 0;
  uint32_t default_width_source_;
};

}  // namespace optile::daemon
