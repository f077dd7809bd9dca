// The kernel's files that a budget is read from, with anything in them: inside a container somebody
// else may have mounted them.
#include <filesystem>
#include <fstream>

#include "perfmodel/machine/budget.h"
#include "tests/daemon/fixtures/temporary_directory.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using optile::fuzz::Bytes;
using optile::fuzz::require;

constexpr const char* kFiles[] = {"proc/self/status",
                                  "proc/self/cgroup",
                                  "sys/fs/cgroup/a/cpu.max",
                                  "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us",
                                  "sys/fs/cgroup/cpu.max",
                                  "sys/fs/cgroup/cpu/a/cpu.cfs_period_us",
                                  "sys/devices/system/cpu/online"};

class Root {
 public:
  Root() : machine_(optile::perfmodel::make_machine_source("core:8 pu:2")->read().value()) {
    for (const char* file : kFiles) {
      std::filesystem::create_directories(std::filesystem::path(at(file)).parent_path());
    }
  }
  void write(const char* file, const std::string& text) {
    std::ofstream(at(file), std::ios::binary) << text;
  }
  optile::perfmodel::Budget read() const {
    return optile::perfmodel::read_budget(machine_, {directory_.path(), 0});
  }

 private:
  std::string at(const char* file) const { return directory_ / file; }
  optile::daemon::TemporaryDirectory directory_;
  optile::perfmodel::Machine machine_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static Root root;
  Bytes bytes(data, size);
  for (const char* file : kFiles) root.write(file, bytes.text(bytes.take<uint16_t>()));
  const optile::perfmodel::Budget budget = root.read();
  require(budget.cores >= 1 && budget.cores <= 8, "cores of this machine");
  require(budget.quota_cores >= 0, "a quota is a number");
  require(budget.units.size() <= 16, "units of this machine");
  return 0;
}

std::vector<std::string> optile::fuzz::seeds() {
  const auto files = [](std::initializer_list<std::string> texts) {
    Script script;
    for (const std::string& text : texts) {
      script.put(static_cast<uint16_t>(text.size())).text(text);
    }
    return script.bytes();
  };
  const std::string status = "Name:\tx\nCpus_allowed_list:\t0-3,8,65535\nMems_allowed:\t1\n";
  return {
      files({status, "0::/a\n", "150000 100000\n", "-1\n", "max 100000\n", "100000\n", "0-15\n"}),
      files({status, "4:cpu,cpuacct:/a/b/../c\n0::/a\n", "1e300 1", "inf", "nan 1e-300", "1e-300",
             "0-65535,0-65535,0-65535"}),
      files({"Cpus_allowed_list:", ":::", "", "", "", "", "-"})};
}
