// A control group of its own for one test, whose processes can be frozen, where this user may make
// one: version 1's or version 2's.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace optile::daemon {

class FrozenGroup {
 public:
  FrozenGroup() {
    const std::string name = "optile-test-" + std::to_string(getpid());
    for (const char* mount : {"freezer", "unified", ""}) {
      const std::filesystem::path root = std::filesystem::path("/sys/fs/cgroup") / mount;
      std::error_code failed;
      if (!exists(root / "cgroup.procs", failed) || !create_directory(root / name, failed))
        continue;
      path_ = root / name;
      const bool first = exists(path_ / "freezer.state", failed);
      file_ = path_ / (first ? "freezer.state" : "cgroup.freeze");
      frozen_ = first ? "FROZEN" : "1";
      thawed_ = first ? "THAWED" : "0";
      if (exists(file_, failed)) return;
      rmdir(path_.c_str());
      path_.clear();
    }
  }
  // Its processes have ended by then.
  ~FrozenGroup() {
    if (!path_.empty()) rmdir(path_.c_str());
  }
  FrozenGroup(const FrozenGroup&) = delete;
  FrozenGroup& operator=(const FrozenGroup&) = delete;

  bool take(int pid) const { return !path_.empty() && write(path_ / "cgroup.procs", pid); }
  void freeze() const { write(file_, frozen_); }
  void thaw() const { write(file_, thawed_); }

 private:
  template <typename Text>
  static bool write(const std::filesystem::path& file, const Text& text) {
    std::ofstream stream(file);
    stream << text << std::flush;
    return stream.good();
  }

  std::filesystem::path path_;
  std::filesystem::path file_;
  std::string frozen_;
  std::string thawed_;
};

}  // namespace optile::daemon
