#include "bindings/cli/doctor/doctor_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bindings/cli/doctor/doctor.h"
#include "tests/cli/fixtures/golden.h"

namespace optile::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using Level = Finding::Level;
using Findings = std::vector<Finding>;

MachineFacts sound_machine() {
  MachineFacts machine;
  machine.cores = 8;
  machine.tiles = 2;
  machine.budget.cores = 8;
  machine.has_pmu = true;
  machine.paranoid = 1;
  return machine;
}

InstalledFacts sound_installation() {
  return {"/opt/lib/liboptile_preload.so",  "/opt/bin/optiled",
          "/opt/lib/liboptile_counters.so", "/opt/lib/liboptile_torch_bridge.so",
          "libtorch_cpu.so.1.13",           "/usr/lib/libomp.so.5",
          "/opt/lib/liboptile_itt.so"};
}

DaemonFacts sound_daemon() {
  DaemonFacts daemon;
  daemon.state = DaemonFacts::State::kAnswers;
  daemon.socket = "/run/user/1/optile/optiled.sock";
  daemon.version = daemon.own_version = "0.1.0";
  daemon.store = "/srv/u/store.db";
  daemon.store_state = "on_disk";
  daemon.store_writable = true;
  return daemon;
}

ProgramFacts sound_program() {
  ProgramFacts program;
  program.target.executable = "/usr/bin/python3";
  program.objects.uses_openmp = true;
  program.objects.openmp_runtimes = {"libgomp.so.1"};
  program.objects.has_pytorch = true;
  program.objects.torch_core = "libtorch_cpu.so.1.13";
  program.objects.blas_provider = "openblas-openmp";
  program.objects.libomp_path = "/usr/lib/libomp.so.5";
  program.objects.libomp_suitable = true;
  return program;
}

// The worst level of the findings about a subject.
Level level_of(const Findings& findings, const std::string& subject) {
  Level worst = Level::kOk;
  bool found = false;
  for (const Finding& finding : findings) {
    if (finding.subject != subject) continue;
    found = true;
    worst = std::max(worst, finding.level);
  }
  EXPECT_TRUE(found) << "nothing about " << subject;
  return worst;
}

// The one finding about a subject that begins so.
Finding finding_of(const Findings& findings, const std::string& subject,
                   const std::string& begin = "") {
  for (const Finding& finding : findings) {
    if (finding.subject == subject && finding.found.starts_with(begin)) return finding;
  }
  ADD_FAILURE() << "nothing about " << subject << " that begins with " << begin;
  return {};
}

MachineFacts limited_machine(const char* limited_by, double quota_cores) {
  MachineFacts machine = sound_machine();
  machine.budget.cores = 3;
  machine.budget.limited_by = limited_by;
  machine.budget.quota_cores = quota_cores;
  return machine;
}

Findings counters_at(std::optional<int> paranoid, bool has_pmu = true, bool may_count = false) {
  MachineFacts machine = sound_machine();
  machine.paranoid = paranoid;
  machine.has_pmu = has_pmu;
  machine.may_count_kernel = may_count;
  return check_counters(machine, sound_installation());
}

ProgramFacts with_blas(const char* provider) {
  ProgramFacts program = sound_program();
  program.objects.blas_provider = provider;
  return program;
}

ProgramFacts with_other_torch() {
  ProgramFacts program = sound_program();
  program.objects.torch_core = "libtorch_cpu.so";
  return program;
}

ProgramFacts with_wheel(base::BridgeFault fault) {
  BridgeState bridge;
  bridge.wheel.version = "2.13.0+cpu";
  bridge.wheel.folder = "/srv/u/venv/lib/python3.11/site-packages/torch";
  bridge.folder = "/srv/u/.cache/optile/bridges";
  bridge.compiler = {"/usr/bin/c++"};
  bridge.fault = fault;
  ProgramFacts program = with_other_torch();
  program.bridge = bridge;
  return program;
}

ProgramFacts with_two_runtimes() {
  ProgramFacts program = sound_program();
  program.objects.openmp_runtimes = {"libgomp.so.1", "libiomp5.so"};
  program.objects.libomp_suitable = false;
  program.objects.libomp_obstacle = "tool needs GOMP_teams4, which libomp lacks";
  return program;
}

ProgramFacts unseen_program() {
  ProgramFacts program = sound_program();
  program.target.unseen = "it is linked statically";
  return program;
}

DaemonFacts in_state(DaemonFacts::State state) {
  DaemonFacts daemon = sound_daemon();
  daemon.state = state;
  return daemon;
}

