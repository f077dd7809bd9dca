#include "daemon/client/oversubscribed_team.h"

#include <cstdio>

namespace optile::daemon {
namespace {

std::string cores_text(double cores) {
  char text[32];
  const char* format = cores < 1 ? "%.2g of a core" : (cores > 1 ? "%.0f cores" : "one core");
  std::snprintf(text, sizeof text, format, cores);
  return text;
}

}  // namespace

std::string oversubscribed_team_text(const ClientView& client, double cores) {
  if (cores <= 0 || client.fixed_team <= cores) return "";
  std::string text = "its teams keep " + std::to_string(client.fixed_team) + " threads on " +
                     cores_text(cores) + ": ";
  if (client.is_fixed_by_user) {
    text += "you said so (--respect exact)";
  } else if (client.attach_request.as_untuned) {
    text += "it computes what an untouched run does (--numerics as-untuned)";
  } else if (client.attach_request.mode == OPTILE_MODE_FREEZE) {
    text += "its widths are the same in every run (--mode freeze)";
  } else {
    text +=
        "what a program of its own regions has sized by their number is not known, unless it is "
        "run with --regions=tune";
  }
  const bool followed = client.header && client.header->wait_changes > 0;
  text +=
      followed && client.wait_cap_ms
          ? "; idle ones do not spin meanwhile"
          : "; how idle ones wait cannot be changed either: started with OMP_WAIT_POLICY=passive, "
            "or "
            "beside other programs, they do not spin for long";
  return text;
}

}  // namespace optile::daemon
