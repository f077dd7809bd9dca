// The two memory files of one client: made, sized, mapped and sealed here, then passed to the
// client once. Owned by that client's record; the daemon's one thread.
//
// Where the machine promises no more memory than it has (vm.overcommit_memory=2), every page is
// taken at once: one that cannot be had when it is first written is a bus error in the client.
//
// Seals: neither file can shrink or grow, so reading one never ends in SIGBUS; the plan file cannot
// be mapped for writing by anybody after us. The client's file is mapped read-only here.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bindings/abi/layout.h"

namespace optile::daemon {

// A mapping with one owner.
class Mapping {
 public:
  Mapping() = default;
  Mapping(void* address, std::size_t bytes) : address_(address), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  void* address() const { return address_; }

 private:
  void* address_ = nullptr;
  std::size_t bytes_ = 0;
};

class ClientMemory {
 public:
  enum class Pages { kWhenWritten, kAtOnce };
  // As the machine promises memory: by the first word of this file.
  static Pages fitting_pages(const std::string& path = "/proc/sys/vm/overcommit_memory");
  // kUnavailable without memory files, descriptors or the seals (Linux before 5.1), and where the
  // pages are to be taken at once and there is no memory for them.
  static base::Result<ClientMemory> make(Pages pages = fitting_pages());

  optile_plan_region* plan() const { return static_cast<optile_plan_region*>(plan_.address()); }
  const optile_client_region* client() const {
    return static_cast<const optile_client_region*>(client_.address());
  }
  // To be passed to the client, once; the mappings stay.
  struct Descriptors {
    base::UniqueFd plan;
    base::UniqueFd client;
  };
  Descriptors take_descriptors();

 private:
  ClientMemory() = default;

  Mapping plan_;
  Mapping client_;
  Descriptors descriptors_;
};

}  // namespace optile::daemon