void add_machines(Golden& golden) {
  golden.add("limited by quota", findings_text(check_machine(limited_machine("quota", 2.5))));
  golden.add("limited by cpuset", findings_text(check_machine(limited_machine("cpuset", 0))));
  MachineFacts machine = sound_machine();
  machine.cores = 1;
  machine.is_virtual = true;
  machine.governor = "powersave";
  golden.add("one virtual core", findings_text(check_machine(machine)));
  for (const int paranoid : {1, 2, 3}) {
    golden.add("perf_event_paranoid " + std::to_string(paranoid),
               findings_text(counters_at(paranoid)));
  }
  golden.add("no PMU", findings_text(counters_at(1, false)));
  golden.add("no perf events", findings_text(counters_at(std::nullopt)));
  const InstalledFacts nothing;
  golden.add("nothing installed", findings_text(check_installed(nothing)));
  golden.add("no counter library", findings_text(check_counters(sound_machine(), nothing)));
}

void add_daemons(Golden& golden) {
  using State = DaemonFacts::State;
  golden.add("daemon absent", findings_text(check_daemon(in_state(State::kAbsent))));
  golden.add("daemon of others", findings_text(check_daemon(in_state(State::kDenied))));
  golden.add("daemon silent", findings_text(check_daemon(in_state(State::kSilent))));
  DaemonFacts daemon = sound_daemon();
  daemon.version = "0.0.9";
  daemon.store_state = "in_memory";
  daemon.store_message = "the disk is full";
  golden.add("daemon of another version, store in memory", findings_text(check_daemon(daemon)));
  daemon = in_state(State::kAbsent);
  daemon.socket_error = "you may not write to /run/optile";
  daemon.runtime_dir = "/run/user/77";
  daemon.store_writable = false;
  golden.add("no place for the daemon", findings_text(check_daemon(daemon)));
}

void add_programs(Golden& golden) {
  const auto add = [&](const char* situation, const ProgramFacts& program) {
    golden.add(situation, findings_text(check_program(program, sound_installation())));
  };
  add("statically linked", unseen_program());
  add("two runtimes", with_two_runtimes());
  add("reference BLAS", with_blas("reference"));
  add("BLAS with a pool", with_blas("openblas-pthread"));
  add("another PyTorch", with_other_torch());
  add("a wheel without bridge", with_wheel(BridgeState().fault));
  add("a wheel with bridge", with_wheel(base::BridgeFault::kNone));
}

TEST(Doctor, MatchesGoldenFile) {
  Golden golden("doctor");
  const DoctorFacts facts{sound_machine(), sound_installation(), sound_daemon(), {}, "",
                          sound_program()};
  golden.add("in order", findings_text(check_all(facts)));
  add_machines(golden);
  add_daemons(golden);
  golden.add("variables of the user",
             findings_text(check_variables({{"OMP_NUM_THREADS", "2"}, {"OMP_PROC_BIND", "true"}},
                                           "/usr/lib/libjemalloc.so")));
  add_programs(golden);
  golden.check();
}

TEST(Doctor, SoundMachineHasOnlyOkFindings) {
  DoctorFacts facts{sound_machine(), sound_installation(), sound_daemon(), {}, "", sound_program()};
  for (const Finding& finding : check_all(facts)) {
    EXPECT_EQ(finding.level, Level::kOk) << finding.subject << ": " << finding.found;
    EXPECT_TRUE(finding.advice.empty()) << finding.advice;
  }
}

TEST(Doctor, EveryFindingHasText) {
  DoctorFacts facts;
  facts.machine.error = "no topology";
  facts.program = ProgramFacts();
  facts.program->error = "cannot run x: not found";
  for (const Finding& finding : check_all(facts)) EXPECT_FALSE(finding.found.empty());
}

TEST(DoctorMachine, ExplainsBudgetLimit) {
  const Finding quota = finding_of(check_machine(limited_machine("quota", 2.5)), "budget");
  EXPECT_EQ(quota.level, Level::kNote);
  EXPECT_THAT(numbers_in(quota.found), ElementsAre(3, 8, 2.5));
  EXPECT_THAT(quota.found, HasSubstr("quota"));
  EXPECT_THAT(quota.advice, HasSubstr("cpu.max"));
  const Finding cpuset = finding_of(check_machine(limited_machine("cpuset", 0)), "budget");
  EXPECT_THAT(cpuset.advice, HasSubstr("cpuset.cpus"));
}

