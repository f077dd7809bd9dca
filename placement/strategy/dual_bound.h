// A lower bound for a priced strategy problem by passing messages (sequential tree-reweighted
// message passing, Kolmogorov 2006): costs are moved between nodes and edges, never changing the
// cost of any choice, until the sum of the separate minima is as large as it gets. Trees that hang
// from the rest are eliminated exactly (OptCNN's node elimination with one edge).
// All numbers are multiples of 1/1024 below 2^43, where doubles are exact, and sums of them are
// whole numbers: the bound is proven, not rounded. It is one of the core's cost, in its scale;
// rounding there is downwards, too.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/strategy/core.h"
#include "placement/strategy/memory_prices.h"

namespace optile::placement {

class DualBound {
 public:
  // The core must outlive it. Prices are 0 at first.
  explicit DualBound(const Core& core);

  // Takes new prices; the messages stay, which is a good start for prices near the old ones.
  void set_prices(const MemoryPrices& prices);
  // One sweep there and one back. Returns the bound on the core's cost, prices taken off.
  double sweep();
  // A choice that follows the messages: each node in order takes what is best with the nodes before
  // it and the messages of those after it.
  std::vector<std::uint16_t> decode() const;
  // The strategies where the bound's separate minima lie; their usage is a subgradient.
  std::vector<std::uint16_t> minima() const;
  // Of every node its strategies, the most promising by the messages first; of nodes that hang,
  // in their own order.
  std::vector<std::vector<std::uint16_t>> ranked() const;

 private:
  struct Hanging {
    std::uint32_t node;
    CoreNeighbour up;  // as seen from the node
  };

  void find_hanging();
  void raise_hanging();
  void gather(std::uint32_t node, std::vector<double>& into) const;
  void send(std::uint32_t node, const CoreNeighbour& to, const std::vector<double>& share);
  Total normalise(const CoreNeighbour& to);
  Total sweep_node(std::uint32_t node, bool forward);
  double* message_to(const CoreNeighbour& to);                  // what the neighbour receives
  const double* message_from(const CoreNeighbour& from) const;  // what it has sent here
  std::uint16_t best_reply(const Hanging& leaf, std::uint16_t parent) const;
  void settle_hanging(std::vector<std::uint16_t>& values) const;

  const Core& core_;
  std::vector<std::vector<double>> costs_;  // priced
  std::vector<double> messages_;
  std::vector<std::size_t> to_first_;  // of each edge, into messages_
  std::vector<std::size_t> to_second_;
  std::vector<Hanging> hanging_;  // leaves first
  std::vector<char> hangs_;
  std::vector<std::int64_t> chains_;  // how many run through a node
  Total hanging_bound_ = 0;           // in steps of the grid
  Total worth_of_room_ = 0;
  std::vector<double> here_;  // scratch
};

}  // namespace optile::placement
