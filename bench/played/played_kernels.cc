// A library to be preloaded, behind the shim where there is one: TensorFlow's kernels compute what
// they compute, and then sleep until the machine that OPTILE_PLAYED_TIMES describes would be done,
// at the width that they were given and beside what runs there at the same moment.
//
//   OPTILE_PLAYED_TIMES    the table of what kernels take (kernel_times.h)
//   OPTILE_PLAYED_SCALE    so many seconds here are one of that machine; 1 unless said
//   OPTILE_PLAYED_SUMMARY  a file for what was played, written when the program ends
//   OPTILE_PLAYED_RECORD   a file for the kernels that ran: node TAB kernel TAB how often
//
// A process in which none of these is set, or that has no TensorFlow, is left alone. One that is
// played and cannot be ends with an error: it is a measurement.
#include <dlfcn.h>
#include <link.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/text_file.h"
#include "bench/played/kernel_times.h"
#include "bench/played/played_machine.h"
#include "perfmodel/machine/machine.h"
#include "sched/cores/core_map.h"

namespace {

using optile::bench::KernelTimes;
using optile::bench::PlayedMachine;
using optile::bench::TimesTable;
using Clock = std::chrono::steady_clock;

constexpr const char* kCompute =
    "_ZN10tensorflow16ThreadPoolDevice7ComputeEPNS_8OpKernelEPNS_15OpKernelContextE";
constexpr const char* kTableOfDevice = "_ZTVN10tensorflow16ThreadPoolDeviceE";
constexpr const char* kWorkers = "_ZNK10tensorflow10DeviceBase29tensorflow_cpu_worker_threadsEv";
constexpr const char* kTrace =
    "_ZNK10tensorflow8OpKernel11TraceStringB5cxx11ERKNS_15OpKernelContextEb";
constexpr int kMostObjects = 4096;

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "played_kernels: %s\n", message.c_str());
  std::_Exit(70);
}

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct Workers {  // DeviceBase::CpuWorkerThreads
  int num_threads;
  void* pool;
};

// TensorFlow's functions: those of the object that has them, but for the workers, which a kernel
// sees as the shim has it.
struct Functions {
  void (*compute)(void* device, void* kernel, void* context) = nullptr;
  const Workers* (*workers)(const void* device) = nullptr;
  std::string (*trace)(const void* kernel, const void* context, bool verbose) = nullptr;
};

template <typename Function>
void take(Function** function, void* object, const char* symbol) {
  *function = reinterpret_cast<Function*>(dlsym(object, symbol));
  if (*function == nullptr) fail(std::string("this TensorFlow has no ") + symbol);
}

struct Numbered {
  int left;
  std::string path;
};

int copy_path(dl_phdr_info* object, std::size_t /*size*/, void* to) {
  auto* wanted = static_cast<Numbered*>(to);
  if (wanted->left-- > 0) return 0;
  wanted->path = object->dlpi_name;
  return 1;
}

