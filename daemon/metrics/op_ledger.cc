#include "daemon/metrics/op_ledger.h"

#include <algorithm>

#include "daemon/metrics/label_text.h"
#include "daemon/views/json_views.h"

namespace optile::daemon {

void OpLedger::Amount::add(const Amount& more) {
  seconds += more.seconds;
  executions += more.executions;
}

void OpLedger::update(const std::vector<ClientView>& attached,
                      const std::function<std::optional<ClientView>(uint64_t client)>& departed) {
  ++round_;
  unnamed_ = {};
  for (auto& [name, op] : ops_) {
    op.fresh = {};
    op.width = 0;
  }
  for (const ClientView& client : attached) take(client);
  std::vector<uint64_t> gone;
  for (const auto& [id, seen] : seen_) {
    if (seen.round != round_) gone.push_back(id);
  }
  for (const uint64_t id : gone) {
    if (const std::optional<ClientView> last = departed(id)) take(*last);
    seen_.erase(id);
  }
  std::erase_if(ops_, [this](const auto& one) { return one.second.round != round_; });
  rank();
}

OpLedger::Op* OpLedger::find(const ClientView& client, uint64_t key) {
  const auto described = client.ops.find(key);
  const bool known = described != client.ops.end();
  Name name{label_text(client.attach_request.program),
            label_text(known ? described->second.name : ""),
            known ? label_text(described->second.shape) : "unknown",
            known && described->second.backward ? "backward" : "forward"};
  auto found = ops_.find(name);
  if (found == ops_.end()) {
    if (ops_.size() >= kMaxOpsKnown) return nullptr;
    found = ops_.emplace(std::move(name), Op()).first;
  }
  return &found->second;
}

void OpLedger::take(const ClientView& client) {
  Seen& seen = seen_[client.id];
  seen.round = round_;
  for (const auto& [key, total] : client.totals) {
    Known& known = seen.ops[key];
    // Names are made once: an op that is met in every round stays where it is.
    if (known.op == nullptr) known.op = find(client, key);
    if (known.op != nullptr) known.op->round = round_;
    const Amount now{seconds_of(total.time), static_cast<double>(total.count)};
    // The client may write anything: what falls counts as nothing.
    const Amount more{std::max(0.0, now.seconds - known.before.seconds),
                      std::max(0.0, now.executions - known.before.executions)};
    known.before = now;
    (known.op == nullptr ? unnamed_ : known.op->fresh).add(more);
  }
  // One whose total is gone from the client's memory is not met, and may not be kept.
  std::erase_if(seen.ops,
                [&client](const auto& one) { return client.totals.count(one.first) == 0; });
  if (!client.session || client.finished) return;
  for (const tuner::OpView& view : client.session->ops) {
    const auto met = seen.ops.find(view.place.key);
    if (met == seen.ops.end() || met->second.op == nullptr) continue;
    const int width = view.width == 0 ? client.session->default_width : view.width;
    met->second.op->width = std::max(met->second.op->width, width);
  }
}

// Who has a row of its own from now on, and where this round's time goes.
void OpLedger::rank() {
  std::vector<Op*> order;
  order.reserve(ops_.size());
  for (auto& [name, op] : ops_) {
    op.all.add(op.fresh);
    all_.add(op.fresh);
    op.own_row = false;
    order.push_back(&op);
  }
  const std::size_t rows = std::min(order.size(), kMaxOpRows);
  std::stable_sort(order.begin(), order.end(),
                   [](const Op* a, const Op* b) { return a->all.seconds > b->all.seconds; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    Op& op = *order[i];
    op.own_row = i < rows;
    (op.own_row ? op.shown : other_).add(op.fresh);
  }
  other_.add(unnamed_);
  all_.add(unnamed_);
  any_other_ = any_other_ || other_.executions > 0 || other_.seconds > 0;
}

std::vector<OpLedger::Row> OpLedger::all() const {
  if (all_.executions <= 0 && all_.seconds <= 0) return {};
  return {{"", "other", "", "", all_.seconds, all_.executions, 0}};
}

std::vector<OpLedger::Row> OpLedger::rows() const {
  std::vector<Row> rows;
  for (const auto& [name, op] : ops_) {
    if (!op.own_row) continue;
    const auto& [program, text, shape, direction] = name;
    rows.push_back(
        {program, text, shape, direction, op.shown.seconds, op.shown.executions, op.width});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.seconds > b.seconds; });
  if (any_other_) {
    rows.push_back({"", "other", "", "", other_.seconds, other_.executions, 0});
  }
  return rows;
}

}  // namespace optile::daemon