TEST(DoctorMachine, ReportsSingleCoreVirtualMachineAndGovernor) {
  MachineFacts machine = sound_machine();
  machine.cores = 1;
  EXPECT_EQ(level_of(check_machine(machine), "machine"), Level::kNote);
  machine = sound_machine();
  machine.is_virtual = true;
  EXPECT_EQ(level_of(check_machine(machine), "machine"), Level::kNote);
  machine.governor = "powersave";
  EXPECT_EQ(level_of(check_machine(machine), "clock"), Level::kNote);
  machine.error = "no topology";
  EXPECT_EQ(level_of(check_machine(machine), "machine"), Level::kProblem);
}

TEST(DoctorCounters, ReportsGrantsAtEachParanoidLevel) {
  const auto hardware = [](const Findings& all) { return finding_of(all, "counters", "hardware"); };
  const auto software = [](const Findings& all) { return finding_of(all, "counters", "software"); };
  for (const int granted : {-1, 1, 2}) {
    EXPECT_EQ(hardware(counters_at(granted)).level, Level::kOk) << granted;
  }
  EXPECT_EQ(software(counters_at(1)).level, Level::kOk);
  EXPECT_EQ(software(counters_at(2)).level, Level::kNote);
  EXPECT_THAT(software(counters_at(2)).found, HasSubstr("without migrations"));
  EXPECT_EQ(hardware(counters_at(3)).level, Level::kNote);
  EXPECT_THAT(numbers_in(hardware(counters_at(3)).found), ElementsAre(3));
  EXPECT_THAT(hardware(counters_at(3)).advice, StartsWith("sysctl kernel.perf_event_paranoid=2"));
  EXPECT_EQ(hardware(counters_at(4, true, true)).level, Level::kOk);
  EXPECT_EQ(software(counters_at(4, true, true)).level, Level::kOk);
}

TEST(DoctorCounters, ReportsMissingPmuPerfEventsAndLibrary) {
  EXPECT_THAT(finding_of(counters_at(1, false), "counters", "hardware").found, HasSubstr("PMU"));
  EXPECT_THAT(finding_of(counters_at(std::nullopt), "counters").found, HasSubstr("perf events"));
  InstalledFacts without = sound_installation();
  without.counters.clear();
  EXPECT_EQ(level_of(check_counters(sound_machine(), without), "counters"), Level::kNote);
}

TEST(DoctorInstallation, ReportsMissingParts) {
  for (std::string InstalledFacts::*part : {&InstalledFacts::shim, &InstalledFacts::daemon}) {
    InstalledFacts installed = sound_installation();
    (installed.*part).clear();
    EXPECT_EQ(level_of(check_installed(installed), "installation"), Level::kProblem);
  }
  InstalledFacts installed = sound_installation();
  installed.libomp.clear();
  EXPECT_EQ(level_of(check_installed(installed), "libomp"), Level::kNote);
  installed = sound_installation();
  installed.itt_collector.clear();
  EXPECT_EQ(level_of(check_installed(installed), "oneDNN"), Level::kNote);
}

TEST(DoctorDaemon, ReportsEachDaemonState) {
  DaemonFacts daemon = sound_daemon();
  EXPECT_EQ(level_of(check_daemon(daemon), "daemon"), Level::kOk);
  daemon.version = "0.0.9";
  EXPECT_EQ(level_of(check_daemon(daemon), "daemon"), Level::kProblem);
  EXPECT_EQ(finding_of(check_daemon(daemon), "daemon").advice, "optile stop");
  daemon.state = DaemonFacts::State::kAbsent;
  EXPECT_EQ(level_of(check_daemon(daemon), "daemon"), Level::kOk);
  daemon.socket_error = "you may not write to /run/optile";
  EXPECT_EQ(level_of(check_daemon(daemon), "daemon"), Level::kProblem);
  for (const auto state : {DaemonFacts::State::kDenied, DaemonFacts::State::kSilent}) {
    daemon.state = state;
    EXPECT_EQ(level_of(check_daemon(daemon), "daemon"), Level::kProblem);
  }
}

TEST(DoctorDaemon, NotesUnusableRuntimeFolder) {
  DaemonFacts daemon = sound_daemon();
  daemon.runtime_dir = "/run/user/77";
  daemon.runtime_dir_usable = false;
  EXPECT_EQ(level_of(check_daemon(daemon), "daemon"), Level::kNote);
  EXPECT_THAT(findings_text(check_daemon(daemon)), HasSubstr("/run/user/77"));
  daemon.runtime_dir_usable = true;
  EXPECT_EQ(level_of(check_daemon(daemon), "daemon"), Level::kOk);
}

