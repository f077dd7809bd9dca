#include "daemon/client/core_allotment.h"

#include <algorithm>
#include <utility>

namespace optile::daemon {

CoreAllotment::CoreAllotment(const AttachRequest& attach_request, ConfigurationSpace space,
                             bool left_alone)
    : attach_request_(attach_request),
      space_(std::move(space)),
      cores_at_attach_(space_.cores),
      cores_(space_.cores),
      left_alone_(left_alone),
      default_width_source_(attach_request.default_width_source) {}

bool CoreAllotment::set_space(ConfigurationSpace space) {
  cores_ = space.cores;
  const bool keeps = attach_request_.mode == OPTILE_MODE_FREEZE || attach_request_.as_untuned;
  if (keeps) {
    space_.compact_order = std::move(space.compact_order);
    space_.spread_order = std::move(space.spread_order);
  } else {
    space_ = std::move(space);
  }
  const bool counts = keeps || attach_request_.mode == OPTILE_MODE_TUNE;
  was_narrowed_ = was_narrowed_ || (counts && is_narrowed());
  return !keeps;
}

const std::vector<perfmodel::Configuration>& CoreAllotment::configurations(
    uint32_t fallbacks) const {
  return (fallbacks & kMasksLeftAlone) != 0 || attach_request_.as_untuned ? space_.unbound
                                                                          : space_.cases;
}

bool CoreAllotment::is_fixed_by_user() const {
  return attach_request_.respect == OPTILE_RESPECT_EXACT && is_set_by_user(default_width_source_);
}

bool CoreAllotment::keeps_widths() const {
  return is_fixed_by_user() || attach_request_.as_untuned ||
         attach_request_.mode == OPTILE_MODE_FREEZE;
}

int CoreAllotment::default_width_cap() const {
  const bool binds = attach_request_.mode == OPTILE_MODE_TUNE && !is_fixed_by_user() &&
                     !attach_request_.as_untuned;
  return binds && is_narrowed() ? cores_ : 0;
}

int CoreAllotment::page_cap() const {
  const int cap = default_width_cap();
  return cap == 0 || cap + lent_ >= cores_at_attach_ ? 0 : cap + lent_;
}

int CoreAllotment::bounded(int default_width) const {
  const int cap = default_width_cap();
  return cap == 0 ? default_width : std::min(default_width, cap);
}

int CoreAllotment::shared_cores() const {
  const bool shared = attach_request_.mode == OPTILE_MODE_TUNE && !attach_request_.baseline &&
                      !left_alone_ && !undone_;
  return shared && !is_fixed_by_user() && !attach_request_.as_untuned ? space_.cores : 0;
}

}  // namespace optile::daemon
