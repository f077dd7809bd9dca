#include "bindings/cli/bridge/bridge_build.h"

#include <filesystem>
#include <fstream>

#include "bindings/cli/bridge/bridge_cache.h"
#include "bindings/cli/bridge/bridge_sources.h"
#include "bindings/cli/bridge/compiler.h"
#include "bindings/cli/bridge/tool_run.h"

namespace optile::cli {
namespace fs = std::filesystem;
namespace {

using base::Error;
using base::ErrorKind;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

base::Status write_sources(const std::string& folder) {
  for (const BridgeSource& source : bridge_sources()) {
    const fs::path path = fs::path(folder) / source.path;
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    std::ofstream file(path, std::ios::binary);
    file << source.text;
    if (!file.flush()) {
      return Error{ErrorKind::kUnavailable,
                   "cannot write " + path.string() + ": is the disk full?"};
    }
  }
  return {};
}

base::Status why_impossible(const TorchWheel& wheel, const std::vector<std::string>& compiler) {
  if (compiler.empty()) {
    return Error{ErrorKind::kNotFound,
                 "there is no C++ compiler: install one (Debian: apt install g++) or name it with "
                 "CXX, then optile bridge build"};
  }
  if (!wheel.missing_headers.empty()) {
    return Error{
        ErrorKind::kNotFound,
        wheel.missing_headers + " is missing: install the wheel as it is, with its headers"};
  }
  return {};
}

base::Status compile(const TorchWheel& wheel, const std::string& folder,
                     const std::vector<std::string>& compiler) {
  const std::string name = bridge_name(wheel.version);
  const WorkFolder work(folder);
  if (work.path().empty()) {
    return Error{ErrorKind::kUnavailable, "cannot make a folder in " + folder};
  }
  base::Status written = write_sources(work.path());
  if (!written.ok()) return written;
  const std::string built = work.path() + "/bridge.so";
  const std::vector<std::string> command = compiler_command(compiler, wheel, work.path(), built);
  const base::Result<ToolEnd> end = run_tool(command);
  if (!end.ok()) return end.status();
  const std::string log = folder + "/" + name + ".log";
  std::ofstream(log) << joined(command) << "\n" << end.value().output;
  if (!end.value().succeeded) {
    return Error{ErrorKind::kInternal, compiler.front() +
                                           " could not build the bridge for PyTorch " +
                                           wheel.version + ": what it said is in " + log};
  }
  return install_bridge(built, folder, name);
}

}  // namespace

base::Status build_bridge(const TorchWheel& wheel, const std::string& folder,
                          const std::vector<std::string>& compiler) {
  base::Status place = ensure_bridge_folder(folder);
  if (!place.ok()) return place;
  const base::UniqueFd lock = lock_bridge_folder(folder);
  if (!lock.valid()) {
    return Error{ErrorKind::kUnavailable,
                 "another process is building a bridge in " + folder + ": wait for its end"};
  }
  base::Status built = why_impossible(wheel, compiler);
  if (built.ok()) built = compile(wheel, folder, compiler);
  if (!built.ok()) note_failed_build(folder, bridge_name(wheel.version), built.message());
  return built;
}

}  // namespace optile::cli