TEST(DoctorDaemon, ReportsStoreProblems) {
  DaemonFacts daemon = sound_daemon();
  daemon.store_state = "in_memory";
  daemon.store_message = "the disk is full";
  EXPECT_EQ(level_of(check_daemon(daemon), "store"), Level::kProblem);
  EXPECT_THAT(findings_text(check_daemon(daemon)), HasSubstr("the disk is full"));
  daemon.store = ":memory:";
  EXPECT_EQ(level_of(check_daemon(daemon), "store"), Level::kNote);
  daemon = sound_daemon();
  daemon.store_writable = false;
  EXPECT_EQ(level_of(check_daemon(daemon), "store"), Level::kProblem);
}

TEST(DoctorEnvironment, NotesVariablesThatLimitTuning) {
  for (const char* name :
       {"OMP_NUM_THREADS", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "OPENBLAS_NUM_THREADS",
        "OMP_WAIT_POLICY", "KMP_BLOCKTIME", "OMP_THREAD_LIMIT", "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS", "INTEL_LIBITTNOTIFY64", "DNNL_ITT_TASK_LEVEL"}) {
    const Findings findings = check_variables({{name, "2"}}, "");
    ASSERT_EQ(findings.size(), 1u) << name;
    EXPECT_EQ(findings[0].level, Level::kNote);
    EXPECT_THAT(findings[0].found, HasSubstr(std::string(name) + "=2"));
  }
  EXPECT_THAT(findings_text(check_variables({}, "/usr/lib/libjemalloc.so")),
              HasSubstr("libjemalloc"));
  EXPECT_EQ(check_variables({{"OMP_STACKSIZE", "8M"}}, "")[0].level, Level::kOk);
}

TEST(DoctorProgram, ReportsUnseenOrMissingProgram) {
  ProgramFacts program = unseen_program();
  const Finding finding = finding_of(check_program(program, sound_installation()), "program");
  EXPECT_EQ(finding.level, Level::kProblem);
  EXPECT_THAT(finding.found, HasSubstr(program.target.unseen));
  program.error = "cannot run x: not found";
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "program"), Level::kProblem);
}

TEST(DoctorProgram, NotesOpenmpRuntimeObstacles) {
  ProgramFacts program = with_two_runtimes();
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "OpenMP"), Level::kNote);
  EXPECT_THAT(findings_text(check_program(program, sound_installation())),
              HasSubstr("libiomp5.so"));
  program.objects.openmp_runtimes.clear();
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "OpenMP"), Level::kNote);
  program = sound_program();
  program.objects.libomp_suitable = false;
  program.objects.libomp_obstacle = "tool needs GOMP_teams4, which libomp lacks";
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "libomp"), Level::kNote);
}

TEST(DoctorProgram, AdvisesOnBlasProvider) {
  ProgramFacts program = with_blas("reference");
  EXPECT_EQ(finding_of(check_program(program, sound_installation()), "BLAS").advice,
            "apt install libopenblas0-openmp");
  program.objects.blas_provider = "openblas-pthread";
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "BLAS"), Level::kNote);
  program.objects.uses_openmp = false;
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "BLAS"), Level::kOk);
}

TEST(DoctorProgram, ReportsPytorchBridgeState) {
  ProgramFacts program = sound_program();
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "PyTorch"), Level::kOk);
  program = with_other_torch();
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "PyTorch"), Level::kNote);
  program = with_wheel(BridgeState().fault);
  const Finding missing = finding_of(check_program(program, sound_installation()), "PyTorch");
  EXPECT_EQ(missing.level, Level::kNote);
  EXPECT_THAT(missing.advice, HasSubstr("bridge build --torch " + program.bridge->wheel.folder));
  program.bridge->fault = base::BridgeFault::kNone;
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "PyTorch"), Level::kOk);
  program = sound_program();
  InstalledFacts without = sound_installation();
  without.bridge.clear();
  EXPECT_EQ(level_of(check_program(program, without), "PyTorch"), Level::kNote);
}

TEST(DoctorOutput, PrintsLinesAndJson) {
  const Findings findings = {{Level::kOk, "store", "fine", ""},
                             {Level::kProblem, "daemon", "dead", "optile stop"}};
  EXPECT_EQ(findings_text(findings),
            "ok       store         fine\n"
            "problem  daemon        dead\n"
            "                       -> optile stop\n"
            "1 problem\n");
  const auto json = nlohmann::json::parse(findings_json(findings));
  EXPECT_EQ(json["problems"], 1);
  EXPECT_EQ(json["findings"][1]["level"], "problem");
  EXPECT_EQ(json["findings"][1]["advice"], "optile stop");
  EXPECT_TRUE(json["findings"][0]["advice"].is_null());
  EXPECT_THAT(findings_text({}), testing::Not(HasSubstr("problem")));
}

}  // namespace
}  // namespace optile::cli
