#include "bindings/cli/bridge/bridge_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text_file.h"

namespace optile::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFailedSuffix = ".failed";

std::string failure_path(const std::string& folder, const std::string& name) {
  return folder + "/" + name + kFailedSuffix;
}

// Readable by the user alone, on the disk before it gets its name.
base::Status seal(const std::string& path) {
  const base::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid() || fchmod(file.get(), 0600) != 0 || fsync(file.get()) != 0) {
    return base::errno_error("cannot keep " + path, errno);
  }
  return {};
}

base::Result<std::string> checksum_of(const std::string& path) {
  const base::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  char text[base::Sha256::kTextBytes];
  if (!file.valid() || !base::bridge_file::sum_file(file.get(), text)) {
    return base::errno_error("cannot read " + path, errno);
  }
  return std::string(text);
}

}  // namespace

std::string bridge_folder() {
  char folder[512];
  base::put_bridge_folder(folder, getenv("XDG_CACHE_HOME"), getenv("HOME"));
  return folder;
}

std::string bridge_name(const std::string& torch_version) {
  char name[160];
  base::put_bridge_name(name, torch_version.c_str());
  return name;
}

base::Status ensure_bridge_folder(const std::string& folder) {
  if (folder.empty()) {
    return base::Error{base::ErrorKind::kInvalid,
                       "there is no place for bridges: set HOME or XDG_CACHE_HOME"};
  }
  std::error_code failed;
  fs::create_directories(fs::path(folder).parent_path(), failed);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return base::errno_error("cannot make " + folder, errno);
  }
  struct stat found = {};
  const bool real = lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
  if (real && base::bridge_file::judge(found) == base::BridgeFault::kNone) return {};
  return base::Error{base::ErrorKind::kDenied,
                     folder +
                         " is no folder of yours that only you can write to: remove it, or "
                         "chmod go-w it"};
}

base::UniqueFd lock_bridge_folder(const std::string& folder) {
  base::UniqueFd lock(
      open((folder + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock.valid() && flock(lock.get(), LOCK_EX | LOCK_NB) != 0) lock.reset();
  return lock;
}

base::Status install_bridge(const std::string& built, const std::string& folder,
                            const std::string& name) {
  const base::Result<std::string> sum = checksum_of(built);
  if (!sum.ok()) return sum.status();
  const std::string digest = built + base::kDigestSuffix;
  std::ofstream(digest) << sum.value() << "  " << name << "\n";
  for (const std::string& file : {built, digest}) {
    base::Status sealed = seal(file);
    if (!sealed.ok()) return sealed;
  }
  const std::string target = folder + "/" + name;
  if (rename(digest.c_str(), (target + base::kDigestSuffix).c_str()) != 0 ||
      rename(built.c_str(), target.c_str()) != 0) {
    return base::errno_error("cannot put the bridge into " + folder, errno);
  }
  unlink(failure_path(folder, name).c_str());
  return {};
}

void note_failed_build(const std::string& folder, const std::string& name,
                       const std::string& reason) {
  std::ofstream(failure_path(folder, name)) << reason << "\n";
}

std::string failed_build(const std::string& folder, const std::string& name) {
  std::string text = base::read_text_file(failure_path(folder, name)).value_or("");
  while (text.ends_with("\n")) text.pop_back();
  return text;
}

WorkFolder::WorkFolder(const std::string& folder) : path_(folder + "/build-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) path_.clear();
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace optile::cli
