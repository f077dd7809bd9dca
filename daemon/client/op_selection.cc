#include "daemon/client/op_selection.h"

#include <algorithm>
#include <charconv>

namespace optile::daemon {
namespace {

bool parse_hex(const std::string& text, uint64_t& word) {
  if (text.size() != 16) return false;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, word, 16);
  return error == std::errc() && at == end;
}

}  // namespace

OpSelection OpSelection::parse(const std::string& text) {
  OpSelection selection;
  uint64_t context = 0;
  if (parse_hex(text, selection.key)) return selection;
  if (text.size() == 33 && text[16] == '-' && parse_hex(text.substr(0, 16), selection.key) &&
      parse_hex(text.substr(17), context)) {
    selection.context = context;
    return selection;
  }
  selection.key = 0;
  selection.name = text;
  return selection;
}

bool OpSelection::matches(const perfmodel::OpPlace& place, const ClientView& client) const {
  if (key != 0) return place.key == key && (!context || *context == place.context);
  const auto found = client.ops.find(place.key);
  return found != client.ops.end() && found->second.name.rfind(name, 0) == 0;
}

std::vector<uint64_t> keys_of(const OpSelection& selection, const ClientView& client) {
  std::vector<uint64_t> keys;
  if (!client.session) return keys;
  for (const tuner::OpView& op : client.session->ops) {
    if (!selection.matches(op.place, client)) continue;
    if (std::find(keys.begin(), keys.end(), op.place.key) == keys.end()) {
      keys.push_back(op.place.key);
    }
  }
  return keys;
}

}  // namespace optile::daemon
