// What etcd answers, or whatever listens at its port: as its messages are read, and as what stands
// in the keys is taken by everything that looks at them.
#include <algorithm>
#include <array>
#include <utility>

#include "daemon/cluster/etcd_messages.h"
#include "daemon/cluster/generation_claim.h"
#include "daemon/cluster/job_plans.h"
#include "daemon/cluster/membership.h"
#include "daemon/cluster/rank_claim.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace optile::daemon;  // what is asked here is all there
using optile::fuzz::Bytes;
using optile::fuzz::require;
using optile::fuzz::Script;
using Json = nlohmann::json;
using std::chrono::seconds;

const ClusterKeys kKeys = {"u"};
const std::array<std::string, 7> kPrefixes = {kKeys.nodes(),
                                              kKeys.leader(),
                                              kKeys.job("train") + "ranks/",
                                              kKeys.job("train") + "starts/",
                                              kKeys.job("train") + "claims/",
                                              kKeys.job("train") + "members/",
                                              kKeys.plans()};
constexpr ClusterLease kLease = 7;
constexpr int kRounds = 12;

// Answers at once, always with the same keys.
class AnsweringStore : public ClusterStore {
 public:
  explicit AnsweringStore(std::vector<KeyValue> entries) : entries_(std::move(entries)) {}

  void get(const std::string& prefix, Callback<KeyRange> done) override {
    KeyRange range = {{}, 9};
    for (const KeyValue& one : entries_) {
      if (one.key.starts_with(prefix)) range.entries.push_back(one);
    }
    done(range);
  }
  void commit(const Transaction& transaction, Callback<Committed> done) override {
    require(!transaction.operations.empty(), "a transaction changes something");
    done(Committed{true, 9});
  }
  void grant_lease(seconds ttl, Callback<GrantedClusterLease> done) override {
    done(GrantedClusterLease{kLease, ttl});
  }
  void keep_alive(ClusterLease lease, Callback<GrantedClusterLease> done) override {
    done(GrantedClusterLease{lease, seconds(10)});
  }
  void revoke_lease(ClusterLease lease, Callback<ClusterLease> done) override { done(lease); }
  std::string description() const override { return "answers"; }

 private:
  std::vector<KeyValue> entries_;
};

void require_printable(const std::string& text) {
  require(text == printable(text), "what people are shown is printable");
}

template <typename Claim>
void look_by(Claim& claim) {
  for (int i = 1; i <= kRounds; ++i) claim.tick(seconds(i));
  require_printable(claim.view().message);
  require_printable(claim.view().master_address);
  for (const auto& [rank, node] : claim.view().holders) require_printable(node);
}

void take_keys(const std::vector<KeyValue>& entries) {
  AnsweringStore store(entries);
  Membership::Settings settings;
  settings.keys = kKeys;
  settings.node.name = "n0";
  settings.node.instance = "i0";
  Membership membership(store, std::move(settings));
  JobPlans plans(store, {kKeys, "n0", "i0", {}});
  for (int i = 1; i <= kRounds; ++i) {
    membership.tick(seconds(i));
    plans.tick(seconds(i), kLease);
  }
  const Membership::View view = membership.view(seconds(kRounds));
  require_printable(view.leader_name);
  for (const std::string& one : view.messages) require_printable(one);
  for (const std::string& one : plans.view(seconds(kRounds)).messages) require_printable(one);
  RankClaim::Settings rank;
  rank.keys = kKeys;
  rank.job = "train";
  rank.nodes = 3;
  rank.token = "t0";
  RankClaim rank_claim(store, std::move(rank));
  look_by(rank_claim);
  GenerationClaim::Settings generation;
  generation.keys = kKeys;
  generation.job = "train";
  generation.least = 1;
  generation.most = 3;
  generation.token = "t0";
  generation.last_call = seconds(1);
  GenerationClaim generation_claim(store, std::move(generation));
  look_by(generation_claim);
}

