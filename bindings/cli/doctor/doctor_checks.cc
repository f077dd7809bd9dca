#include "bindings/cli/doctor/doctor_checks.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "bindings/cli/run/daemon_start.h"

namespace optile::cli {
namespace {

using Level = Finding::Level;
using Findings = std::vector<Finding>;

// What a variable of the user keeps us from.
struct KnownVariable {
  const char* name;
  const char* consequence;
  const char* advice;
};
constexpr const char* kTasksElsewhere =
    "primitives of a oneDNN that another library holds stay unseen";
constexpr const char* kListenToTasks = "unset it, and optile run listens to them";
constexpr KnownVariable kKnownVariables[] = {
    {"OMP_NUM_THREADS", "it is the program's default width, and no op goes wider",
     "unset it, and widths up to the budget are tried"},
    {"OMP_PROC_BIND", "masks are left alone", "unset it to let optile bind teams"},
    {"OMP_PLACES", "masks are left alone", "unset it to let optile bind teams"},
    {"GOMP_CPU_AFFINITY", "masks are left alone", "unset it to let optile bind teams"},
    {"KMP_AFFINITY", "masks are left alone", "unset it to let optile bind teams"},
    {"OMP_WAIT_POLICY", "how idle threads wait stays your choice", "unset it, and optile chooses"},
    {"GOMP_SPINCOUNT", "how idle threads wait stays your choice", "unset it, and optile chooses"},
    {"KMP_BLOCKTIME", "how idle threads wait stays your choice", "unset it, and optile chooses"},
    {"OPENBLAS_NUM_THREADS", "the BLAS pool never goes wider",
     "unset it, and the pool follows the width of its op"},
    {"GOTO_NUM_THREADS", "the BLAS pool never goes wider",
     "unset it, and the pool follows the width of its op"},
    {"OMP_THREAD_LIMIT", "no team is larger, and no op goes wider",
     "unset it, and widths up to the budget are tried"},
    {"MKL_NUM_THREADS", "neither MKL nor PyTorch goes wider",
     "unset it, and widths up to the budget are tried"},
    {"BLIS_NUM_THREADS", "BLIS's own pool never goes wider", "unset it"},
    {"OMP_DYNAMIC", "the runtime may run teams smaller than asked for", "unset it"},
    {"INTEL_LIBITTNOTIFY64", kTasksElsewhere, kListenToTasks},
    {"INTEL_LIBITTNOTIFY32", kTasksElsewhere, kListenToTasks},
    {"INTEL_ITTNOTIFY_GROUPS", kTasksElsewhere, kListenToTasks},
    {"DNNL_ITT_TASK_LEVEL", kTasksElsewhere, kListenToTasks},
    {"ONEDNN_ITT_TASK_LEVEL", kTasksElsewhere, kListenToTasks},
};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string plural(int count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void add(Findings& findings, Level level, std::string subject, std::string found,
         std::string advice = "") {
  findings.push_back({level, std::move(subject), std::move(found), std::move(advice)});
}

void check_blas(const ProgramObjects& objects, Findings& findings) {
  const std::string& blas = objects.blas_provider;
  if (blas == "reference") {
    add(findings, Level::kNote, "BLAS",
        "the reference BLAS: one thread, and many times slower than the others",
        "apt install libopenblas0-openmp");
  } else if (blas == "openblas-pthread" && objects.uses_openmp) {
    add(findings, Level::kNote, "BLAS",
        "openblas-pthread: a pool of its own beside OpenMP's, and both spin",
        "optile run handles it; libopenblas0-openmp has one pool");
  } else {
    add(findings, Level::kOk, "BLAS", blas == "none" ? "none in sight" : blas);
  }
}

void check_openmp(const ProgramObjects& objects, Findings& findings) {
  std::string names;
  for (const std::string& name : objects.openmp_runtimes)
    names += (names.empty() ? "" : ", ") + name;
  if (names.empty()) {
    add(findings, Level::kNote, "OpenMP",
        "none in the objects that the program is linked with; it may open some later",
        "widths are changed through OpenMP, or OpenBLAS's own threads: without them ops are "
        "watched");
    return;
  }
  if (objects.openmp_runtimes.size() > 1) {
    add(findings, Level::kNote, "OpenMP",
        names + ": several runtimes, each with threads of its own; each caller's own is steered",
        "use builds of the libraries that share one runtime");
  } else {
    add(findings, Level::kOk, "OpenMP", names);
  }
  if (!objects.uses_openmp || objects.libomp_path.empty()) return;
  if (objects.libomp_suitable) {
    add(findings, Level::kOk, "libomp", "the program can run on LLVM's runtime (--openmp llvm)");
  } else {
    add(findings, Level::kNote, "libomp", objects.libomp_obstacle,
        "none: the program stays on its own runtime");
  }
}

void check_torch(const ProgramFacts& program, const InstalledFacts& installed, Findings& findings) {
  if (program.bridge) {
    const bool usable = program.bridge->fault == base::BridgeFault::kNone;
    add(findings, usable ? Level::kOk : Level::kNote, "PyTorch", bridge_finding(*program.bridge),
        bridge_advice(*program.bridge));
    return;
  }
  if (!program.objects.has_pytorch) return;
  const std::string& core = program.objects.torch_core;
  if (installed.bridge.empty() || installed.bridge_torch.empty()) {
    add(findings, Level::kNote, "PyTorch",
        "optile was built without a bridge: only OpenMP regions are seen",
        "apt install libtorch-dev, then build optile again");
  } else if (core != installed.bridge_torch) {
    add(findings, Level::kNote, "PyTorch",
        (core.empty() ? "another one" : core) + ", and the bridge is for " +
            installed.bridge_torch + ": only OpenMP regions are seen",
        "build optile against this PyTorch");
  } else {
    add(findings, Level::kOk, "PyTorch", core + ", with a bridge: its ops are seen");
  }
}

}  // namespace

const char* level_name(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kNote:
      return "note";
    case Level::kProblem:
      return "problem";
  }
  return "unknown";
}

Findings check_machine(const MachineFacts& machine) {
  Findings findings;
  if (!machine.error.empty()) {
    add(findings, Level::kProblem, "machine", machine.error, "nothing can be tuned without it");
    return findings;
  }
  const std::string size = plural(machine.cores, "core") + " on " + plural(machine.tiles, "tile");
  if (machine.cores < 2) {
    add(findings, Level::kNote, "machine", size, "with one core there is no width to choose");
  } else {
    add(findings, Level::kOk, "machine", size);
  }
  const perfmodel::Budget& budget = machine.budget;
  if (budget.limited_by.empty()) {
    add(findings, Level::kOk, "budget", plural(budget.cores, "core") + ", nothing limits them");
  } else {
    std::string found = plural(budget.cores, "core") + " of " + std::to_string(machine.cores) +
                        ", limited by " + budget.limited_by;
    if (budget.quota_cores > 0) found += " (" + number(budget.quota_cores) + " cores of time)";
    add(findings, Level::kNote, "budget", found,
        budget.limited_by == "quota"
            ? "raise cpu.max of the control group (docker: --cpus)"
            : "raise the allowed set: taskset, cpuset.cpus, --cpuset-cpus");
  }
  if (machine.governor == "powersave" || machine.governor == "conservative") {
    add(findings, Level::kNote, "clock", "governor " + machine.governor + ": times vary with load",
        "cpupower frequency-set -g performance, for measurements");
  }
  if (machine.is_virtual) {
    add(findings, Level::kNote, "machine",
        "a virtual machine: neighbours make times noisy, so that settling takes more steps");
  }
  return findings;
}

Findings check_counters(const MachineFacts& machine, const InstalledFacts& installed) {
  Findings findings;
  if (installed.counters.empty()) {
    add(findings, Level::kNote, "counters",
        "optile was built without its counter library: ops are known by their time alone",
        "apt install libpapi-dev, then build optile again");
    return findings;
  }
  if (!machine.paranoid) {
    add(findings, Level::kNote, "counters",
        "this kernel has no perf events: a thread's own accounting is used");
    return findings;
  }
  const std::string level = "perf_event_paranoid is " + std::to_string(*machine.paranoid);
  const bool may_count = machine.may_count_kernel || *machine.paranoid <= 2;
  if (!machine.has_pmu) {
    add(findings, Level::kNote, "counters", "hardware: the kernel shows no PMU",
        machine.is_virtual ? "let the hypervisor pass one through (a virtual PMU)" : "");
  } else if (!may_count) {
    add(findings, Level::kNote, "counters", "hardware: refused, " + level,
        "sysctl kernel.perf_event_paranoid=2, or give the program CAP_PERFMON");
  } else {
    add(findings, Level::kOk, "counters", "hardware: granted");
  }
  if (machine.may_count_kernel || *machine.paranoid <= 1) {
    add(findings, Level::kOk, "counters", "software: the kernel's events are granted");
  } else {
    add(findings, Level::kNote, "counters",
        "software: " + level + ", so a thread's own accounting is used, without migrations",
        "sysctl kernel.perf_event_paranoid=1, or give the program CAP_PERFMON");
  }
  return findings;
}

Findings check_installed(const InstalledFacts& installed) {
  Findings findings;
  if (installed.shim.empty()) {
    add(findings, Level::kProblem, "installation",
        "liboptile_preload.so is not beside optile: programs run untouched",
        "build or install optile as a whole");
  }
  if (installed.daemon.empty()) {
    add(findings, Level::kProblem, "installation",
        "optiled is not beside optile, or not executable", "build or install optile as a whole");
  }
  if (findings.empty()) add(findings, Level::kOk, "installation", "shim and daemon are there");
  if (installed.libomp.empty()) {
    add(findings, Level::kNote, "libomp",
        "LLVM's OpenMP runtime is not installed: programs stay on libgomp, whose teams are dear to "
        "resize",
        "apt install libomp5");
  }
  if (!installed.shim.empty() && installed.itt_collector.empty()) {
    add(findings, Level::kNote, "oneDNN",
        "liboptile_itt.so is not beside the shim: primitives of a oneDNN that another library "
        "holds, as PyTorch's wheels do, stay unseen",
        "build or install optile as a whole");
  }
  return findings;
}

Findings check_daemon(const DaemonFacts& daemon) {
  Findings findings;
  if (!daemon.runtime_dir.empty() && !daemon.runtime_dir_usable) {
    add(findings, Level::kNote, "daemon",
        "XDG_RUNTIME_DIR is " + daemon.runtime_dir +
            ", which is not there or not yours: sockets lie "
            "below /tmp",
        "make that folder (mode 0700), or unset the variable");
  }
  switch (daemon.state) {
    case DaemonFacts::State::kAnswers:
      if (daemon.version == daemon.own_version) {
        add(findings, Level::kOk, "daemon", "optiled " + daemon.version + " answers");
      } else {
        add(findings, Level::kProblem, "daemon",
            "optiled " + daemon.version + " is running, and this is optile " + daemon.own_version,
            "optile stop");
      }
      break;
    case DaemonFacts::State::kAbsent:
      if (daemon.socket_error.empty()) {
        add(findings, Level::kOk, "daemon", "none is running; optile run starts one");
      } else {
        add(findings, Level::kProblem, "daemon", "none can be started: " + daemon.socket_error,
            "name another place with --socket");
      }
      break;
    case DaemonFacts::State::kDenied:
      add(findings, Level::kProblem, "daemon", daemon.socket + " belongs to somebody else",
          "name another place with --socket");
      break;
    case DaemonFacts::State::kSilent:
      add(findings, Level::kProblem, "daemon",
          "something at " + daemon.socket + " takes connections and does not answer",
          "end it and look into optiled.log beside the socket");
      break;
  }
  if (daemon.store == kMemoryStore) {
    add(findings, Level::kNote, "store", "in memory: what is learned ends with the daemon",
        "set HOME, or name a file with --store");
  } else if (!daemon.store_state.empty() && daemon.store_state != "on_disk") {
    add(findings, Level::kProblem, "store", daemon.store + ": " + daemon.store_message,
        "what is learned is lost with the daemon until that is repaired");
  } else if (!daemon.store_writable) {
    add(findings, Level::kProblem, "store", daemon.store + " cannot be written",
        "change its permissions, or name another file with --store");
  } else {
    add(findings, Level::kOk, "store", daemon.store);
  }
  return findings;
}

Findings check_variables(const Variables& variables, const std::string& preload) {
  Findings findings;
  for (const KnownVariable& known : kKnownVariables) {
    const auto found = variables.find(known.name);
    if (found == variables.end()) continue;
    add(findings, Level::kNote, "environment",
        found->first + "=" + found->second + ": " + known.consequence, known.advice);
  }
  if (!preload.empty()) {
    add(findings, Level::kNote, "environment",
        "LD_PRELOAD=" + preload + ": it is kept, behind the shim");
  }
  if (findings.empty()) {
    add(findings, Level::kOk, "environment", "nothing about threads is set");
  }
  return findings;
}

Findings check_program(const ProgramFacts& program, const InstalledFacts& installed) {
  Findings findings;
  if (!program.error.empty()) {
    add(findings, Level::kProblem, "program", program.error);
    return findings;
  }
  if (!program.target.unseen.empty()) {
    add(findings, Level::kProblem, "program",
        program.target.executable + " cannot be seen: " + program.target.unseen,
        "optile run starts it untouched; a dynamic glibc build without that can be tuned");
    return findings;
  }
  add(findings, Level::kOk, "program", program.target.executable + " can be preloaded");
  if (!program.target.hidden_regions.empty()) {
    add(findings, Level::kNote, "program",
        "its OpenMP regions cannot be seen: " + program.target.hidden_regions,
        "link it with the shared libgomp or libomp, or announce its ops (optile/annotate.h)");
  }
  check_openmp(program.objects, findings);
  check_blas(program.objects, findings);
  check_torch(program, installed, findings);
  return findings;
}

Findings check_all(const DoctorFacts& facts) {
  Findings all = check_machine(facts.machine);
  const auto append = [&](Findings more) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
  };
  append(check_counters(facts.machine, facts.installed));
  append(check_installed(facts.installed));
  append(check_daemon(facts.daemon));
  append(check_variables(facts.variables, facts.preload));
  if (facts.program) append(check_program(*facts.program, facts.installed));
  return all;
}

}  // namespace optile::cli
