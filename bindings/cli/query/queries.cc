#include "bindings/cli/query/queries.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <string_view>
#include <utility>

#include "base/daemon_choice.h"
#include "base/program_name.h"
#include "bindings/abi/api_fields.h"
#include "bindings/cli/query/explanation.h"
#include "bindings/cli/query/lease_commands.h"
#include "bindings/cli/support/child_process.h"
#include "bindings/cli/support/http_client.h"
#include "bindings/cli/support/json_fields.h"

namespace optile::cli {
namespace {

constexpr std::chrono::milliseconds kAnswerPatience(3000);
constexpr const char* kRefused = "the daemon refused to answer; its log says why";

std::string target_of(const Options& options) {
  const std::string client =
      options.query.client.empty() ? "" : "?client=" + path_component(options.query.client);
  if (changes_a_lease(options.verb)) return "/v1/leases";
  switch (options.verb) {
    case Verb::kLeases:
      return "/v1/leases";
    case Verb::kOps:
      return "/v1/ops" + client;
    case Verb::kExplain:
      return "/v1/ops/" + path_component(options.query.op) + "/explain" + client;
    case Verb::kMachine:
      return "/v1/machine";
    case Verb::kUndo:
      return "/v1/undo";
    case Verb::kMetrics:
      return "/metrics";
    default:
      return "/v1/status";
  }
}

void print_status(const Json& status) {
  std::printf("optiled %s%s, pid %d, up %.0f s\n", text_of(status, field::kVersion).c_str(),
              status.value(field::kSystem, false) ? " of the machine" : "",
              static_cast<int>(number_of(status, field::kPid)),
              number_of(status, field::kUptimeSeconds));
  const Json store = status.value(field::kStore, Json::object());
  std::printf("store    %s (%s)\n", text_of(store, field::kPath, "none").c_str(),
              text_of(store, field::kState).c_str());
  if (!text_of(store, field::kMessage).empty())
    std::printf("         %s\n", text_of(store, field::kMessage).c_str());
  const Json machine = status.value(field::kMachine, Json::object());
  const Json budget = status.value(field::kBudget, Json::object());
  std::printf("machine  %s\n", text_of(machine, field::kName).c_str());
  std::printf("budget   %s cores%s%s\n", text_of(budget, field::kCores).c_str(),
              text_of(budget, field::kLimitedBy).empty() ? "" : ", limited by ",
              text_of(budget, field::kLimitedBy).c_str());
  const Json clients = status.value(field::kClients, Json::array());
  if (clients.empty()) std::printf("clients  none\n");
  for (const Json& client : clients) {
    const std::string id = text_of(client, field::kId);
    const std::string pid = text_of(client, field::kPid);
    const std::string program = text_of(client, field::kProgram);
    if (client.value(field::kWholeProgram, false)) {
      std::printf("client %s  pid %s  whole program  %s\n", id.c_str(), pid.c_str(),
                  program.c_str());
      continue;
    }
    std::printf("client %s  pid %s  %-11s %s steps  %s\n", id.c_str(), pid.c_str(),
                text_of(client, field::kPhase).c_str(), text_of(client, field::kSteps).c_str(),
                program.c_str());
  }
}

// Of the time that the ops of the same client take in a step.
void add_shares(Json& ops) {
  std::map<double, double> seconds;  // by client
  for (const Json& op : ops)
    seconds[number_of(op, field::kClient)] += number_of(op, field::kSeconds);
  for (Json& op : ops) {
    const double all = seconds[number_of(op, field::kClient)];
    op[field::kShare] = all > 0 ? number_of(op, field::kSeconds) / all : 0;
  }
}

void print_ops(const Json& answer) {
  Json ops = answer.value(field::kOps, Json::array());
  if (ops.empty()) {
    std::printf("no ops: no program that the daemon remembers has run a whole step\n");
    return;
  }
  add_shares(ops);
  std::stable_sort(ops.begin(), ops.end(), [](const Json& a, const Json& b) {
    return number_of(a, field::kShare) > number_of(b, field::kShare);
  });
  std::printf("%-34s %6s  %5s %5s  %s\n", "op id", "share", "width", "own", "op: why");
  for (const Json& op : ops) {
    const bool backward = text_of(op, field::kDirection) == "backward";
    std::printf("%-34s %5.1f%%  %5s %5s  %s %s%s: %s\n", text_of(op, field::kId).c_str(),
                100 * number_of(op, field::kShare), text_of(op, field::kWidth, "-").c_str(),
                text_of(op, field::kDefaultWidth, "-").c_str(), text_of(op, field::kName).c_str(),
                text_of(op, field::kShape).c_str(), backward ? " backward" : "",
                text_of(op, field::kReason).c_str());
  }
}

// The daemon names what its API has; here the same is a command.
std::string with_commands(std::string message) {
  constexpr std::pair<std::string_view, const char*> kCommands[] = {
      {"see /v1/ops", "see optile ops"}, {"see /v1/clients", "see optile status"}};
  for (const auto& [api, command] : kCommands) {
    if (message.ends_with(api))
      return message.replace(message.size() - api.size(), api.size(), command);
  }
  return message;
}

std::string body_of(const Options& options) {
  if (changes_a_lease(options.verb)) {
    return lease_request(options).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  if (options.verb != Verb::kUndo) return "";
  Json body = Json::object();
  if (options.query.all) body[field::kAll] = true;
  if (!options.query.client.empty())
    body[field::kClient] = std::strtoull(options.query.client.c_str(), nullptr, 10);
  if (!options.query.program.empty()) body[field::kProgram] = options.query.program;
  if (!options.query.op.empty()) body[field::kOp] = options.query.op;
  if (options.query.revoke) body[field::kRevoke] = true;
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void print_undone(const Options& options, const Json& answer) {
  const std::string program = text_of(answer, field::kProgram);
  if (answer.value(field::kRevoked, false)) {
    std::printf("later runs of %s are tuned again; running programs stay as they are\n",
                program.empty() ? "every program" : program.c_str());
    return;
  }
  const Json clients = list_of(answer, field::kClients);
  for (const Json& client : clients) {
    std::printf("client %s  pid %s  %s: %s at the program's default width again\n",
                text_of(client, field::kId).c_str(), text_of(client, field::kPid).c_str(),
                text_of(client, field::kProgram).c_str(),
                options.query.op.empty() ? "every op is" : "the op is");
    const std::string launch = text_of(client, field::kLaunchPlan);
    if (options.query.op.empty() && !launch.empty()) {
      std::printf("  its launch plan (%s) stays until it ends\n", launch.c_str());
    }
  }
  if (clients.empty())
    std::printf("%s is not running now\n", program.empty() ? "no program" : program.c_str());
  std::printf("%.0f places ran at another width until now\n", number_of(answer, field::kOps));
  if (options.query.op.empty()) {
    std::printf(
        "later runs keep the program's own settings; to tune them again: optile undo %s%s "
        "--revoke\n",
        program.empty() ? "--all" : "--program ", program.c_str());
  }
}

void print_answer(Verb verb, const Json& answer) {
  switch (verb) {
    case Verb::kStatus:
      print_status(answer);
      return;
    case Verb::kOps:
      print_ops(answer);
      return;
    case Verb::kLeases:
      std::fputs(lease_table(answer).c_str(), stdout);
      return;
    case Verb::kExplain:
      for (const Json& op : list_of(answer, field::kExplanations)) {
        std::fputs(explanation_text(op).c_str(), stdout);
      }
      if (number_of(answer, field::kMore) > 0) {
        std::printf("and %.0f more; name one by its id (optile ops)\n",
                    number_of(answer, field::kMore));
      }
      return;
    default:
      std::printf("%s\n", answer.dump(2).c_str());
  }
}

int fail(const std::string& message) {
  std::cerr << "optile: " << message << "\n";
  return 1;
}

// Only who may send it a signal can end it; the kernel knows.
int stop_daemon(const Json& status) {
  const auto pid = static_cast<pid_t>(number_of(status, field::kPid));
  if (pid <= 1 || kill(pid, SIGTERM) != 0) {
    return fail("the daemon (pid " + std::to_string(pid) +
                ") cannot be ended: " + std::strerror(errno));
  }
  std::printf("optiled (pid %d) was asked to end\n", static_cast<int>(pid));
  return 0;
}

// Programs that attached before there was a system daemon are still there.
void point_to_own_daemon(const std::string& own) {
  if (base::try_connect(own) != 0) return;
  std::cerr << "optile: the system daemon answers; your own still runs too, and takes no new "
               "programs: --socket "
            << own << "\n";
}

// What answers a command that says nothing to undo: what there is.
int say_what_can_be_undone(const std::string& socket) {
  std::cerr
      << "optile: say what to undo: --program NAME, --client ID, --op OP (see optile ops), or "
         "--all for every program and all later runs; --revoke takes it back\n";
  const auto answer = ask_daemon(socket, "GET", "/v1/status", "", kAnswerPatience);
  if (!answer.ok()) return kOwnFailure;
  const Json json = Json::parse(answer.value().body, nullptr, false);
  for (const Json& client : list_of(json, field::kClients)) {
    std::cerr << "  client " << text_of(client, field::kId) << "  pid "
              << text_of(client, field::kPid) << "  " << text_of(client, field::kProgram) << "\n";
  }
  return kOwnFailure;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// The number of the client that is meant; a name has to be that of one program.
base::Result<std::string> client_number(const std::string& socket, const std::string& named) {
  if (named.empty() || is_number(named)) return named;
  const auto answer = ask_daemon(socket, "GET", "/v1/clients", "", kAnswerPatience);
  if (!answer.ok()) return answer.error();
  const Json json = Json::parse(answer.value().body, nullptr, false);
  std::vector<std::string> running;
  std::string latest;  // of those that have ended
  std::string list;
  for (const Json& client : list_of(json, field::kClients)) {
    if (!base::is_program_called(text_of(client, field::kProgram), named)) continue;
    const std::string id = text_of(client, field::kId);
    if (text_of(client, field::kState) == "finished") {
      if (latest.empty()) latest = id;
      continue;
    }
    running.push_back(id);
    list += (list.empty() ? "" : ", ") + id + " (pid " + text_of(client, field::kPid) + ")";
  }
  if (running.size() == 1) return running.front();
  if (running.empty() && !latest.empty()) return latest;
  return base::Error{
      base::ErrorKind::kNotFound,
      running.empty() ? "no program called " + named + " is known; see optile status"
                      : "several clients run " + named + ": " + list + "; name one by its number"};
}

}  // namespace

int answer_query(const Options& given) try {
  Options options = given;
  const base::RuntimeEnvironment environment = base::runtime_environment();
  const base::DaemonChoice choice = base::choose_daemon(environment, options.socket);
  const std::string socket = std::filesystem::absolute(choice.socket).string();
  if (choice.system && environment.socket.empty() && options.socket.empty()) {
    point_to_own_daemon(base::default_socket_path(environment));
  }
  if (options.verb == Verb::kUndo && !options.query.names_what_to_undo()) {
    return say_what_can_be_undone(socket);
  }
  const base::Result<std::string> number = client_number(socket, options.query.client);
  if (!number.ok()) return fail(number.message());
  options.query.client = number.value();
  const std::string body = body_of(options);
  const auto answer =
      ask_daemon(socket, body.empty() ? "GET" : "POST", target_of(options), body, kAnswerPatience);
  if (!answer.ok()) return fail(answer.message());
  const Json json = Json::parse(answer.value().body, nullptr, false);
  if (answer.value().status != 200) {
    const Json error = json.is_object() ? json.value(field::kError, Json()) : Json();
    return fail(
        with_commands(error.is_object() ? text_of(error, field::kMessage, kRefused) : kRefused));
  }
  if (options.verb == Verb::kMetrics) {
    std::fputs(answer.value().body.c_str(), stdout);
    return 0;
  }
  if (!json.is_object())
    return fail("the daemon's answer cannot be read; ask with --json for more");
  if (options.verb == Verb::kStop) return stop_daemon(json);
  if (options.json) {
    std::printf("%s\n", json.dump(2).c_str());
  } else if (options.verb == Verb::kUndo) {
    print_undone(options, json);
  } else if (changes_a_lease(options.verb)) {
    const uint64_t client = std::strtoull(options.query.client.c_str(), nullptr, 10);
    std::fputs(lease_line(json, client).c_str(), stdout);
  } else {
    print_answer(options.verb, json);
  }
  return 0;
} catch (const Json::exception&) {  // a field of another kind than ours
  return fail("the daemon's answer cannot be read; it may be of another version: optile stop");
} catch (const std::filesystem::filesystem_error& error) {
  return fail(error.what());
}

}  // namespace optile::cli