// The object around TensorFlow's device, which is in no scope that we could ask.
void* find_tensorflow() {
  for (int i = 0; i < kMostObjects; ++i) {
    Numbered wanted = {i, ""};
    if (dl_iterate_phdr(copy_path, &wanted) == 0) break;
    if (wanted.path.empty()) continue;
    void* object = dlopen(wanted.path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    if (object == nullptr) continue;
    if (dlsym(object, kTableOfDevice) != nullptr) return object;
    dlclose(object);
  }
  fail("no TensorFlow in this process");
}

Functions find_functions() {
  Functions found;
  void* tensorflow = find_tensorflow();
  take(&found.compute, tensorflow, kCompute);
  take(&found.trace, tensorflow, kTrace);
  void* workers = dlsym(RTLD_DEFAULT, kWorkers);
  if (workers == nullptr) {
    take(&found.workers, tensorflow, kWorkers);
  } else {
    found.workers = reinterpret_cast<decltype(found.workers)>(workers);
  }
  return found;
}

const Functions& functions() {
  static const Functions found = find_functions();
  return found;
}

// The described machine, driven by this one's clock.
class Stage {
 public:
  static std::unique_ptr<Stage> open() {
    const std::string path = setting("OPTILE_PLAYED_TIMES");
    if (path.empty()) return nullptr;
    const auto text = optile::base::read_text_file(path);
    if (!text) fail("cannot read " + path);
    auto table = optile::bench::parse_times(*text);
    if (!table.ok()) fail(path + ": " + table.message());
    const auto machine = optile::perfmodel::make_machine_source(table.value().machine)->read();
    if (!machine.ok()) fail(machine.message());
    auto map = optile::sched::make_core_map(machine.value());
    if (!map.ok()) fail(map.message());
    const std::string scale = setting("OPTILE_PLAYED_SCALE");
    const double factor = scale.empty() ? 1 : std::strtod(scale.c_str(), nullptr);
    if (!(factor > 0)) fail("OPTILE_PLAYED_SCALE is no positive number");
    return std::make_unique<Stage>(std::move(table.value()), std::move(map.value()), factor);
  }

  Stage(TimesTable table, optile::sched::CoreMap map, double scale)
      : table_(std::move(table)), map_(std::move(map)), machine_(map_), scale_(scale) {}

  const KernelTimes* find(std::string_view kernel) const { return table_.find(kernel); }

  int begin(const KernelTimes& kernel, int width) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return machine_.begin(kernel, width, now());
  }

  // Until the kernel of that number is done there. All who wait wake at the next end, and go by
  // what runs from then on.
  void wait_for(int number) {
    std::unique_lock<std::mutex> lock(mutex_);
    machine_.advance(now());
    const bool computes_longer = !machine_.is_running(number);
    while (machine_.is_running(number)) {
      const double end = machine_.next_end();
      changed_.wait_until(lock, begun_ + std::chrono::duration_cast<Clock::duration>(
                                             std::chrono::duration<double>(end * scale_)));
      machine_.advance(now());
    }
    (computes_longer ? overrun_ : late_) += now() - machine_.end_of(number);
  }

  // What the processor would have computed, here.
  double thread_seconds() {
    const std::lock_guard<std::mutex> lock(mutex_);
    machine_.advance(now());
    return machine_.thread_seconds() * scale_;
  }

  void write_summary(const std::string& path) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (machine_.begun() == 0) return;
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) fail("cannot write " + path);
    std::fprintf(file,
                 "{\"kernels\": %d, \"corunning_mean\": %.6g, \"thread_seconds\": %.6g, "
                 "\"overrun_seconds\": %.6g, \"late_seconds\": %.6g}\n",
                 machine_.begun(), machine_.corunning_mean(), machine_.thread_seconds(), overrun_,
                 late_);
    std::fclose(file);
  }

 private:
  double now() const {
    return std::chrono::duration<double>(Clock::now() - begun_).count() / scale_;
  }

  const TimesTable table_;
  const optile::sched::CoreMap map_;
  std::mutex mutex_;
  std::condition_variable changed_;
  PlayedMachine machine_;
  double overrun_ = 0;  // seconds there: computed for longer than was to be played
  double late_ = 0;     // and woken later than that
  const double scale_;
  const Clock::time_point begun_ = Clock::now();
};

// Never destroyed: threads of the program may still compute when it ends.
Stage* stage() {
  static Stage* const opened = Stage::open().release();
  return opened;
}

// Which kernels ran.
class Record {
 public:
  void note(const std::string& trace) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++counts_[trace];
  }
  void write(const std::string& path) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (counts_.empty()) return;
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) fail("cannot write " + path);
    for (const auto& [trace, count] : counts_) {
      const std::string kernel(optile::bench::kernel_of_trace(trace));
      const std::string node = trace.substr(0, trace.size() - kernel.size() - 1);
      std::fprintf(file, "%s\t%s\t%d\n", node.c_str(), kernel.c_str(), count);
    }
    std::fclose(file);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, int> counts_;
};

Record& record() {
  static Record* const kernels = new Record;
  return *kernels;
}

__attribute__((destructor)) void write_files() {
  const std::string recorded = setting("OPTILE_PLAYED_RECORD");
  const std::string summary = setting("OPTILE_PLAYED_SUMMARY");
  if (!recorded.empty()) record().write(recorded);
  if (!summary.empty() && stage() != nullptr) stage()->write_summary(summary);
}

}  // namespace

extern "C" {

void played_compute(void* device, void* kernel, void* context) __asm__(
    "_ZN10tensorflow16ThreadPoolDevice7ComputeEPNS_8OpKernelEPNS_15OpKernelContextE");

void played_compute(void* device, void* kernel, void* context) {
  static const bool recorded = !setting("OPTILE_PLAYED_RECORD").empty();
  const Functions& real = functions();
  if (stage() == nullptr && !recorded) {
    real.compute(device, kernel, context);
    return;
  }
  const std::string trace = real.trace(kernel, context, true);
  if (recorded) record().note(trace);
  const KernelTimes* times =
      stage() == nullptr ? nullptr : stage()->find(optile::bench::kernel_of_trace(trace));
  if (times == nullptr) {
    real.compute(device, kernel, context);
    return;
  }
  const int number = stage()->begin(*times, real.workers(device)->num_threads);
  real.compute(device, kernel, context);
  stage()->wait_for(number);
}

// Who asks whether this process computes is told what the described machine would have.
int clock_gettime(clockid_t clock, timespec* time) {
  using Real = int (*)(clockid_t, timespec*);
  static const Real real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, time);
  if (clock != CLOCK_PROCESS_CPUTIME_ID || result != 0) return result;
  if (stage() == nullptr) return result;
  const double seconds = stage()->thread_seconds();
  const auto whole = static_cast<time_t>(seconds);
  time->tv_sec += whole;
  time->tv_nsec += static_cast<long>((seconds - static_cast<double>(whole)) * 1e9);
  if (time->tv_nsec >= 1'000'000'000) {
    ++time->tv_sec;
    time->tv_nsec -= 1'000'000'000;
  }
  return result;
}

}  // extern "C"
