#include "bindings/cli/cluster/cluster_question.h"

#include <chrono>
#include <filesystem>
#include <iostream>

#include "base/daemon_choice.h"
#include "base/runtime_path.h"
#include "bindings/abi/api_fields.h"
#include "bindings/cli/support/http_client.h"
#include "bindings/cli/top/shown_text.h"

namespace optile::cli {
namespace {

constexpr std::chrono::milliseconds kClusterPatience{3000};

}  // namespace

std::string socket_of(const Options& options) {
  const base::RuntimeEnvironment environment = base::runtime_environment();
  return std::filesystem::absolute(base::choose_daemon(environment, options.socket).socket)
      .string();
}

base::Result<Json> ask_about_cluster(const std::string& socket, const char* method,
                                     const char* target, const std::string& body) {
  const auto answer = ask_daemon(socket, method, target, body, kClusterPatience);
  if (!answer.ok()) return answer.error();
  Json json = Json::parse(answer.value().body, nullptr, false);
  if (!json.is_object()) {
    return base::Error{base::ErrorKind::kUnavailable,
                       "the daemon's answer cannot be read; it may be of another version: "
                       "optile stop"};
  }
  if (answer.value().status == 200) return json;
  const Json error = json.value(field::kError, Json::object());
  return base::Error{base::ErrorKind::kUnavailable,
                     text_of(error, field::kMessage, "the daemon refuses; its log says why")};
}

std::string messages_of(const Json& answer) {
  std::string text;
  for (const Json& one : list_of(answer, field::kMessages)) {
    if (one.is_string()) text += (text.empty() ? "" : "; ") + shown(one.get<std::string>(), false);
  }
  return text;
}

int report_failure(const std::string& message) {
  std::cerr << "optile: " << message << "\n";
  return 1;
}

}  // namespace optile::cli
