// TensorFlow's functions behind those that are interposed, and the few that answer questions about
// a kernel or a device. By their symbols alone: what they are called has been the same since 2.9,
// and the wheels export them; no header of TensorFlow's is needed, and no compiler on the machine.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace optile::preload {

// libstdc++'s std::string, as it is returned.
struct TraceText {
  char* text;
  size_t bytes;
  char inside[16];

  bool is_elsewhere() const { return text != inside; }
};

// DeviceBase::CpuWorkerThreads.
struct CpuWorkers {
  int num_threads;
  void* pool;  // tsl::thread::ThreadPool
};

struct TensorflowFunctions {
  void (*compute)(void* device, void* kernel, void* context) = nullptr;
  const void* (*eigen_device)(void* device) = nullptr;
  const CpuWorkers* (*workers)(const void* device) = nullptr;
  void (*trace)(TraceText* text, const void* kernel, const void* context, bool verbose) = nullptr;
  void (*free_text)(void* text) = nullptr;
  void* (*eigen_pool)(const void* pool) = nullptr;
  void (*make_pool)(void* storage, void* eigen_pool) = nullptr;

  bool can_tell_kernels() const { return trace != nullptr && free_text != nullptr; }
  bool can_narrow() const { return eigen_pool != nullptr && make_pool != nullptr; }
};

// As the library around `caller`, which is TensorFlow's own, sees them. The first call decides.
// Any thread; slow the first time.
TensorflowFunctions tensorflow_functions(const void* caller);

}  // namespace optile::preload