void read_answer(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return;  // as EtcdStore has it
  const auto range = read_range(json);
  if (range.ok()) take_keys(range.value().entries);
  require(range.ok() || !range.message().empty(), "a refusal says why");
  for (const auto& granted : {read_granted(json), read_kept_alive(json)}) {
    if (!granted.ok()) continue;
    const seconds ttl = granted.value().ttl;
    require(ttl > seconds(0) && ttl <= std::chrono::hours(24), "a lease has a time");
  }
  static_cast<void>(read_committed(json));
}

Script& put_entry(Script& script, uint8_t prefix, const std::string& rest, const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  return script.put(prefix)
      .put(static_cast<uint8_t>(rest.size()))
      .text(rest)
      .put(static_cast<uint16_t>(text.size()))
      .text(text)
      .put(static_cast<uint8_t>(kLease));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  if (bytes.take<uint8_t>() % 2 == 0) {
    read_answer(bytes.text(size));
    return 0;
  }
  std::vector<KeyValue> entries;
  while (!bytes.empty()) {
    KeyValue entry;
    entry.key = kPrefixes[bytes.take<uint8_t>() % kPrefixes.size()];
    entry.key += bytes.text(bytes.take<uint8_t>());
    entry.value = bytes.text(bytes.take<uint16_t>());
    entry.lease = bytes.take<uint8_t>();
    entry.create_revision = entry.mod_revision = static_cast<int64_t>(entries.size()) + 1;
    entries.push_back(std::move(entry));
  }
  take_keys(entries);
  return 0;
}

std::vector<std::string> optile::fuzz::seeds() {
  const auto answer = [](const Json& json) { return std::string(1, '\0') + json.dump(); };
  const Json header = {{"revision", "4"}};
  const Json lease = {{"ID", "7"}, {"TTL", "10"}};
  NodeRecord node;
  node.name = "n1";
  node.instance = "i1";
  Json entry = {{"key", to_base64(kKeys.node("n1"))}, {"value", to_base64(to_text(node))}};
  entry.update({{"create_revision", "2"}, {"mod_revision", "3"}, {"lease", "7"}});
  const Json rank = {{"token", "t0"},  {"run", "t0"}, {"node", "n0"},
                     {"address", "a"}, {"port", 1},   {"nodes", 3}};
  Json other = rank;
  other["token"] = "t1";
  const Json start = {{"tokens", {"t0", "t1", "t2"}}, {"address", "a"}, {"port", 1}};
  const Json member = {{"node", "n0"}, {"address", "a"},        {"port", 1}, {"least", 1},
                       {"most", 3},    {"state", "in"},         {"rank", 0}, {"generation", 2},
                       {"nodes", 1},   {"master_address", "a"}, {"code", 0}, {"master_port", 1}};
  Json ready = member;
  ready["state"] = "ready";
  Script nodes;
  put_entry(nodes.put<uint8_t>(1), 0, "n0", Json(to_text(node)));
  put_entry(nodes, 1, "", {{"name", "n1"}, {"instance", "i1"}});
  put_entry(nodes, 1, "-epoch", Json("5"));
  Script ranks;
  put_entry(ranks.put<uint8_t>(1), 2, "0", rank);
  put_entry(ranks, 2, "1", other);
  put_entry(ranks, 3, "0", start);
  put_entry(ranks, 4, "t0", Json("0"));
  Script members;
  put_entry(members.put<uint8_t>(1), 5, "t0", member);
  put_entry(members, 5, "t1", ready);
  Script begins;
  put_entry(begins.put<uint8_t>(1), 5, "t0", ready);
  put_entry(begins, 5, "t1", ready);
  return {answer({{"header", header}, {"kvs", {entry}}}),
          answer({{"result", lease}}),
          answer(lease),
          answer({{"header", header}, {"succeeded", true}}),
          nodes.bytes(),
          ranks.bytes(),
          members.bytes(),
          begins.bytes()};
}
