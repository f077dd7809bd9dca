#include "bindings/cli/doctor/doctor_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bindings/cli/doctor/doctor.h"

namespace optile::cli {
namespace {

using testing::HasSubstr;
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

std::string text_of(const Findings& findings) {
  return findings_text(findings);
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
  MachineFacts machine = sound_machine();
  machine.budget.cores = 3;
  machine.budget.limited_by = "quota";
  machine.budget.quota_cores = 2.5;
  EXPECT_EQ(level_of(check_machine(machine), "budget"), Level::kNote);
  EXPECT_THAT(text_of(check_machine(machine)), HasSubstr("3 cores of 8, limited by quota (2.5"));
  EXPECT_THAT(text_of(check_machine(machine)), HasSubstr("cpu.max"));
  machine.budget.limited_by = "cpuset";
  EXPECT_THAT(text_of(check_machine(machine)), HasSubstr("cpuset.cpus"));
}

TEST(DoctorMachine, ReportsSingleCoreVirtualMachineAndGovernor) {
  MachineFacts machine = sound_machine();
  machine.cores = 1;
  EXPECT_THAT(text_of(check_machine(machine)), HasSubstr("no width to choose"));
  machine = sound_machine();
  machine.is_virtual = true;
  EXPECT_EQ(level_of(check_machine(machine), "machine"), Level::kNote);
  machine.governor = "powersave";
  EXPECT_EQ(level_of(check_machine(machine), "clock"), Level::kNote);
  machine.error = "no topology";
  EXPECT_EQ(level_of(check_machine(machine), "machine"), Level::kProblem);
}

TEST(DoctorCounters, ReportsGrantsAtEachParanoidLevel) {
  MachineFacts machine = sound_machine();
  const auto level = [&](int paranoid) {
    machine.paranoid = paranoid;
    return text_of(check_counters(machine, sound_installation()));
  };
  EXPECT_THAT(level(-1), HasSubstr("hardware: granted"));
  EXPECT_THAT(level(1), HasSubstr("software: the kernel's events are granted"));
  EXPECT_THAT(level(2), HasSubstr("hardware: granted"));
  EXPECT_THAT(level(2), HasSubstr("without migrations"));
  EXPECT_THAT(level(3), HasSubstr("hardware: refused, perf_event_paranoid is 3"));
  EXPECT_THAT(level(3), HasSubstr("sysctl kernel.perf_event_paranoid=2"));
  machine.may_count_kernel = true;
  EXPECT_THAT(level(4), HasSubstr("hardware: granted"));
  EXPECT_THAT(level(4), HasSubstr("software: the kernel's events are granted"));
}

TEST(DoctorCounters, ReportsMissingPmuPerfEventsAndLibrary) {
  MachineFacts machine = sound_machine();
  machine.has_pmu = false;
  EXPECT_THAT(text_of(check_counters(machine, sound_installation())), HasSubstr("no PMU"));
  machine.paranoid.reset();
  EXPECT_THAT(text_of(check_counters(machine, sound_installation())), HasSubstr("no perf events"));
  InstalledFacts without = sound_installation();
  without.counters.clear();
  EXPECT_EQ(level_of(check_counters(machine, without), "counters"), Level::kNote);
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
  EXPECT_THAT(text_of(check_daemon(daemon)), HasSubstr("-> optile stop"));
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
  EXPECT_THAT(text_of(check_daemon(daemon)), HasSubstr("/run/user/77"));
  daemon.runtime_dir_usable = true;
  EXPECT_EQ(level_of(check_daemon(daemon), "daemon"), Level::kOk);
}

TEST(DoctorDaemon, ReportsStoreProblems) {
  DaemonFacts daemon = sound_daemon();
  daemon.store_state = "in_memory";
  daemon.store_message = "the disk is full";
  EXPECT_EQ(level_of(check_daemon(daemon), "store"), Level::kProblem);
  EXPECT_THAT(text_of(check_daemon(daemon)), HasSubstr("the disk is full"));
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
    const Findings findings = check_words({{name, "2"}}, "");
    ASSERT_EQ(findings.size(), 1u) << name;
    EXPECT_EQ(findings[0].level, Level::kNote);
    EXPECT_THAT(findings[0].found, HasSubstr(std::string(name) + "=2"));
  }
  EXPECT_THAT(text_of(check_words({}, "/usr/lib/libjemalloc.so")), HasSubstr("libjemalloc"));
  EXPECT_EQ(check_words({{"OMP_STACKSIZE", "8M"}}, "")[0].level, Level::kOk);
}

TEST(DoctorProgram, ReportsUnseenOrMissingProgram) {
  ProgramFacts program = sound_program();
  program.target.unseen = "it is linked statically";
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "program"), Level::kProblem);
  EXPECT_THAT(text_of(check_program(program, sound_installation())), HasSubstr("statically"));
  program.error = "cannot run x: not found";
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "program"), Level::kProblem);
}

TEST(DoctorProgram, NotesOpenmpRuntimeObstacles) {
  ProgramFacts program = sound_program();
  program.objects.openmp_runtimes = {"libgomp.so.1", "libiomp5.so"};
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "OpenMP"), Level::kNote);
  EXPECT_THAT(text_of(check_program(program, sound_installation())), HasSubstr("libiomp5.so"));
  program.objects.openmp_runtimes.clear();
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "OpenMP"), Level::kNote);
  program = sound_program();
  program.objects.libomp_suitable = false;
  program.objects.libomp_obstacle = "tool needs GOMP_teams4, which libomp lacks";
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "libomp"), Level::kNote);
}

TEST(DoctorProgram, AdvisesOnBlasProvider) {
  ProgramFacts program = sound_program();
  program.objects.blas_provider = "reference";
  EXPECT_THAT(text_of(check_program(program, sound_installation())),
              HasSubstr("apt install libopenblas0-openmp"));
  program.objects.blas_provider = "openblas-pthread";
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "BLAS"), Level::kNote);
  program.objects.uses_openmp = false;
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "BLAS"), Level::kOk);
}

TEST(DoctorProgram, ReportsPytorchBridgeState) {
  ProgramFacts program = sound_program();
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "PyTorch"), Level::kOk);
  program.objects.torch_core = "libtorch_cpu.so";
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "PyTorch"), Level::kNote);
  BridgeState bridge;
  bridge.wheel.version = "2.13.0+cpu";
  bridge.wheel.folder = "/srv/u/venv/lib/python3.11/site-packages/torch";
  bridge.folder = "/srv/u/.cache/optile/bridges";
  bridge.compiler = {"/usr/bin/c++"};
  program.bridge = bridge;
  EXPECT_EQ(level_of(check_program(program, sound_installation()), "PyTorch"), Level::kNote);
  EXPECT_THAT(text_of(check_program(program, sound_installation())),
              HasSubstr("bridge build --torch /srv/u/venv"));
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
  EXPECT_THAT(findings_text({}), HasSubstr("nothing is in the way"));
}

}  // namespace
}  // namespace optile::cli
