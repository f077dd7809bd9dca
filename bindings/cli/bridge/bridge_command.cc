#include "bindings/cli/bridge/bridge_command.h"

#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "bindings/cli/bridge/bridge_build.h"
#include "bindings/cli/bridge/bridge_state.h"
#include "bindings/cli/bridge/tool_run.h"
#include "bindings/cli/run/launch_environment.h"
#include "bindings/cli/run/target_program.h"

namespace optile::cli {
namespace fs = std::filesystem;
namespace {

using base::Error;
using base::ErrorKind;

constexpr const char* kWhereIsTorch =
    "import importlib.util as u; s = u.find_spec('torch'); "
    "print('folder=' + s.submodule_search_locations[0] if s else 'folder=')";

// Python knows best where it would find PyTorch; wrappers of version managers are seen through.
std::string ask_python(const std::string& python) {
  const base::Result<ToolEnd> end = run_tool({python, "-c", kWhereIsTorch});
  if (!end.ok() || !end.value().succeeded) return "";
  const std::string& output = end.value().output;
  const std::size_t at = output.rfind("folder=");
  if (at == std::string::npos) return "";
  const std::string folder = output.substr(at + 7);
  return folder.substr(0, folder.find('\n'));
}

base::Result<std::string> torch_folder(const BridgeOptions& wanted) {
  if (!wanted.torch.empty()) return fs::absolute(wanted.torch).lexically_normal().string();
  const std::string python = wanted.python.empty() ? "python3" : wanted.python;
  const auto target = look_at_program({python});
  if (!target.ok()) return target.error();
  std::string folder = ask_python(target.value().path);
  const Variables now = environment_now();
  if (folder.empty()) {
    folder =
        find_torch_folder(target.value().path, value_of(now, "HOME"), value_of(now, "PYTHONPATH"));
  }
  if (!folder.empty()) return folder;
  return Error{ErrorKind::kNotFound,
               target.value().path +
                   " has no PyTorch: name a Python that has, with --python, or "
                   "PyTorch's folder, with --torch"};
}

int check(const TorchWheel& wheel) {
  const BridgeState state = look_at_bridge(wheel);
  const std::string advice = bridge_advice(state);
  std::cout << bridge_finding(state) << "\n";
  if (!advice.empty()) std::cout << "-> " << advice << "\n";
  return state.fault == base::BridgeFault::kNone ? 0 : 1;
}

int build(const TorchWheel& wheel, bool background) {
  if (background) setpriority(PRIO_PROCESS, 0, 19);
  const BridgeState before = look_at_bridge(wheel);
  const base::Status built = build_bridge(wheel, before.folder, before.compiler);
  if (!built.ok()) {
    std::cerr << "optile: " << built.message() << "\n";
    return 1;
  }
  std::cout << before.folder << "/" << before.name << "\n";
  return 0;
}

}  // namespace

int bridge(const Options& options) try {
  const base::Result<std::string> folder = torch_folder(options.bridge);
  const base::Result<TorchWheel> wheel =
      folder.ok() ? read_torch_wheel(folder.value()) : base::Result<TorchWheel>(folder.error());
  if (!wheel.ok()) {
    std::cerr << "optile: " << wheel.message() << "\n";
    return 1;
  }
  return options.verb == Verb::kBridgeBuild ? build(wheel.value(), options.bridge.background)
                                            : check(wheel.value());
} catch (const std::exception& error) {  // a library's surprise, memory
  std::cerr << "optile: " << error.what() << "\n";
  return 1;
}

}  // namespace optile::cli
