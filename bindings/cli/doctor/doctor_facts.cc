#include "bindings/cli/doctor/doctor_facts.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/runtime_path.h"
#include "base/text_file.h"
#include "bindings/abi/api_fields.h"
#include "bindings/abi/frames.h"
#include "bindings/cli/run/daemon_start.h"
#include "bindings/cli/support/elf_file.h"
#include "bindings/cli/support/http_client.h"
#include "optile_version.h"

namespace optile::cli {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::json;

constexpr std::chrono::milliseconds kPatience(1000);
constexpr int kCapSysAdmin = 21;
constexpr int kCapPerfmon = 38;

std::string first_line(const std::string& path) {
  const std::string text = base::read_text_file(path).value_or("");
  return text.substr(0, text.find('\n'));
}

// The processor's own counters are a device called cpu, cpu_core or armv8_pmuv3_0.
bool offers_pmu(const std::string& root) {
  std::error_code ignored;
  for (const auto& device :
       fs::directory_iterator(root + "/sys/bus/event_source/devices", ignored)) {
    const std::string name = device.path().filename().string();
    if (name.starts_with("cpu") || name.starts_with("armv8_pmu")) return true;
  }
  return false;
}

bool has_capability(const std::string& root, int number) {
  const std::string status = base::read_text_file(root + "/proc/self/status").value_or("");
  const std::size_t at = status.find("CapEff:");
  if (at == std::string::npos) return false;
  const unsigned long long all = std::strtoull(status.c_str() + at + 7, nullptr, 16);
  return ((all >> number) & 1) != 0;
}

std::string if_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? path : "";
}

// The daemon makes the last folder itself: the nearest one that is there counts.
bool can_write(const std::string& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored)) return access(path.c_str(), R_OK | W_OK) == 0;
  fs::path folder = fs::path(path).parent_path();
  while (!folder.empty() && folder != folder.root_path() && !fs::exists(folder, ignored)) {
    folder = folder.parent_path();
  }
  return access(folder.c_str(), W_OK | X_OK) == 0;
}

std::string word(const Json& object, const char* key) {
  const Json value = object.is_object() ? object.value(key, Json()) : Json();
  return value.is_string() ? value.get<std::string>() : "";
}

void read_answer(const std::string& body, DaemonFacts& facts) {
  const Json status = Json::parse(body, nullptr, false);
  facts.version = word(status, field::kVersion);
  const Json store = status.is_object() ? status.value(field::kStore, Json()) : Json();
  facts.store = word(store, field::kPath);
  facts.store_state = word(store, field::kState);
  facts.store_message = word(store, field::kMessage);
}

// For PyTorch of a wheel.
std::optional<BridgeState> bridge_of(const std::string& torch_folder) {
  const auto wheel = read_torch_wheel(torch_folder);
  if (torch_folder.empty() || !wheel.ok()) return std::nullopt;
  return look_at_bridge(wheel.value());
}

}  // namespace

MachineFacts read_machine_facts(const std::string& root) {
  MachineFacts facts;
  const auto machine = perfmodel::make_machine_source("host")->read();
  if (machine.ok()) {
    facts.cores = static_cast<int>(machine.value().cores.size());
    facts.tiles = static_cast<int>(machine.value().tiles.size());
    facts.budget = perfmodel::read_budget(machine.value(), {root, 0});
  } else {
    facts.error = machine.message();
  }
  facts.governor = first_line(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  const std::string processor = base::read_text_file(root + "/proc/cpuinfo").value_or("");
  facts.is_virtual = processor.find(" hypervisor") != std::string::npos;
  facts.has_pmu = offers_pmu(root);
  const std::string paranoid = first_line(root + "/proc/sys/kernel/perf_event_paranoid");
  if (!paranoid.empty()) facts.paranoid = std::atoi(paranoid.c_str());
  facts.may_count_kernel = has_capability(root, kCapPerfmon) || has_capability(root, kCapSysAdmin);
  return facts;
}

InstalledFacts read_installed_facts(const std::string& shim, const std::string& daemon,
                                    const LibrarySearch& search) {
  InstalledFacts facts;
  facts.shim = shim;
  facts.daemon = access(daemon.c_str(), X_OK) == 0 ? daemon : "";
  facts.libomp = search.find("libomp.so.5");
  if (shim.empty()) return facts;
  const std::string folder = base::parent_directory(shim);
  facts.counters = if_there(folder + "/liboptile_counters.so");
  facts.itt_collector = if_there(folder + "/liboptile_itt.so");
  facts.bridge = if_there(folder + "/liboptile_torch_bridge.so");
  const auto bridge = read_elf_file(facts.bridge, ElfSymbols::kNone);
  if (!bridge.ok()) return facts;
  for (const std::string& needed : bridge.value().needed) {
    if (needed.starts_with("libtorch_cpu.so")) facts.bridge_torch = needed;
  }
  return facts;
}

DaemonFacts read_daemon_facts(const std::string& socket, const std::string& store) {
  DaemonFacts facts;
  facts.socket = socket;
  facts.store = store;
  facts.own_version = OPTILE_VERSION;
  const base::RuntimeEnvironment environment = base::runtime_environment();
  facts.runtime_dir = environment.xdg_runtime_dir;
  base::RuntimeEnvironment without = environment;
  without.socket.clear();
  facts.runtime_dir_usable =
      base::default_socket_path(without).starts_with(facts.runtime_dir + "/");
  const base::Status fits = base::check_socket_path(socket, sizeof OPTILE_ATTACH_SUFFIX - 1);
  if (!fits.ok()) facts.socket_error = fits.message();
  if (facts.socket_error.empty() && !can_write(socket)) {
    facts.socket_error = "you may not write to " + base::parent_directory(socket);
  }
  const auto answer = ask_daemon(socket, "GET", "/v1/status", "", kPatience);
  if (answer.ok() && answer.value().status == 200) {
    facts.state = DaemonFacts::State::kAnswers;
    read_answer(answer.value().body, facts);
  } else if (answer.ok() || answer.error().kind == base::ErrorKind::kUnavailable) {
    facts.state = DaemonFacts::State::kSilent;
  } else if (answer.error().kind == base::ErrorKind::kDenied) {
    facts.state = DaemonFacts::State::kDenied;
  }
  facts.store_writable = facts.store == kMemoryStore || can_write(facts.store);
  return facts;
}

ProgramFacts read_program_facts(const std::vector<std::string>& command, const Variables& now) {
  ProgramFacts facts;
  facts.name = command.front();
  const auto target = look_at_program(command);
  if (!target.ok()) {
    facts.error = target.message();
    return facts;
  }
  facts.target = target.value();
  const std::string torch = find_torch_folder(facts.target.executable, value_of(now, "HOME"),
                                              value_of(now, "PYTHONPATH"));
  const LibrarySearch search(value_of(now, "LD_LIBRARY_PATH"), libraries_of_torch(torch));
  facts.objects = look_at_objects(facts.target, search, torch);
  facts.bridge = bridge_of(torch);
  return facts;
}

}  // namespace optile::cli
