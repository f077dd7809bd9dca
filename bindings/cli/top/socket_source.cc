#include <algorithm>
#include <chrono>
#include <sstream>
#include <utility>

#include "bindings/abi/api_fields.h"
#include "bindings/cli/query/explanation.h"
#include "bindings/cli/support/http_client.h"
#include "bindings/cli/top/client_table.h"
#include "bindings/cli/top/shown_text.h"
#include "bindings/cli/top/top_source.h"

namespace optile::cli {
namespace {

constexpr std::chrono::milliseconds kPatience(1000);
constexpr std::size_t kMostExplained = 5;  // ops of a client
constexpr const char* kUnreadable =
    "the daemon's answer cannot be read; it may be of another version: optile stop";

class SocketSource : public TopSource {
 public:
  SocketSource(std::string socket, bool utf8) : socket_(std::move(socket)), utf8_(utf8) {}

  base::Result<Snapshot> look() override {
    base::Result<Json> status = ask("/v1/status");
    if (!status.ok()) return status.error();
    base::Result<Json> leases = ask("/v1/leases");
    if (!leases.ok()) return leases.error();
    answers_.status = std::move(status).value();
    answers_.leases = std::move(leases).value();
    // The machine stays the same as long as the daemon.
    const Json daemon = answers_.status.value(field::kPid, Json());
    if (answers_.machine.is_null() || daemon != daemon_) {
      base::Result<Json> machine = ask("/v1/machine");
      if (!machine.ok()) return machine.error();
      answers_.machine = std::move(machine).value();
      daemon_ = daemon;
    }
    return read_snapshot(answers_, utf8_);
  }

  base::Status issue(const Json& command) override {
    const std::string body = command.dump(-1, ' ', false, Json::error_handler_t::replace);
    return ask("/v1/leases", "POST", body).status();
  }

  base::Result<std::vector<std::string>> explain(const ClientSeen& client) override try {
    std::vector<std::string> lines = {
        "client " + std::to_string(client.id) + ", pid " + std::to_string(client.pid) + ": " +
            client.command,
        "lease: " + (client.leased ? client.reason : "none; it runs where the kernel puts it"),
        "now: " + phase_text(client) + "; " + doing_text(client), ""};
    const std::string of_client = "?client=" + std::to_string(client.id);
    const base::Result<Json> answer = ask("/v1/ops" + of_client);
    if (!answer.ok()) return answer.error();
    std::vector<Json> ops = list_of(answer.value(), field::kOps);
    std::stable_sort(ops.begin(), ops.end(), [](const Json& a, const Json& b) {
      return number_of(a, field::kSeconds) > number_of(b, field::kSeconds);
    });
    if (ops.empty()) {
      lines.emplace_back("no ops yet: it has not run a whole step");
      return lines;
    }
    const std::size_t count = std::min(ops.size(), kMostExplained);
    lines.push_back("its longest ops (" + std::to_string(count) + " of " +
                    std::to_string(ops.size()) + "; optile ops has all):");
    for (std::size_t i = 0; i < count; ++i) {
      const base::Result<Json> one =
          ask("/v1/ops/" + path_component(text_of(ops[i], field::kId)) + "/explain" + of_client);
      if (!one.ok()) return one.error();
      for (const Json& op : list_of(one.value(), field::kExplanations)) add_lines(op, lines);
    }
    return lines;
  } catch (const Json::exception&) {
    return base::Error{base::ErrorKind::kInvalid, kUnreadable};
  }

 private:
  void add_lines(const Json& op, std::vector<std::string>& lines) const {
    std::istringstream text(explanation_text(op));
    for (std::string line; std::getline(text, line);) lines.push_back(shown(line, utf8_));
    lines.emplace_back();
  }

  // An object, or why there is none, in words that can be shown.
  base::Result<Json> ask(const std::string& target, const std::string& method = "GET",
                         const std::string& body = "") const {
    const auto answer = ask_daemon(socket_, method, target, body, kPatience);
    if (!answer.ok()) return answer.error();
    Json json = Json::parse(answer.value().body, nullptr, false);
    if (!json.is_object()) return base::Error{base::ErrorKind::kInvalid, kUnreadable};
    if (answer.value().status == 200) return json;
    const Json error = json.value(field::kError, Json());
    const std::string message = error.is_object() ? text_of(error, field::kMessage) : "";
    return base::Error{
        base::ErrorKind::kInvalid,
        message.empty() ? "the daemon refused to answer; its log says why" : shown(message, utf8_)};
  }

  std::string socket_;
  bool utf8_;
  Answers answers_;
  Json daemon_;
};

}  // namespace

std::unique_ptr<TopSource> make_socket_source(std::string socket, bool utf8) {
  return std::make_unique<SocketSource>(std::move(socket), utf8);
}

}  // namespace optile::cli
