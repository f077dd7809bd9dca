#include "bindings/cli/support/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace optile::cli {
namespace fs = std::filesystem;
namespace {

constexpr int kMostLinks = 40;  // as the kernel's

base::Error cannot(const std::string& path, int why) {
  return base::errno_error(path + " cannot be written", why);
}

// Where the text ends up, and whether it is a file that is replaced.
struct Target {
  std::string path;  // behind links
  bool replaced = false;
};

Target target_of(const std::string& path) {
  std::error_code ignored;
  const fs::file_status found = fs::status(path, ignored);
  Target target{path,
                !path.starts_with("/dev/") && (!fs::exists(found) || fs::is_regular_file(found))};
  if (!target.replaced) return target;
  // A link may lead to what is not there yet.
  fs::path end = path;
  for (int links = 0; links < kMostLinks && fs::is_symlink(end, ignored); ++links) {
    end = end.parent_path() / fs::read_symlink(end, ignored);
  }
  target.path = end.string();
  return target;
}

}  // namespace

base::Status may_be_written(const std::string& path) {
  const Target target = target_of(path);
  if (!target.replaced) {
    std::error_code ignored;
    if (fs::is_directory(target.path, ignored)) return cannot(path, EISDIR);
    return access(target.path.c_str(), W_OK) == 0 ? base::Status() : cannot(path, errno);
  }
  std::string folder = fs::path(target.path).parent_path().string();
  if (folder.empty()) folder = ".";
  if (access(folder.c_str(), F_OK) != 0) return cannot(path, errno);
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return cannot(path, ENOTDIR);
  return access(folder.c_str(), W_OK | X_OK) == 0 ? base::Status() : cannot(path, errno);
}

base::Status write_output(const std::string& path, const std::string& text) {
  const Target target = target_of(path);
  const std::string part =
      target.replaced ? target.path + ".part" + std::to_string(getpid()) : target.path;
  const auto failed = [&] {
    const int why = errno;
    if (target.replaced) unlink(part.c_str());
    return cannot(path, why);
  };
  std::ofstream file(part, std::ios::binary | (target.replaced ? std::ios::trunc : std::ios::app));
  file << text;
  file.close();
  if (!file) return failed();
  if (target.replaced && std::rename(part.c_str(), target.path.c_str()) != 0) return failed();
  return {};
}

}  // namespace optile::cli
