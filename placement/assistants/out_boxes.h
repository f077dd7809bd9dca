// Where devices offer nodes to each other. Source: Tavarageri et al., scheduling assistants: each
// device has an out-box for each resource, with at most one node in it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace optile::placement {

enum class Resource { kCompute, kMemoryBandwidth, kNetwork };
inline constexpr std::size_t kResources = 3;

using AssistantDevice = std::uint32_t;
using AssistantNodeId = std::uint32_t;

struct Offer {
  AssistantNodeId node = 0;
  AssistantDevice owner = 0;
  Resource resource = Resource::kCompute;
  double demand = 0;       // what it adds to the use of the resource, 1 = all of it
  std::int64_t bytes = 0;  // of state, which the taker has to hold
  double owner_use = 0;    // when it was offered
};

// A claimed offer: from the beginning of step `epoch` on the taker runs the node.
struct Handover {
  Offer offer;
  AssistantDevice taker = 0;
  std::uint64_t epoch = 0;
};

// A cluster keeps them in its store; this interface is what assistants need of it. Each call is
// atomic: of several claims of one offer, and a withdrawal beside them, exactly one succeeds.
class OutBoxes {
 public:
  virtual ~OutBoxes() = default;
  // False where this out-box of the owner is not empty.
  virtual bool post(const Offer& offer) = 0;
  // False where it is claimed already, or not there.
  virtual bool withdraw(AssistantNodeId node, AssistantDevice owner) = 0;
  // False where somebody was faster.
  virtual bool claim(AssistantNodeId node, AssistantDevice taker, std::uint64_t epoch) = 0;
  virtual std::vector<Offer> offers(Resource resource) const = 0;
  // Claims in which the device is owner or taker and that it has not confirmed.
  virtual std::vector<Handover> handovers(AssistantDevice device) const = 0;
  virtual void confirm(AssistantNodeId node, AssistantDevice device) = 0;
};

// In the memory of one process and of one thread: for one host, and for simulations.
class LocalOutBoxes final : public OutBoxes {
 public:
  bool post(const Offer& offer) override;
  bool withdraw(AssistantNodeId node, AssistantDevice owner) override;
  bool claim(AssistantNodeId node, AssistantDevice taker, std::uint64_t epoch) override;
  std::vector<Offer> offers(Resource resource) const override;
  std::vector<Handover> handovers(AssistantDevice device) const override;
  void confirm(AssistantNodeId node, AssistantDevice device) override;

 private:
  struct Claimed {
    Handover handover;
    bool owner_knows = false;
    bool taker_knows = false;
  };
  std::map<std::pair<AssistantDevice, Resource>, Offer> offers_;
  std::map<AssistantNodeId, Claimed> claimed_;
};

}  // namespace optile::placement
