// The doctor's facts from folders of files.
#include "bindings/cli/doctor/doctor_facts.h"

#include <gtest/gtest.h>

#include "tests/cli/bridge/fake_wheel.h"
#include "tests/cli/fixtures/elf_builder.h"
#include "tests/cli/fixtures/files.h"

namespace optile::cli {
namespace {

class DoctorFactsTest : public testing::Test {
 protected:
  std::string root() { return folder_ / "root"; }
  void file(const std::string& path, const std::string& text) { write_file(root() + path, text); }

  TemporaryDirectory folder_;
};

TEST_F(DoctorFactsTest, EmptyRootHasNoMachineFacts) {
  const MachineFacts facts = read_machine_facts(root());
  EXPECT_FALSE(facts.has_pmu);
  EXPECT_FALSE(facts.is_virtual);
  EXPECT_FALSE(facts.paranoid.has_value());
  EXPECT_FALSE(facts.may_count_kernel);
  EXPECT_TRUE(facts.governor.empty());
}

TEST_F(DoctorFactsTest, ReadsMachineFactsFromKernelFiles) {
  file("/proc/sys/kernel/perf_event_paranoid", "-1\n");
  file("/proc/self/status", "Name:\tx\nCapEff:\t0000004000000000\nCpus_allowed_list:\t0\n");
  file("/proc/cpuinfo", "flags\t: fpu sse hypervisor lahf\n");
  file("/sys/bus/event_source/devices/cpu_core/type", "4\n");
  file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  const MachineFacts facts = read_machine_facts(root());
  EXPECT_EQ(facts.paranoid, -1);
  EXPECT_TRUE(facts.may_count_kernel);  // CAP_PERFMON, bit 38
  EXPECT_TRUE(facts.is_virtual);
  EXPECT_TRUE(facts.has_pmu);
  EXPECT_EQ(facts.governor, "powersave");
}

TEST_F(DoctorFactsTest, IgnoresOtherCapabilitiesAndEventSources) {
  file("/proc/self/status", "CapEff:\t0000000000000fff\n");
  file("/sys/bus/event_source/devices/software/type", "1\n");
  EXPECT_FALSE(read_machine_facts(root()).may_count_kernel);
  EXPECT_FALSE(read_machine_facts(root()).has_pmu);
}

TEST_F(DoctorFactsTest, FindsInstalledFilesBesideShim) {
  const std::string shim = write_file(folder_ / "lib/liboptile_preload.so", "");
  const LibrarySearch nowhere("");
  EXPECT_TRUE(read_installed_facts(shim, folder_ / "optiled", nowhere).counters.empty());
  write_file(folder_ / "lib/liboptile_counters.so", "");
  write_file(folder_ / "lib/liboptile_itt.so", "");
  write_file(folder_ / "lib/liboptile_torch_bridge.so",
             build_library({"libc.so.6", "libtorch_cpu.so.2.1", "libc10.so"}));
  const std::string daemon = write_file(folder_ / "optiled", "", 0755);
  const InstalledFacts facts = read_installed_facts(shim, daemon, nowhere);
  EXPECT_EQ(facts.counters, folder_ / "lib/liboptile_counters.so");
  EXPECT_EQ(facts.itt_collector, folder_ / "lib/liboptile_itt.so");
  EXPECT_EQ(facts.bridge_torch, "libtorch_cpu.so.2.1");
  EXPECT_EQ(facts.daemon, daemon);
  EXPECT_TRUE(read_installed_facts("", folder_ / "none", nowhere).daemon.empty());
}

TEST_F(DoctorFactsTest, ReportsAbsentDaemonAndWritableStore) {
  const ScopedVariable runtime("XDG_RUNTIME_DIR", folder_ / "missing");
  const DaemonFacts facts =
      read_daemon_facts(folder_ / "run/optiled.sock", folder_ / "state/optile/store.db");
  EXPECT_EQ(facts.state, DaemonFacts::State::kAbsent);
  EXPECT_TRUE(facts.socket_error.empty());
  EXPECT_TRUE(facts.store_writable);
  EXPECT_EQ(facts.runtime_dir, folder_ / "missing");
  EXPECT_FALSE(facts.runtime_dir_usable);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "state")) << "looking made a folder";
}

TEST_F(DoctorFactsTest, ReportsOverlongSocketPath) {
  const DaemonFacts facts =
      read_daemon_facts(folder_ / std::string(200, 'x') + "/s", folder_ / "store.db");
  EXPECT_FALSE(facts.socket_error.empty());
}

TEST_F(DoctorFactsTest, ReadsProgramRuntimesAndVirtualEnvironment) {
  const std::string python = write_file(
      folder_ / "venv/bin/python3",
      build_elf({"/lib/ld.so", true, {"libgomp.so.1", "libiomp5.so", "libc.so.6"}, {}, {}}), 0755);
  write_file(folder_ / "venv/pyvenv.cfg", "home = /usr/bin\n");
  const std::string torch = make_wheel(folder_ / "venv/lib/python3.11/site-packages");
  const ProgramFacts facts =
      read_program_facts({python, "train.py"}, {{"LD_LIBRARY_PATH", folder_ / "lib"}});
  EXPECT_TRUE(facts.error.empty());
  EXPECT_EQ(facts.objects.openmp_runtimes, (std::set<std::string>{"libgomp.so.1", "libiomp5.so"}));
  ASSERT_TRUE(facts.bridge.has_value());
  EXPECT_EQ(facts.bridge->wheel.folder, torch);
  EXPECT_EQ(facts.bridge->wheel.version, "2.13.0+cpu");
}

TEST_F(DoctorFactsTest, ReportsMissingProgram) {
  EXPECT_FALSE(read_program_facts({folder_ / "none"}, {}).error.empty());
}

}  // namespace
}  // namespace optile::cli
