#include "daemon/api/api.h"

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "bindings/abi/api_fields.h"
#include "daemon/api/body_fields.h"
#include "daemon/api/cluster_json.h"
#include "daemon/api/explain.h"
#include "daemon/api/launch_json.h"
#include "daemon/api/lease_json.h"
#include "daemon/api/report.h"
#include "daemon/metrics/exposition.h"
#include "daemon/support/program_names.h"

namespace optile::daemon {
namespace {

constexpr std::size_t kMaxProgram = 255;
constexpr const char* kNoSuchClient = "there is no such client; see /v1/clients";
constexpr const char* kNobodysOwn =
    "you have no number of your own here, so no program is known to be yours";

// What requests may hold.
using Kind = Member::Kind;
constexpr Member kClient = {field::kClient, Kind::kInteger, 1};
constexpr const char* kClientParameter[] = {field::kClient};
constexpr Member kUndoMembers[] = {{field::kAll, Kind::kTrue},
                                   kClient,
                                   {field::kProgram, Kind::kText, 1},
                                   {field::kOp, Kind::kText, 1},
                                   {field::kRevoke, Kind::kFlag}};
constexpr Member kLeaseMembers[] = {kClient,
                                    kShare,
                                    {field::kPin, Kind::kOther},
                                    {field::kUnpin, Kind::kTrue},
                                    {field::kPause, Kind::kTrue},
                                    {field::kResume, Kind::kTrue},
                                    {field::kDetach, Kind::kTrue},
                                    {field::kAttach, Kind::kTrue}};

HttpResponse ok(const Json& json) {
  return {200, json.dump(-1, ' ', false, Json::error_handler_t::replace), ""};
}

HttpResponse problem(unsigned status, const std::string& message) {
  HttpResponse response = ok({{field::kError, {{field::kMessage, message}}}});
  response.status = status;
  return response;
}

HttpResponse problem(const base::Error& error) {
  switch (error.kind) {
    case base::ErrorKind::kNotFound:
      return problem(404, error.message);
    case base::ErrorKind::kDenied:
      return problem(403, error.message);
    case base::ErrorKind::kUnavailable:
      return problem(409, error.message);
    default:
      return problem(400, error.message);
  }
}

std::string not_yours(uint64_t client) {
  return "client " + std::to_string(client) +
         " is another user's: only that user, root and the admins of this daemon may look into it "
         "or change it";
}

// Whether `path` fits "/v1/clients/{id}"; what stands for the braces goes to `parameter`.
bool fits(std::string_view pattern, std::string_view path, std::string& parameter) {
  const std::size_t open = pattern.find('{');
  if (open == std::string_view::npos) return pattern == path;
  const std::string_view before = pattern.substr(0, open);
  const std::string_view after = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= before.size() + after.size()) return false;
  if (path.substr(0, before.size()) != before) return false;
  if (path.substr(path.size() - after.size()) != after) return false;
  const std::string_view middle =
      path.substr(before.size(), path.size() - before.size() - after.size());
  if (middle.find('/') != std::string_view::npos) return false;
  parameter = percent_decoded(middle);
  return true;
}

// What is known of a program's widths, as far as one line can say it.
Json stored_json(const std::optional<FoundPlan>& found) {
  if (!found) return nullptr;
  const tuner::StoredPlan& plan = found->plan;
  int changed = 0;
  int uniform = 0;
  bool one_width = !plan.entries.empty();
  for (const tuner::StoredEntry& entry : plan.entries) {
    if (entry.rule == tuner::Rule::kLeftAlone) continue;
    if (entry.width != 0) ++changed;
    const int width = entry.width == 0 ? plan.default_width : entry.width;
    if (uniform == 0) uniform = width;
    one_width = one_width && width == uniform;
  }
  return {{field::kUniformWidth, one_width && uniform > 0 ? Json(uniform) : Json(nullptr)},
          {field::kChangedOps, changed},
          {field::kDefaultWidth, plan.default_width},
          {field::kOwnStepSeconds, plan.own_step_seconds},
          {field::kTunedStepSeconds, plan.tuned_step_seconds}};
}

Json store_json(const Store::State& store) {
  return {{field::kPath, store.path},
          {field::kState, keeping_name(store.keeping)},
          {field::kFailedWrites, store.failed_writes},
          {field::kMessage, store.message}};
}

// A request taken apart.
struct Call {
  const Api::Served& served;
  std::string parameter;  // what stands in the place of {…}
  Query query;
  Json body;  // an object with members of the route's; null where it has none
  Peer peer{};
};

bool may_see(const Call& call, const ClientView& client) {
  return call.served.facts.rights.may(call.peer, client.attach_request.uid);
}

// Attached ones by id, then the remembered ones, newest first.
std::vector<ClientView> seen_by(const Call& call) {
  std::vector<ClientView> views = call.served.controller.views();
  std::erase_if(views, [&](const ClientView& view) { return !may_see(call, view); });
  return views;
}

// Whose programs are meant where none is named; nullopt: everybody's.
std::optional<unsigned> user_of(const Call& call) {
  return call.served.facts.rights.may_all(call.peer) ? std::nullopt : std::optional(call.peer.uid);
}

// That somebody is there is no secret: he has cores.
Json client_for(const Call& call, const ClientView& client) {
  return may_see(call, client) ? client_summary(client) : stranger(client);
}

Store::State store_state(const Call& call) {
  const Store* store = call.served.facts.rights.system()
                           ? call.served.controller.history().store_of(call.peer.uid)
                           : &call.served.controller.history().store();
  if (store != nullptr) return store->state();
  Store::State none;
  none.message = "nothing is kept for a user without a number of his own here";
  return none;
}

HttpResponse get_status(const Call& call) {
  Json clients = Json::array();
  for (const ClientView& view : call.served.controller.attached(tuner::Detail::kFigures)) {
    clients.push_back(client_for(call, view));
  }
  const uint64_t up_ns = call.served.monotonic_ns() - call.served.facts.started_ns;
  return ok({{field::kPid, call.served.facts.pid},
             {field::kVersion, call.served.facts.version},
             {field::kSystem, call.served.facts.rights.system()},
             {field::kUptimeSeconds, static_cast<double>(up_ns) / 1e9},
             {field::kStore, store_json(store_state(call))},
             {field::kMachine, machine_summary(call.served.controller.machine())},
             {field::kBudget, budget_json(call.served.controller.lease_manager().budget())},
             {field::kClients, std::move(clients)}});
}

HttpResponse get_clients(const Call& call) {
  Json list = Json::array();
  for (const ClientView& view : call.served.controller.views())
    list.push_back(client_for(call, view));
  return ok({{field::kClients, std::move(list)}});
}

HttpResponse get_client(const Call& call) {
  const std::optional<uint64_t> id = parse_id(call.parameter);
  const std::optional<ClientView> view = id ? call.served.controller.view(*id) : std::nullopt;
  if (!view) return problem(404, kNoSuchClient);
  if (!may_see(call, *view)) return problem(403, not_yours(view->id));
  return ok(client_details(*view));
}

// The client that the query names, where it names one; else why it cannot be answered about.
base::Status named_client(const Call& call, std::optional<ClientView>& named) {
  const auto wanted = call.query.find(field::kClient);
  if (wanted == call.query.end()) return {};
  const std::optional<uint64_t> id = parse_id(wanted->second);
  if (!id) return base::invalid("client is the number of a program, from 1; see /v1/clients");
  named = call.served.controller.view(*id);
  if (!named) return base::Error{base::ErrorKind::kNotFound, kNoSuchClient};
  if (!may_see(call, *named)) return base::Error{base::ErrorKind::kDenied, not_yours(*id)};
  return {};
}

// Of one client, of all attached ones, or where none is attached of the latest one with ops.
HttpResponse get_ops(const Call& call) {
  std::optional<ClientView> named;
  if (const base::Status usable = named_client(call, named); !usable.ok()) {
    return problem(usable.error());
  }
  std::vector<ClientView> views;
  if (named) {
    views.push_back(std::move(*named));
  } else {
    for (ClientView& view : seen_by(call)) {
      if (view.finished && !views.empty()) break;
      if (view.finished && (!view.session || view.session->ops.empty())) continue;
      const bool finished = view.finished;
      views.push_back(std::move(view));
      if (finished) break;
    }
  }
  Json rows = Json::array();
  Json clients = Json::array();
  for (const ClientView& view : views) {
    clients.push_back({{field::kId, view.id},
                       {field::kPid, view.attach_request.pid},
                       {field::kProgram, view.attach_request.program},
                       {field::kState, client_state(view)}});
    if (!view.session) continue;
    for (const tuner::OpView& op : view.session->ops) rows.push_back(op_row(view, op));
  }
  return ok({{field::kClients, std::move(clients)}, {field::kOps, std::move(rows)}});
}

HttpResponse get_explanation(const Call& call) {
  std::optional<ClientView> named;
  if (const base::Status usable = named_client(call, named); !usable.ok()) {
    return problem(usable.error());
  }
  Explained asked = {call.parameter, named ? std::optional(named->id) : std::nullopt};
  asked.clients = seen_by(call);
  asked.store = call.served.controller.history().store_to_read(call.peer.uid);
  const std::optional<Json> found = explain_op(call.served.controller, asked);
  if (!found) return problem(404, "no op has this id or a name that begins so; see /v1/ops");
  return ok(*found);
}

HttpResponse get_machine(const Call& call) {
  return ok(machine_details(call.served.controller.machine(),
                            call.served.controller.lease_manager().budget()));
}

HttpResponse get_report(const Call& call) {
  const RunStatus run = call.served.controller.find_run(call.parameter, user_of(call));
  const bool known = run.state != RunState::kUnknown && run.client;
  if (!known || !may_see(call, *run.client)) return ok({{field::kState, "unknown"}});
  Json json = run_report(*run.client, earlier_runs(call.served.controller.history(), *run.client),
                         store_state(call));
  json[field::kRunId] = call.parameter;
  json[field::kState] = run.state == RunState::kRunning ? "running" : "finished";
  return ok(json);
}

HttpResponse post_launch(const Call& call) {
  const Json& body = call.body;
  std::optional<perfmodel::LaunchFacts> facts = launch_facts(body);
  if (!facts) return problem(400, "openmp, wait, blas or heap holds an unknown value");
  const int asked = body.value(field::kBudgetCores, 0);  // of the launcher, which may be confined
  facts->budget_cores = asked > 0 ? asked : call.served.controller.lease_manager().budget().cores;
  ProgramKey program = {text_at(body, field::kExecutable, kMaxProgram),
                        text_at(body, field::kProgram, kMaxProgram), arguments_at(body)};
  if (program.program.empty()) program.program = program.executable;
  const unsigned user = call.peer.uid;
  facts->marks_ops =
      call.served.controller.history().was_steered(program, user).value_or(facts->marks_ops);
  const LaunchBeside beside = call.served.controller.lease_manager().launch_beside(
      *facts, {{program.executable, user, call.peer.pid},
               body.value(field::kShare, 1.0),
               flag_at(body, field::kBatch),
               flag_at(body, field::kStarts),
               flag_at(body, field::kAnnounced)});
  facts->beside_others = beside.others;
  const perfmodel::LaunchPlan plan =
      call.served.controller.history().launch_plan(*facts, program, user);
  return ok({{field::kEnvironment, plan.environment},
             {field::kPreloadLibomp, plan.preload_libomp},
             {field::kWaitFollows, plan.wait_follows},
             {field::kWidth, beside.width},
             {field::kText, plan.text},
             {field::kReasons, plan.reasons},
             {field::kTakenBack, plan.taken_back},
             {field::kLossSeconds, plan.loss_seconds},
             {field::kStored,
              stored_json(call.served.controller.history().stored_plan(program, plan.text, user))},
             {field::kStore, store_json(store_state(call))}});
}

// Names of programs that have run on this machine, as far as the caller may know them.
std::set<std::string> programs_known_to(const Call& call) {
  std::set<std::string> names;
  std::set<Store*> stores = {call.served.controller.history().store_to_read(call.peer.uid)};
  for (const ClientView& view : seen_by(call)) {
    names.insert(view.attach_request.program);
    stores.insert(call.served.controller.history().store_to_read(view.attach_request.uid));
  }
  for (Store* store : stores) {
    if (store != nullptr)
      names.merge(store->programs(call.served.controller.machine().fingerprint));
  }
  names.erase("");
  return names;
}

// What is to be undone has to be named: a client, a program, an op (of one of them, or of whoever
// runs it), or everything by its own choice.
base::Result<UndoRequest> undo_request(const Call& call) {
  const Json& body = call.body;
  const int named = static_cast<int>(body.contains(field::kAll) + body.contains(field::kClient) +
                                     body.contains(field::kProgram));
  if (named > 1) return base::invalid("name one of client, program and all");
  if (named == 0 && !body.contains(field::kOp)) {
    return base::invalid("say what: a client, a program, an op, or \"all\": true");
  }
  if (body.contains(field::kOp) && (body.contains(field::kRevoke) || body.contains(field::kAll))) {
    return base::invalid("an op cannot be revoked, and is not all; name its program");
  }
  UndoRequest request;
  request.client = body.value(field::kClient, uint64_t{0});
  request.op = text_at(body, field::kOp);
  request.revoke = flag_at(body, field::kRevoke);
  request.user = user_of(call);
  request.asked_by = call.peer.uid;
  if (!body.contains(field::kProgram)) return request;
  base::Result<std::string> program =
      find_program(programs_known_to(call), text_at(body, field::kProgram));
  if (!program.ok()) return program.error();
  request.program = program.value();
  return request;
}

HttpResponse post_undo(const Call& call) {
  if (!call.served.facts.rights.may(call.peer, call.peer.uid)) {
    return problem(403, kNobodysOwn);
  }
  const base::Result<UndoRequest> asked = undo_request(call);
  if (!asked.ok()) return problem(asked.error());
  const UndoRequest& request = asked.value();
  const std::optional<ClientView> named =
      request.client == 0 ? std::nullopt : call.served.controller.view(request.client);
  if (named && !may_see(call, *named)) return problem(403, not_yours(named->id));
  const base::Result<Controller::Undone> undone = call.served.controller.undo(request);
  if (!undone.ok()) return problem(undone.error());
  Json clients = Json::array();
  for (const ClientView& view : undone.value().clients) {
    clients.push_back({{field::kId, view.id},
                       {field::kPid, view.attach_request.pid},
                       {field::kProgram, view.attach_request.program},
                       {field::kLaunchPlan, view.attach_request.launch_plan}});
  }
  const std::string program = named ? named->attach_request.program : request.program;
  return ok({{field::kClients, std::move(clients)},
             {field::kProgram, text_or_null(program)},
             {field::kOps, undone.value().ops},
             {field::kRevoked, request.revoke}});
}

HttpResponse get_leases(const Call& call) {
  return ok(leases_json(call.served.controller,
                        [&](const ClientView& one) { return may_see(call, one); }));
}

HttpResponse post_lease(const Call& call) {
  if (const auto client = call.body.find(field::kClient); client != call.body.end()) {
    const std::optional<ClientView> named = call.served.controller.view(client->get<uint64_t>());
    if (!named) return problem(404, "no attached client has that number; see optile leases");
    if (!may_see(call, *named)) return problem(403, not_yours(named->id));
  }
  base::Result<LeaseCommand> parsed = parse_lease_command(call.body);
  if (!parsed.ok()) return problem(parsed.error());
  LeaseCommand command = std::move(parsed).value();
  command.bounded = !call.served.facts.rights.may_all(call.peer);
  const base::Status changed = call.served.controller.lease_manager().apply(command);
  if (changed.ok()) return get_leases(call);
  // The request is as it should be: what is against it is the state of things.
  return problem(changed.error().kind == base::ErrorKind::kNotFound ? 404 : 409, changed.message());
}

HttpResponse get_metrics(const Call& call) {
  if (!call.served.facts.rights.may_all(call.peer)) {
    return problem(403,
                   "metrics name the programs of all users: only root and the admins of this "
                   "daemon may read them here");
  }
  HttpResponse response;
  response.body = call.served.metrics.page();
  response.type = kExpositionType;
  return response;
}

HttpResponse get_cluster(const Call& call) {
  return ok(cluster_json(call.served.cluster));
}

// Of the machine, as the daemon is: whoever may everything here.
HttpResponse change_cluster(const Call& call, const std::function<base::Status(Cluster&)>& change) {
  if (!call.served.facts.rights.may_all(call.peer)) return problem(403, kOnlyAdminsJoin);
  if (call.served.cluster == nullptr) return problem(409, kNoClusterHere);
  const base::Status changed = change(*call.served.cluster);
  return changed.ok() ? get_cluster(call) : problem(changed.error());
}

HttpResponse post_join(const Call& call) {
  const base::Result<ClusterOptions> options = cluster_options_in(call.body, call.peer);
  if (!options.ok()) return problem(options.error());
  return change_cluster(call, [&](Cluster& cluster) { return cluster.join(options.value()); });
}

HttpResponse get_plans(const Call& call) {
  Json json = plans_json(call.served.cluster, [&](unsigned owner) {
    return call.served.facts.rights.may(call.peer, owner);
  });
  // They name jobs of others too.
  if (!call.served.facts.rights.may_all(call.peer)) json[field::kMessages] = Json::array();
  return ok(json);
}

// Of whoever asks, as the kernel says it.
HttpResponse post_plan(const Call& call) {
  if (!call.served.facts.rights.may(call.peer, call.peer.uid)) return problem(403, kNobodysOwn);
  if (call.served.cluster == nullptr) return problem(409, kNoClusterHere);
  const base::Status taken = take_plan(*call.served.cluster, call.body, call.peer);
  return taken.ok() ? get_plans(call) : problem(taken.error());
}

HttpResponse post_publication(const Call& call) {
  if (!call.served.facts.rights.may(call.peer, call.peer.uid)) return problem(403, kNobodysOwn);
  if (call.served.cluster == nullptr) return problem(409, kNoClusterHere);
  const base::Result<Json> answer = publish_plan(*call.served.cluster, call.body, call.peer);
  return answer.ok() ? ok(answer.value()) : problem(answer.error());
}

HttpResponse delete_cluster(const Call& call) {
  return change_cluster(call, [](Cluster& cluster) { return cluster.leave(); });
}

struct Route {
  const char* method;
  const char* path;
  HttpResponse (*handler)(const Call&);
  std::span<const char* const> parameters{};
  std::span<const Member> members{};  // of the body; a route without any takes none
};

constexpr Route kRoutes[] = {
    {"GET", "/v1/status", get_status},
    {"GET", "/v1/clients", get_clients},
    {"GET", "/v1/clients/{id}", get_client},
    {"GET", "/v1/ops", get_ops, kClientParameter},
    {"GET", "/v1/ops/{id}/explain", get_explanation, kClientParameter},
    {"GET", "/v1/machine", get_machine},
    {"GET", "/v1/runs/{run_id}/report", get_report},
    {"POST", "/v1/launch", post_launch, {}, kLaunchMembers},
    {"POST", "/v1/undo", post_undo, {}, kUndoMembers},
    {"GET", "/v1/leases", get_leases},
    {"POST", "/v1/leases", post_lease, {}, kLeaseMembers},
    {"GET", "/v1/cluster", get_cluster},
    {"DELETE", "/v1/cluster", delete_cluster},
    {"POST", "/v1/cluster/join", post_join, {}, kJoinMembers},
    {"GET", "/v1/cluster/plans", get_plans},
    {"POST", "/v1/cluster/plans", post_plan, {}, kPlanMembers},
    {"POST", "/v1/cluster/publications", post_publication, {}, kPublicationMembers},
    {"GET", "/metrics", get_metrics},
};

HttpResponse answer_by(const Route& route, const Api::Served& served, std::string parameter,
                       const HttpRequest& request) {
  const std::string_view target = request.target;
  const std::size_t mark = std::min(target.find('?'), target.size() - 1);
  base::Result<Query> query = parse_query(target.substr(mark + 1), route.parameters);
  if (!query.ok()) return problem(400, query.message());
  Call call = {served, std::move(parameter), std::move(query).value(), nullptr, request.peer};
  if (route.members.empty() && !request.body.empty()) {
    return problem(400, "this route takes no body");
  }
  if (!route.members.empty()) {
    if (!is_json_type(request.content_type)) {
      return problem(415, "the body has to be JSON: Content-Type: application/json");
    }
    base::Result<Json> body = parse_body(request.body, route.members);
    if (!body.ok()) return problem(400, body.message());
    call.body = std::move(body).value();
  }
  try {
    return route.handler(call);
  } catch (const Json::exception& error) {  // the JSON library's way to say so
    return problem(400, std::string("the request cannot be used: ") + error.what());
  }
}

}  // namespace

std::vector<Api::RouteName> Api::routes() {
  std::vector<RouteName> names;
  for (const Route& route : kRoutes) names.push_back({route.method, route.path});
  return names;
}

Api::Api(Controller& controller, DaemonMetrics& metrics, DaemonFacts facts,
         std::function<uint64_t()> monotonic_ns, Cluster* cluster)
    : served_{controller, metrics, std::move(facts), std::move(monotonic_ns), cluster} {}

HttpResponse Api::answer(const HttpRequest& request) {
  const std::string_view target = request.target;
  const std::size_t mark = std::min(target.find('?'), target.size());
  const std::string_view path = target.substr(0, mark);
  std::string parameter;
  std::string allowed;
  for (const Route& route : kRoutes) {
    if (!fits(route.path, path, parameter)) continue;
    if (request.method == route.method)
      return answer_by(route, served_, std::move(parameter), request);
    allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
  }
  if (allowed.empty()) return problem(404, "there is nothing at this path");
  HttpResponse response = problem(405, "use " + allowed + " here");
  response.allow = allowed;
  return response;
}

}  // namespace optile::daemon
