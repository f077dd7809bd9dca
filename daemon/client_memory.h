// The two memory files of one client: made, sized, mapped and sealed here, then passed to the
// client once. Owned by that client's record; the daemon's one thread.
//
// Seals: neither file can shrink or grow, so reading one never ends in SIGBUS; the plan file cannot
// be mapped for writing by anybody after us. The client's file is mapped read-only here.
#pragma once

#include <cstddef>

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
  // kUnavailable without memory files, descriptors or the seals (Linux before 5.1).
  static base::Result<ClientMemory> make();

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
