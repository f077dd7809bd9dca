#include "placement/step/ilp.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "base/at.h"
#include "placement/infinity.h"
#include "placement/step/step_methods.h"
#include "placement/step/stretch_program.h"
#include "placement/step/stretches.h"

namespace optile::placement {
namespace {

using base::at;

constexpr double kAnnealPart = 0.35;  // of the time; the rest is CBC's
constexpr std::uint64_t kCandidatesPerNode = 1000;
constexpr double kLeastRoom = 1e-5;    // of a bound, for CBC's tolerances
constexpr double kRoomPerNode = 2e-7;  // they can add up along a path; each is 1e-7
constexpr int kMostSolved = 1500;      // nodes of a stretch that is given to CBC

// Devices of one kind can change places.
std::vector<int> kinds_of(const Cluster& cluster) {
  std::map<std::tuple<DeviceKind, double, double>, int> known;
  std::vector<int> kinds;
  for (const Device& device : cluster.devices) {
    const auto [at, fresh] = known.emplace(
        std::tuple(device.kind, device.speed, device.memory_bytes), static_cast<int>(known.size()));
    kinds.push_back(at->second);
  }
  return kinds;
}

// A stretch with its waists on given devices.
struct Way {
  Way(const Stretch& stretch, const Cluster& cluster, const Units& units,
      const StepSetting& setting, const Ends& where)
      : ends(where), program(stretch, cluster, units, setting, where) {
    bound = program.free_bound();
  }
  Ends ends;
  StretchProgram program;
  double bound = 0;
  double cost = kInfinity;        // of the best that was simulated
  std::vector<DeviceId> devices;  // likewise, of the stretch's nodes
};

struct Piece {
  Piece(const Stretch& which, const Cluster& cluster)
      : stretch(which), units(Units::of(which.graph, cluster)) {}
  const Stretch& stretch;
  Units units;
  // By the kinds of the devices at both ends, and whether they are the same device.
  std::map<std::tuple<int, int, bool>, Way> ways;
};

// The waists stay where they are told to.
class PinnedModel : public CostModel {
 public:
  PinnedModel(const Piece& piece, const Ends& ends, std::unique_ptr<CostModel> model, double before)
      : piece_(piece), ends_(ends), model_(std::move(model)), before_(before) {}
  void pin(std::vector<DeviceId>& units) const {
    if (ends_.source >= 0) units[at(piece_.units.of(0))] = ends_.source;
    if (ends_.sink >= 0) units[at(piece_.units.of(piece_.stretch.sink))] = ends_.sink;
  }
  Score score(const std::vector<DeviceId>& units) override {
    pinned_ = units;
    pin(pinned_);
    return without_source(model_->score(pinned_));
  }
  Score score_changed(const std::vector<DeviceId>& units,
                      std::span<const UnitId> changed) override {
    pinned_ = units;
    pin(pinned_);
    return without_source(model_->score_changed(pinned_, changed));
  }
  void keep() override { model_->keep(); }

 private:
  Score without_source(Score score) const {
    score.cost -= before_;
    return score;
  }

  const Piece& piece_;
  Ends ends_;
  std::unique_ptr<CostModel> model_;
  double before_;  // what the source takes in the simulation and not here
  std::vector<DeviceId> pinned_;
};

class Solver {
 public:
  Solver(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
         const Request& request, Budget& budget)
      : graph_(graph),
        cluster_(cluster),
        setting_(setting),
        request_(request),
        budget_(budget),
        kinds_(kinds_of(cluster)),
        stretches_(stretches_of(graph)) {
    for (const Stretch& stretch : stretches_) {
      Piece& piece = pieces_.emplace_back(stretch, cluster);
      for (DeviceId a = stretch.has_source ? 0 : -1; a < (stretch.has_source ? devices() : 0);
           ++a) {
        const bool sink = stretch.sink >= 0;
        for (DeviceId b = sink ? 0 : -1; b < (sink ? devices() : 0); ++b) {
          piece.ways.try_emplace(key(a, b), stretch, cluster, piece.units, setting, Ends{a, b});
        }
      }
    }
  }

