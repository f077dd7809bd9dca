#include "daemon/support/program_names.h"

#include <vector>

#include "base/program_name.h"

namespace optile::daemon {
namespace {

constexpr std::size_t kMaxNamed = 8;

template <typename Names>
std::string listed(const Names& names) {
  std::string text;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (count == kMaxNamed) return text + " and " + std::to_string(names.size() - count) + " more";
    text += (text.empty() ? "" : ", ") + name;
    ++count;
  }
  return text;
}

}  // namespace

base::Result<std::string> find_program(const std::set<std::string>& known,
                                       const std::string& name) {
  if (known.contains(name)) return name;
  std::vector<std::string> found;
  for (const std::string& one : known) {
    if (base::is_program_called(one, name)) found.push_back(one);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return base::Error{
        base::ErrorKind::kNotFound,
        "no program of this name has run here; " +
            (known.empty() ? std::string("none is known yet") : "known are " + listed(known))};
  }
  return base::Error{base::ErrorKind::kUnavailable,
                     "several programs are called so; name one of " + listed(found)};
}

}  // namespace optile::daemon
