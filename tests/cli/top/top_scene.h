// Machines, clients and whole scenes for the tests of `optile top`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bindings/cli/top/layout.h"

namespace optile::cli {

inline Snapshot machine_of(int nodes, int tiles_of_node, int cores_of_tile) {
  Snapshot seen;
  seen.version = "1.2.3";
  seen.machine = "described";
  seen.numa_nodes = static_cast<uint64_t>(nodes);
  for (int node = 0; node < nodes; ++node) {
    for (int i = 0; i < tiles_of_node; ++i) {
      TileSeen tile;
      tile.numa_node = node;
      for (int core = 0; core < cores_of_tile; ++core) {
        tile.cores.push_back({static_cast<int>(seen.cores++), true});
      }
      seen.tiles.push_back(std::move(tile));
    }
  }
  seen.budget_cores = seen.cores;
  return seen;
}

inline std::vector<int> cores_between(int first, int last) {
  std::vector<int> cores;
  for (int core = first; core <= last; ++core) cores.push_back(core);
  return cores;
}

inline ClientSeen client_with(uint64_t id, std::vector<int> cores) {
  ClientSeen client;
  client.id = id;
  client.pid = static_cast<int64_t>(1000 + id);
  client.command = "train.py --seed " + std::to_string(id);
  client.mode = "tune";
  client.state = "running";
  client.phase = "tuned";
  client.steps = 100;
  client.decision = "planned widths won";
  client.least_width = 1;
  client.most_width = 4;
  client.leased = true;
  client.cores = std::move(cores);
  client.priority = "normal";
  client.reason = "client " + std::to_string(id) + " arrived";
  return client;
}

inline Scene scene_of(Snapshot seen) {
  Scene scene;
  scene.letters.follow(seen.clients);
  scene.seen = std::move(seen);
  return scene;
}

}  // namespace optile::cli