  // Of each node; empty where nothing fits.
  std::vector<DeviceId> run() {
    std::vector<std::pair<Piece*, Way*>> all;
    for (Piece& piece : pieces_) {
      for (auto& [where, way] : piece.ways) all.emplace_back(&piece, &way);
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& one, const auto& other) {
      return one.first->stretch.graph.size() < other.first->stretch.graph.size();
    });
    double nodes = 0;
    for (const auto& [piece, way] : all) nodes += piece->stretch.graph.size();
    double left = nodes;
    for (const auto& [piece, way] : all) {
      // The larger ones have the time that the smaller ones leave.
      anneal(*piece, *way, kAnnealPart * piece->stretch.graph.size() / left);
      left -= (1 - kAnnealPart) * piece->stretch.graph.size();
    }
    left = nodes;
    for (const auto& [piece, way] : all) {
      Budget part =
          budget_.part(piece->stretch.graph.size() / left, piece->stretch.graph.size() / left);
      solve(*piece, *way, part);
      budget_.absorb(part);
      left -= piece->stretch.graph.size();
    }
    return join();
  }
  double lower_bound() const { return lower_bound_; }

 private:
  int devices() const { return cluster_.size(); }
  std::tuple<int, int, bool> key(DeviceId a, DeviceId b) const {
    return {a < 0 ? -1 : kinds_[at(a)], b < 0 ? -1 : kinds_[at(b)], a == b};
  }

  std::unique_ptr<PinnedModel> model(const Piece& piece, const Way& way) const {
    return std::make_unique<PinnedModel>(
        piece, way.ends, step_model(piece.stretch.graph, cluster_, piece.units, setting_),
        piece.stretch.has_source ? setting_.op_ms : 0);
  }

  // Simulates a candidate and keeps it if it is the best.
  void offer(const Piece& piece, Way& way, std::vector<DeviceId> units) {
    const std::unique_ptr<PinnedModel> simulated = model(piece, way);
    const Score score = simulated->score(units);
    budget_.count();
    if (score.excess > 0 || score.cost >= way.cost) return;
    simulated->pin(units);
    way.cost = score.cost;
    way.devices = piece.units.to_nodes(units);
  }

  void anneal(const Piece& piece, Way& way, double part) {
    const Graph& graph = piece.stretch.graph;
    for (const bool earliest_first : {false, true}) {
      offer(piece, way, list_schedule(graph, cluster_, piece.units, setting_, earliest_first));
    }
    offer(piece, way, on_one_device(piece.units, cluster_));
    const int free =
        piece.units.size() - (way.ends.source >= 0 ? 1 : 0) - (way.ends.sink >= 0 ? 1 : 0);
    if (free <= 0 || solved(piece, way)) return;
    const Neighbours neighbours(piece.units);
    SearchSpace space{piece.units, neighbours, unit_order(graph, piece.units), {}, {}};
    space.devices.resize(cluster_.devices.size());
    std::iota(space.devices.begin(), space.devices.end(), 0);
    const Budget share = budget_.part(part, part);
    Limits limits;
    limits.cancelled = request_.limits.cancelled;
    if (budget_.limits_time()) limits.seconds = share.seconds_left();
    limits.evaluations = std::min(share.evaluations_left(),
                                  kCandidatesPerNode * static_cast<std::uint64_t>(graph.size()));
    Budget mine(limits);
    std::vector<UnitAssignment> starts = {
        list_schedule(graph, cluster_, piece.units, setting_, true),
        on_one_device(piece.units, cluster_)};
    const CostModelMaker make = [&] { return model(piece, way); };
    offer(piece, way, search(space, make, starts, request_, mine).assignment);
    budget_.absorb(mine);
  }

  static double room(const Piece& piece) {
    return std::max(kLeastRoom, kRoomPerNode * piece.stretch.graph.size());
  }
  static bool solved(const Piece& piece, const Way& way) {
    return way.cost - way.bound <= 2 * room(piece) * way.cost;
  }

  // What no schedule needs more than: all nodes one after the other, and all tensors.
  double serial(const Piece& piece) const {
    double sum = 0;
    for (const Node& node : piece.stretch.graph.nodes()) {
      double longest = 0;
      for (DeviceId d = 0; d < devices(); ++d) {
        const double time = cluster_.time_ms(node, d);
        if (time < kInfinity) longest = std::max(longest, time);
      }
      sum += longest + setting_.op_ms + cluster_.output_ms(node);
    }
    return 2 * sum;
  }

  void solve(const Piece& piece, Way& way, Budget& budget) {
    if (piece.stretch.graph.size() > kMostSolved) return;
    for (const bool with_orders : {false, true}) {
      if (solved(piece, way) || !(way.bound < kInfinity) || budget.spent_now()) return;
      if (with_orders && !way.program.can_order()) return;
      const double below = std::min(way.cost, serial(piece));
      if (!(below > 0)) return;
      // Most of the time goes to the program without orders: it says more sooner.
      Budget part = with_orders ? budget.part(1, 1) : budget.part(0.7, 0.7);
      const ProgramAnswer answer = solve_program(way.program.program(below, with_orders), 1, part);
      budget.absorb(part);
      way.bound = std::max(way.bound, answer.bound * below * (1 - room(piece)));
      if (!answer.solution.empty()) offer(piece, way, way.program.devices(answer.solution));
    }
  }

