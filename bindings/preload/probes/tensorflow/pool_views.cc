#include "bindings/preload/probes/tensorflow/pool_views.h"

#include <sys/mman.h>

#include <new>

#include "bindings/preload/probes/tensorflow/pool_arena.h"
#include "bindings/preload/support/host_log.h"
#include "bindings/preload/support/progress_lock.h"

namespace optile::preload {
namespace {

// Eigen::ThreadPoolDevice, the same since 2018.
struct EigenDevice {
  void* pool;
  int num_threads;
  void* allocator;
};

struct PoolView {
  PoolArena arena;
  EigenDevice eigen;
  CpuWorkers workers;
  // A tsl::thread::ThreadPool, made by its own constructor; it has three words in 2.21.
  alignas(16) unsigned char pool[256];
};

enum State : uint32_t { kUnknown, kLearning, kUnfit, kFit };

uint32_t state = kUnknown;
const EigenDevice* own_eigen = nullptr;
const CpuWorkers* own_workers = nullptr;
int own_threads = 0;

PoolView* views[kWidestView][kViewsOfWidth] = {};  // by width - 1 and thread
ProgressLock making;

uint32_t threads = 0;
thread_local uint8_t thread_number = 0;  // from 1 on

uint32_t number_of_thread() {
  if (thread_number == 0) {
    const uint32_t number = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
    thread_number = static_cast<uint8_t>(number % kViewsOfWidth + 1);
  }
  return thread_number - 1u;
}

bool learn(const TensorflowFunctions& functions, void* device) {
  own_eigen = static_cast<const EigenDevice*>(functions.eigen_device(device));
  own_workers = functions.workers(device);
  if (own_eigen == nullptr || own_workers == nullptr) return false;
  own_threads = own_workers->num_threads;
  return functions.can_narrow() && functions.eigen_pool(own_workers->pool) == own_eigen->pool &&
         own_eigen->num_threads == own_threads && fits_pool(own_eigen->pool);
}

// Null where there is no memory.
PoolView* make(const TensorflowFunctions& functions, int width) {
  void* page =
      mmap(nullptr, sizeof(PoolView), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  auto* const view = new (page) PoolView;
  view->arena.open(own_eigen->pool, width);
  view->eigen = {view->arena.as_pool(), width, own_eigen->allocator};
  functions.make_pool(view->pool, view->arena.as_pool());
  view->workers = {width, view->pool};
  return view;
}

const PoolView* view_of(const TensorflowFunctions& functions, int width) {
  if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != kFit) return nullptr;
  if (width < 1 || width >= own_threads || width > kWidestView) return nullptr;
  PoolView*& place = views[width - 1][number_of_thread()];
  PoolView* view = __atomic_load_n(&place, __ATOMIC_ACQUIRE);
  if (view != nullptr) return view;
  if (!making.acquire()) return nullptr;
  view = __atomic_load_n(&place, __ATOMIC_RELAXED);
  if (view == nullptr) {
    view = make(functions, width);
    __atomic_store_n(&place, view, __ATOMIC_RELEASE);
  }
  making.release();
  return view;
}

}  // namespace

bool learn_pool(const TensorflowFunctions& functions, void* device) {
  const uint32_t now = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
  if (now != kUnknown) return now == kFit;
  uint32_t unknown = kUnknown;
  if (!__atomic_compare_exchange_n(&state, &unknown, kLearning, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED)) {
    return false;
  }
  const bool fit = learn(functions, device);
  if (!fit) log_line("TensorFlow's pool is not as expected: its ops are observed only");
  __atomic_store_n(&state, fit ? kFit : kUnfit, __ATOMIC_RELEASE);
  return fit;
}

int pool_threads() {
  return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == kFit ? own_threads : 0;
}

const void* eigen_device_view(const TensorflowFunctions& functions, const void* own, int width) {
  const PoolView* view = own == own_eigen ? view_of(functions, width) : nullptr;
  return view == nullptr ? nullptr : &view->eigen;
}

const CpuWorkers* workers_view(const TensorflowFunctions& functions, const CpuWorkers* own,
                               int width) {
  const PoolView* view = own == own_workers ? view_of(functions, width) : nullptr;
  return view == nullptr ? nullptr : &view->workers;
}

}  // namespace optile::preload
