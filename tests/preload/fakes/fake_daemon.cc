#include "tests/preload/fakes/fake_daemon.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "bindings/abi/mask_word.h"
#include "tests/daemon/fixtures/descriptors.h"

namespace optile::test {
namespace {

void* make_region(const char* name, size_t bytes, base::UniqueFd* fd) {
  fd->reset(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (ftruncate(fd->get(), static_cast<off_t>(bytes)) != 0) return nullptr;
  void* region = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd->get(), 0);
  fcntl(fd->get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  return region;
}

}  // namespace

FakeDaemon::FakeDaemon(const std::string& folder) : folder_(folder) {
  std::filesystem::create_directories(folder_);
  socket_path_ = folder_ + "/optiled.sock";
  const std::string attach_path = socket_path_ + OPTILE_ATTACH_SUFFIX;
  listener_.reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", attach_path.c_str());
  if (bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) abort();
  if (listen(listener_.get(), 4) != 0) abort();
}

FakeDaemon::~FakeDaemon() {
  if (server_.joinable()) server_.join();
}

void FakeDaemon::answer_one_client(uint16_t abi_version) {
  server_ = std::thread([this, abi_version] { serve(abi_version); });
}

void FakeDaemon::turn_one_away() {
  server_ = std::thread([this] {
    base::UniqueFd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)).reset();
    ++turned_away_;
  });
}

bool FakeDaemon::client_hung_up() const {
  char byte = 0;
  return recv(connection_.get(), &byte, 1, MSG_DONTWAIT) == 0;
}

void FakeDaemon::wait_for_client() {
  server_.join();
}

void FakeDaemon::serve(uint16_t abi_version) {
  connection_.reset(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (recv(connection_.get(), &attach_request_, sizeof attach_request_, 0) !=
      sizeof attach_request_)
    return;
  base::UniqueFd plan_fd;
  base::UniqueFd client_fd;
  plan_ = static_cast<optile_plan_region*>(make_region("plan", sizeof *plan_, &plan_fd));
  client_ = static_cast<optile_client_region*>(make_region("client", sizeof *client_, &client_fd));
  plan_->abi_version = OPTILE_ABI_VERSION;
  optile_store32(&plan_->magic, OPTILE_ABI_MAGIC);
  optile_attach_reply attach_reply{};
  attach_reply.header = {OPTILE_ABI_MAGIC, abi_version, OPTILE_FRAME_ATTACH_REPLY,
                         sizeof attach_reply, 0};
  attach_reply.client_id = 1;
  attach_reply.plan_region_bytes = sizeof *plan_;
  attach_reply.client_region_bytes = sizeof *client_;
  send_with_fds(connection_.get(), attach_reply, {plan_fd.get(), client_fd.get()});
}

void FakeDaemon::publish(const std::vector<PlannedOp>& ops, uint64_t marker_key,
                         const std::function<void(optile_plan_page&)>& finish) {
  ++generation_;
  optile_plan_page& page = plan_->pages[generation_ & 1];
  optile_store64(&page.generation, 0);
  std::memset(&page, 0, sizeof page);
  page.flags = OPTILE_PAGE_RECORD_ALL;
  page.marker_key = marker_key;
  for (const PlannedOp& op : ops) {
    uint32_t at = optile_plan_slot(op.key, 0);
    while (page.slots[at].key != 0) at = (at + 1) & (OPTILE_PLAN_SLOTS - 1);
    page.slots[at].key = op.key;
    page.slots[at].width = op.width;
    page.slots[at].flags = op.flags;
    for (size_t i = 0; i < op.schedule.size(); ++i) page.slots[at].schedule[i] = op.schedule[i];
    page.schedule_length = static_cast<uint32_t>(op.schedule.size());
  }
  if (finish) finish(page);
  optile_store64(&page.generation, generation_);
  optile_store64(&plan_->generation, generation_);
}

void FakeDaemon::share(uint64_t cores, uint64_t main_issuer) {
  optile_store64(&plan_->main_issuer, main_issuer);
  optile_store64(&plan_->shared_cores, cores);
}

void FakeDaemon::hold(const std::vector<int>& units) {
  uint64_t mask[OPTILE_MASK_WORDS] = {};
  for (const int unit : units) mask[unit / 64] |= uint64_t{1} << (unit % 64);
  optile_store64(&plan_->held_mask, units.empty() ? 0 : optile_mask_word(mask));
}

std::vector<optile_event> FakeDaemon::take_events() {
  std::vector<optile_event> events;
  for (uint32_t thread = 0; thread < OPTILE_MAX_THREADS; ++thread) {
    const optile_thread_slot& slot = client_->threads[thread];
    uint64_t tail = optile_load64(&plan_->tails[thread]);
    for (const uint64_t head = optile_load64(&slot.head); tail < head; ++tail) {
      events.push_back(slot.ring[tail % OPTILE_RING_EVENTS]);
    }
    optile_store64(&plan_->tails[thread], tail);
  }
  return events;
}

}  // namespace optile::test