  // Puts the ways of all stretches together.
  std::vector<DeviceId> join() {
    const auto count = at(devices());
    std::vector<double> bound = {0};  // by the device of the waist; one entry where there is none
    std::vector<double> cost = {0};
    std::vector<std::vector<std::size_t>> from;
    for (const Piece& piece : pieces_) {
      const std::size_t ends = piece.stretch.sink >= 0 ? count : 1;
      std::vector<double> next_bound(ends, kInfinity);
      std::vector<double> next_cost(ends, kInfinity);
      std::vector<std::size_t>& chosen = from.emplace_back(ends, 0);
      for (std::size_t a = 0; a < bound.size(); ++a) {
        for (std::size_t b = 0; b < ends; ++b) {
          const Way& way = piece.ways.at(key_of(piece, a, b));
          next_bound[b] = std::min(next_bound[b], bound[a] + way.bound);
          if (cost[a] + way.cost >= next_cost[b]) continue;
          next_cost[b] = cost[a] + way.cost;
          chosen[b] = a;
        }
      }
      bound = std::move(next_bound);
      cost = std::move(next_cost);
    }
    lower_bound_ = *std::min_element(bound.begin(), bound.end());
    const auto best = std::min_element(cost.begin(), cost.end());
    if (!(*best < kInfinity)) return {};
    return assignment(static_cast<std::size_t>(best - cost.begin()), from);
  }
  std::tuple<int, int, bool> key_of(const Piece& piece, std::size_t a, std::size_t b) const {
    return key(piece.stretch.has_source ? static_cast<DeviceId>(a) : -1,
               piece.stretch.sink >= 0 ? static_cast<DeviceId>(b) : -1);
  }

  std::vector<DeviceId> assignment(std::size_t last,
                                   const std::vector<std::vector<std::size_t>>& from) const {
    std::vector<DeviceId> found(at(graph_.size()), 0);
    std::size_t b = last;
    for (std::size_t i = pieces_.size(); i-- > 0;) {
      const Piece& piece = pieces_[i];
      const std::size_t a = from[i][b];
      const Way& way = piece.ways.at(key_of(piece, a, b));
      // Devices of one kind change places so that the waists lie where they should.
      std::vector<DeviceId> to(at(devices()));
      std::iota(to.begin(), to.end(), 0);
      const auto put = [&](DeviceId device, std::size_t there) {
        if (device < 0) return;
        const auto holder = std::find(to.begin(), to.end(), static_cast<DeviceId>(there));
        std::swap(*holder, to[at(device)]);
      };
      put(way.ends.source, a);
      put(way.ends.sink, b);
      for (std::size_t n = piece.stretch.has_source ? 1 : 0; n < way.devices.size(); ++n) {
        found[at(piece.stretch.nodes[n])] = to[at(way.devices[n])];
      }
      b = a;
    }
    return found;
  }

  const Graph& graph_;
  const Cluster& cluster_;
  StepSetting setting_;
  Request request_;
  Budget& budget_;
  std::vector<int> kinds_;
  std::vector<Stretch> stretches_;
  std::deque<Piece> pieces_;
  double lower_bound_ = 0;
};

}  // namespace

IlpFound by_program(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                    const Request& request, Budget& budget) {
  const Units units = Units::of(graph, cluster);
  Solver solver(graph, cluster, setting, request, budget);
  const std::unique_ptr<CostModel> model = step_model(graph, cluster, units, setting);
  std::optional<Candidate> best;
  const auto offer = [&](UnitAssignment assignment) {
    Candidate candidate{std::move(assignment), {}};
    candidate.score = model->score(candidate.assignment);
    budget.count();
    if (!best || candidate < *best) best = std::move(candidate);
  };
  offer(on_one_device(units, cluster));
  for (const bool earliest_first : {false, true}) {
    offer(list_schedule(graph, cluster, units, setting, earliest_first));
  }
  const std::vector<DeviceId> joined = solver.run();
  if (!joined.empty()) offer(units.from_nodes(joined));
  return {units.to_nodes(best->assignment), solver.lower_bound()};
}

}  // namespace optile::placement
