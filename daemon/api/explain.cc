#include "daemon/api/explain.h"

#include <algorithm>
#include <map>
#include <vector>

#include "bindings/abi/api_fields.h"
#include "daemon/client/op_selection.h"
#include "daemon/client/oversubscribed_team.h"
#include "daemon/views/thread_limits.h"

namespace optile::daemon {
namespace {

using perfmodel::Configuration;
using perfmodel::PointKind;

constexpr int kMaxStoredRows = 512;

Json point_json(const Configuration& at, double median_ns, const char* kind) {
  return {{field::kWidth, at.width},
          {field::kBinding, perfmodel::binding_name(at.binding)},
          {field::kMedianNs, median_ns},
          {field::kCount, 0},
          {field::kKind, kind}};
}

// Sampled cases of this run, and what the curve says about the widths between them.
Json curve_of_session(const tuner::OpView& op, int cores) {
  Json curve = Json::array();
  std::vector<perfmodel::Binding> bindings;
  for (const auto& [at, samples] : op.profile.cases) {
    Json point = point_json(at, static_cast<double>(samples.median().count()), "sampled");
    point[field::kCount] = samples.count();
    curve.push_back(std::move(point));
    if (std::find(bindings.begin(), bindings.end(), at.binding) == bindings.end()) {
      bindings.push_back(at.binding);
    }
  }
  for (const perfmodel::Binding binding : bindings) {
    for (int width = 1; width <= cores; ++width) {
      if (op.profile.find({width, binding}) != nullptr) continue;
      const std::optional<perfmodel::CurvePoint> point = op.curve.at({width, binding});
      if (!point) continue;
      const char* kind = point->kind == PointKind::kExtrapolated ? "extrapolated" : "interpolated";
      curve.push_back(point_json({width, binding}, static_cast<double>(point->time.count()), kind));
    }
  }
  return curve;
}

Json stored_point(const FoundProfile& found) {
  Json point = point_json(found.profile.at, found.profile.median_ns, "sampled");
  point[field::kCount] = found.profile.count;
  return point;
}

// Curve of an op from earlier runs: the newest value of every case.
Json curve_of_store(const std::vector<FoundProfile>& profiles) {
  std::map<Configuration, const FoundProfile*> newest;
  for (const FoundProfile& found : profiles) newest.try_emplace(found.profile.at, &found);
  Json curve = Json::array();
  for (const auto& [at, found] : newest) curve.push_back(stored_point(*found));
  return curve;
}

std::string sentence(const ClientView& client, const tuner::OpView& op) {
  const int width = op.width == 0 ? default_width_of(client) : op.width;
  std::string text =
      (width > 0 ? "width " + std::to_string(width) + ": " : "") + op_reason(client, op);
  const ClientHeader header = client.header.value_or(ClientHeader());
  if (is_set_by_user(header.default_width_source) && !client.is_fixed_by_user) {
    text += "; you said so: at most " + std::to_string(header.default_width);
  }
  if (op.runner_up) text += "; runner-up is width " + std::to_string(op.runner_up->width);
  if (header.issuing_threads > 1 && client.shared_cores > 0) {
    text += "; " + std::to_string(header.issuing_threads) +
            " threads issue ops, and those of the same moment share " +
            std::to_string(client.shared_cores) + " cores";
  }
  return text;
}

std::vector<FoundProfile> profiles_in(Store* store, Controller& controller, uint64_t key,
                                      const std::string& name) {
  if (store == nullptr) return {};
  return store->find_profiles(controller.machine().fingerprint, key, name, kMaxStoredRows);
}

// Why none of its cores are its own; empty where a lease says which are.
std::string why_not_held(const Controller& controller, const ClientView& client) {
  if (!client.attach_request.unseen.empty()) {
    return "not held to cores: " + client.attach_request.unseen +
           "; its widths are tuned, and it counts as load of others";
  }
  const std::string shares_time = controller.lease_manager().status(client.id).shares_time;
  return shares_time.empty() ? "" : "it shares the cores by time: " + shares_time;
}

// Of its lease; 0 where it has none.
double cores_held(const Controller& controller, const ClientView& client) {
  if (controller.lease_manager().leases() == nullptr) return 0;
  const auto lease = controller.lease_manager().leases()->table().view(client.id);
  return lease ? static_cast<double>(lease->granted.cores.size()) * lease->granted.fraction : 0;
}

Json explanation(Controller& controller, const ClientView& client, const tuner::OpView& op) {
  Json json = op_row(client, op);
  const tuner::SessionView& session = *client.session;
  const ClientHeader header = client.header.value_or(ClientHeader());
  json[field::kProgram] = client.attach_request.program;
  json[field::kState] = client_state(client);
  json[field::kSentence] = sentence(client, op);
  json[field::kDecision] = session.decision;
  json[field::kCurve] = curve_of_session(op, client.cores);
  json[field::kProvenance] = {{field::kSource, "this_run"},
                              {field::kMadeAt, iso_time(client.attached_at)}};
  if (json[field::kCurve].empty()) {
    const std::vector<FoundProfile> profiles =
        profiles_in(controller.history().store_to_read(client.attach_request.uid), controller,
                    op.place.key, "");
    json[field::kCurve] = curve_of_store(profiles);
    const int64_t when =
        client.stored ? client.stored->when : (profiles.empty() ? 0 : profiles.front().when);
    json[field::kProvenance] = {{field::kSource, when == 0 ? "none" : "store"},
                                {field::kMadeAt, when == 0 ? Json(nullptr) : Json(iso_time(when))}};
  }
  json[field::kCounters] = perfmodel::counter_tier_name(header.counter_tier);
  json[field::kCounterReason] = text_or_null(counter_reason(header));
  json[field::kSwitchingCost] = {{field::kNs, session.switching_cost.count()},
                                 {field::kMeasured, session.switching_cost_measured}};
  json[field::kUser] = {
      {field::kDefaultWidth, header.default_width},
      {field::kSource, width_source_name(header.default_width_source)},
      {field::kRespect, respect_name(client.attach_request.respect)},
      {field::kBinds, is_set_by_user(header.default_width_source)},
      {field::kVariable, text_or_null(limiting_variable(client.attach_request, header))},
      {field::kPools, pool_limits(client.attach_request)}};
  json[field::kHeld] = text_or_null(why_not_held(controller, client));
  json[field::kTeam] =
      text_or_null(oversubscribed_team_text(client, cores_held(controller, client)));
  json[field::kCap] = client.default_width_cap == 0 ? Json(default_width_of(client))
                                                    : Json(client.default_width_cap);
  return json;
}

std::optional<Json> from_client(Controller& controller, const ClientView& client,
                                const OpSelection& wanted) {
  if (!client.session) return std::nullopt;
  std::vector<const tuner::OpView*> found;
  for (const tuner::OpView& op : client.session->ops) {
    if (wanted.matches(op.place, client)) found.push_back(&op);
  }
  if (found.empty()) return std::nullopt;
  std::stable_sort(found.begin(), found.end(), [](const auto* a, const auto* b) {
    return a->best_time * a->per_step > b->best_time * b->per_step;
  });
  Json list = Json::array();
  for (const tuner::OpView* op : found) {
    if (list.size() == kMaxExplanations) break;
    list.push_back(explanation(controller, client, *op));
  }
  return Json{{field::kExplanations, list}, {field::kMore, found.size() - list.size()}};
}

// No client remembers it: what earlier runs left behind.
std::optional<Json> from_store(Controller& controller, Store* store, const OpSelection& wanted) {
  const std::vector<FoundProfile> profiles =
      profiles_in(store, controller, wanted.key, wanted.name);
  if (profiles.empty()) return std::nullopt;
  std::map<uint64_t, std::vector<FoundProfile>> by_key;
  for (const FoundProfile& found : profiles) by_key[found.profile.key].push_back(found);
  Json list = Json::array();
  for (const auto& [key, rows] : by_key) {
    if (list.size() == kMaxExplanations) break;
    Json json = {
        {field::kClient, nullptr},
        {field::kId, hex_key(key)},
        {field::kKey, hex_key(key)},
        {field::kName, rows.front().profile.name},
        {field::kShape, rows.front().profile.shape},
        {field::kProgram, rows.front().program},
        {field::kState, "stored"},
        {field::kCurve, curve_of_store(rows)},
        {field::kRunnerUp, nullptr},
        {field::kSentence, "measured in an earlier run; no program that runs it is attached"}};
    json[field::kProvenance] = {{field::kSource, "store"},
                                {field::kMadeAt, iso_time(rows.front().when)}};
    list.push_back(std::move(json));
  }
  return Json{{field::kExplanations, list}, {field::kMore, by_key.size() - list.size()}};
}

}  // namespace

std::optional<Json> explain_op(Controller& controller, const Explained& asked) {
  const OpSelection wanted = OpSelection::parse(asked.op);
  if (wanted.key == 0 && wanted.name.empty()) return std::nullopt;
  for (const ClientView& view : asked.clients) {
    if (asked.client && *asked.client != view.id) continue;
    if (std::optional<Json> found = from_client(controller, view, wanted)) return found;
  }
  return asked.client ? std::nullopt : from_store(controller, asked.store, wanted);
}

}  // namespace optile::daemon
