#include "daemon/transport/client_memory.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "base/text_file.h"

// Newer than the C library's headers on some systems; the kernel says no where it lacks it.
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace optile::daemon {
namespace {

using base::errno_error;
using base::UniqueFd;

base::Result<UniqueFd> make_file(const char* name, std::size_t bytes, ClientMemory::Pages pages) {
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return errno_error("cannot make a memory file for a client", errno);
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return errno_error("cannot size a client's memory file", errno);
  }
  if (pages == ClientMemory::Pages::kAtOnce &&
      fallocate(fd.get(), 0, 0, static_cast<off_t>(bytes)) != 0) {
    return errno_error("no memory for a client's memory file", errno);
  }
  return fd;
}

base::Result<Mapping> map_file(const UniqueFd& fd, std::size_t bytes, int protection) {
  void* address = mmap(nullptr, bytes, protection, MAP_SHARED, fd.get(), 0);
  if (address == MAP_FAILED) return errno_error("cannot map a client's memory file", errno);
  return Mapping(address, bytes);
}

base::Status seal(const UniqueFd& fd, int seals) {
  if (fcntl(fd.get(), F_ADD_SEALS, seals) == 0) return {};
  return errno_error("cannot seal a client's memory file (Linux 5.1 or newer is needed)", errno);
}

}  // namespace

Mapping::Mapping(Mapping&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (address_ != nullptr) munmap(address_, bytes_);
}

ClientMemory::Pages ClientMemory::fitting_pages(const std::string& path) {
  constexpr char kNeverMoreThanThereIs = '2';
  const std::string text = base::read_text_file(path).value_or("");
  return text.starts_with(kNeverMoreThanThereIs) ? Pages::kAtOnce : Pages::kWhenWritten;
}

base::Result<ClientMemory> ClientMemory::make(Pages pages) {
  constexpr int kFixedSize = F_SEAL_SHRINK | F_SEAL_GROW;
  base::Result<UniqueFd> plan_fd = make_file("optile-plan", sizeof(optile_plan_region), pages);
  if (!plan_fd.ok()) return plan_fd.error();
  base::Result<UniqueFd> client_fd =
      make_file("optile-client", sizeof(optile_client_region), pages);
  if (!client_fd.ok()) return client_fd.error();
  base::Result<Mapping> plan =
      map_file(plan_fd.value(), sizeof(optile_plan_region), PROT_READ | PROT_WRITE);
  if (!plan.ok()) return plan.error();
  base::Result<Mapping> client =
      map_file(client_fd.value(), sizeof(optile_client_region), PROT_READ);
  if (!client.ok()) return client.error();
  base::Status sealed = seal(plan_fd.value(), kFixedSize | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
  if (sealed.ok()) sealed = seal(client_fd.value(), kFixedSize | F_SEAL_SEAL);
  if (!sealed.ok()) return sealed.error();

  ClientMemory memory;
  memory.plan_ = std::move(plan).value();
  memory.client_ = std::move(client).value();
  memory.descriptors_.plan = std::move(plan_fd).value();
  memory.descriptors_.client = std::move(client_fd).value();
  return memory;
}

ClientMemory::Descriptors ClientMemory::take_descriptors() {
  return std::move(descriptors_);
}

}  // namespace optile::daemon
