#include "daemon/cluster/etcd_messages.h"

#include <array>
#include <charconv>
#include <utility>

namespace optile::daemon {
namespace {

using EtcdJson = nlohmann::json;

constexpr std::chrono::hours kLongestLease{24};
constexpr std::string_view kDigits64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

base::Error no_answer_of_etcd(const std::string& what) {
  return {base::ErrorKind::kUnavailable,
          "what answers is no etcd of version 3.4 or later: " + what};
}

// The first key behind all that begin with `prefix`; every key where there is none.
std::string end_of_prefix(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

int64_t number_in(const EtcdJson& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return 0;
  if (found->is_number_integer()) return found->get<int64_t>();
  if (!found->is_string()) return 0;
  const std::string& text = found->get_ref<const std::string&>();
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

base::Result<std::string> bytes_in(const EtcdJson& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::string();
  if (!found->is_string()) return no_answer_of_etcd(std::string(name) + " is no text");
  return from_base64(found->get_ref<const std::string&>());
}

int64_t revision_in(const EtcdJson& answer) {
  const auto header = answer.find("header");
  return header != answer.end() && header->is_object() ? number_in(*header, "revision") : 0;
}

EtcdJson compare_json(const Compare& compare) {
  EtcdJson json = {{"key", to_base64(compare.key)}, {"result", "EQUAL"}};
  switch (compare.target) {
    case Compare::Target::kCreateRevision:
      json["target"] = "CREATE";
      json["create_revision"] = std::to_string(compare.revision);
      break;
    case Compare::Target::kModRevision:
      json["target"] = "MOD";
      json["mod_revision"] = std::to_string(compare.revision);
      break;
    case Compare::Target::kValue:
      json["target"] = "VALUE";
      json["value"] = to_base64(compare.value);
      break;
  }
  return json;
}

EtcdJson operation_json(const Operation& operation) {
  if (operation.kind == Operation::Kind::kDelete) {
    return {{"request_delete_range", {{"key", to_base64(operation.key)}}}};
  }
  return {{"request_put",
           {{"key", to_base64(operation.key)},
            {"value", to_base64(operation.value)},
            {"lease", std::to_string(operation.lease)}}}};
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - at);
    unsigned group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < left ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= left ? kDigits64[group >> (18 - 6 * i) & 63U] : '=';
    }
  }
  return text;
}

base::Result<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return no_answer_of_etcd("a text is no base64");
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    unsigned group = 0;
    std::size_t digits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const char c = text[at + i];
      const std::size_t value = kDigits64.find(c);
      // Padding is at the end only.
      const bool padding = c == '=' && i >= 2 && at + 4 == text.size();
      if ((value == std::string_view::npos && !padding) || (!padding && digits != i)) {
        return no_answer_of_etcd("a text is no base64");
      }
      group = group << 6 | (padding ? 0U : static_cast<unsigned>(value));
      if (!padding) ++digits;
    }
    for (std::size_t i = 0; i + 1 < digits; ++i) {
      bytes += static_cast<char>(group >> (16 - 8 * i) & 255U);
    }
  }
  return bytes;
}

EtcdJson range_request(const std::string& prefix) {
  // etcd has no empty key; this one is before all others.
  const std::string first = prefix.empty() ? std::string(1, '\0') : prefix;
  return {{"key", to_base64(first)}, {"range_end", to_base64(end_of_prefix(prefix))}};
}

EtcdJson transaction_request(const Transaction& transaction) {
  EtcdJson compares = EtcdJson::array();
  for (const Compare& one : transaction.compares) compares.push_back(compare_json(one));
  EtcdJson operations = EtcdJson::array();
  for (const Operation& one : transaction.operations) operations.push_back(operation_json(one));
  return {{"compare", std::move(compares)}, {"success", std::move(operations)}};
}

EtcdJson grant_request(std::chrono::seconds ttl) {
  return {{"TTL", std::to_string(ttl.count())}};
}

EtcdJson lease_request_of(ClusterLease lease) {
  return {{"ID", std::to_string(lease)}};
}

EtcdJson authenticate_request(const EtcdUser& user) {
  return {{"name", user.name}, {"password", user.password}};
}

base::Result<KeyRange> read_range(const EtcdJson& answer) {
  KeyRange range;
  range.revision = revision_in(answer);
  if (range.revision == 0) return no_answer_of_etcd("a range has no revision");
  const EtcdJson entries = answer.value("kvs", EtcdJson::array());
  if (!entries.is_array()) return no_answer_of_etcd("a range is no list");
  for (const EtcdJson& entry : entries) {
    if (!entry.is_object()) return no_answer_of_etcd("an entry is no object");
    base::Result<std::string> key = bytes_in(entry, "key");
    if (!key.ok()) return key.error();
    base::Result<std::string> value = bytes_in(entry, "value");
    if (!value.ok()) return value.error();
    range.entries.push_back({std::move(key).value(), std::move(value).value(),
                             number_in(entry, "create_revision"), number_in(entry, "mod_revision"),
                             number_in(entry, "lease")});
  }
  return range;
}

base::Result<Committed> read_committed(const EtcdJson& answer) {
  const int64_t revision = revision_in(answer);
  if (revision == 0) return no_answer_of_etcd("a transaction has no revision");
  const auto succeeded = answer.find("succeeded");
  return Committed{succeeded != answer.end() && succeeded->is_boolean() && succeeded->get<bool>(),
                   revision};
}

base::Result<GrantedClusterLease> read_granted(const EtcdJson& answer) {
  const GrantedClusterLease granted = {number_in(answer, "ID"),
                                       std::chrono::seconds(number_in(answer, "TTL"))};
  // We ask for seconds; with times that are no time, sums are none either.
  if (granted.id == 0 || granted.ttl.count() <= 0 || granted.ttl > kLongestLease) {
    return no_answer_of_etcd("a lease has no time");
  }
  return granted;
}

base::Result<GrantedClusterLease> read_kept_alive(const EtcdJson& answer) {
  const auto result = answer.find("result");
  if (result == answer.end() || !result->is_object()) {
    return no_answer_of_etcd("keeping a lease alive has no result");
  }
  if (number_in(*result, "TTL") <= 0) {
    return base::Error{base::ErrorKind::kNotFound, "the lease has ended"};
  }
  return read_granted(*result);
}

}  // namespace optile::daemon
