#include "bindings/cli/top/core_map.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "bindings/cli/top/shown_text.h"

namespace optile::cli {
namespace {

constexpr int kColours = 6;
constexpr std::size_t kRoomyRows = 2;
constexpr std::size_t kSinglesTogether = 8;  // cores that share no cache, between two gaps

struct Cell {
  std::string text;
  Style style;
};

// Cells that stand together: a tile, or some cores that share nothing.
struct Block {
  int numa_node = 0;
  bool tile = false;
  int first = 0;  // number of its first core
  std::vector<Cell> cells;
};

struct Form {
  bool roomy = false;     // a blank between cells
  bool brackets = false;  // around tiles, and a blank between blocks
};

class CellsOfCores {
 public:
  CellsOfCores(const Snapshot& seen, const Letters& letters, uint64_t selected)
      : letters_(letters), selected_(selected), columns_(letters.columns()) {
    for (const ClientSeen& client : seen.clients) {
      for (const int core : client.cores) users_[core].push_back(&client);
      for (const int core : client.lends) lenders_[core] = client.id;
    }
  }

  Cell at(const CoreSeen& core) const {
    const auto found = users_.find(core.number);
    if (found == users_.end()) return mark(core.granted ? '.' : '-', {.dim = true});
    const std::vector<const ClientSeen*>& users = found->second;
    const bool chosen = std::any_of(users.begin(), users.end(),
                                    [&](const auto* one) { return one->id == selected_; });
    if (users.size() > 1 || users.front()->fraction < 1) {
      return mark('*', {.bold = true, .reverse = chosen});
    }
    const uint64_t user = users.front()->id;
    std::string letter = letters_.of(user);
    const auto lender = lenders_.find(core.number);
    if (lender != lenders_.end() && lender->second != user) {
      for (char& c : letter) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return {fitted(letter, columns_), client_style(letters_, user, chosen)};
  }

 private:
  Cell mark(char sign, Style style) const {
    return {std::string(static_cast<std::size_t>(columns_), sign), style};
  }

  const Letters& letters_;
  uint64_t selected_;
  int columns_;
  std::map<int, std::vector<const ClientSeen*>> users_;
  std::map<int, uint64_t> lenders_;
};

std::vector<Block> blocks_of(const Snapshot& seen, const CellsOfCores& cells) {
  std::vector<Block> blocks;
  for (const TileSeen& tile : seen.tiles) {
    const bool several = tile.cores.size() > 1;
    const bool joins = !several && !blocks.empty() && !blocks.back().tile &&
                       blocks.back().numa_node == tile.numa_node &&
                       blocks.back().cells.size() < kSinglesTogether;
    if (!joins) blocks.push_back({tile.numa_node, several, tile.cores.front().number, {}});
    for (const CoreSeen& core : tile.cores) blocks.back().cells.push_back(cells.at(core));
  }
  // Nodes one after the other, whatever the order of the tiles.
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const Block& a, const Block& b) { return a.numa_node < b.numa_node; });
  return blocks;
}

// Lays blocks into rows. A block that is wider than a row is broken.
class Rows {
 public:
  Rows(const Snapshot& seen, Form form, int columns)
      : form_(form), columns_(columns), several_nodes_(seen.numa_nodes > 1) {}

  Picture lay(const std::vector<Block>& blocks) {
    int node = -1;
    for (const Block& block : blocks) {
      if (block.numa_node != node) {
        node = block.numa_node;
        begin_row(several_nodes_ ? "node " + std::to_string(node) : "cores");
      }
      put(block);
    }
    return std::move(rows_);
  }
  // Cells in every row.
  const std::vector<std::size_t>& counts() const { return counts_; }

 private:
  void begin_row(const std::string& name) {
    Line line;
    add(line, fitted(name, kNameColumns) + " ", {.dim = true});
    rows_.push_back(std::move(line));
    counts_.push_back(0);
    used_ = kNameColumns + 1;
    fresh_ = true;
  }

  int width_of(const Block& block) const {
    const auto cells = static_cast<int>(block.cells.size());
    const int cell = columns_of(block.cells.front().text);
    return cells * cell + (form_.roomy ? cells - 1 : 0) + (form_.brackets && block.tile ? 2 : 0);
  }

  void put(const Block& block) {
    const bool gap = form_.brackets && !fresh_;
    if (!fresh_ && used_ + (gap ? 1 : 0) + width_of(block) > columns_) begin_row("");
    if (form_.brackets && !fresh_) plain(" ");
    if (form_.brackets && block.tile) plain("[");
    bool first = true;
    for (const Cell& cell : block.cells) {
      const int wanted = columns_of(cell.text) + (form_.roomy && !first ? 1 : 0);
      if (used_ + wanted > columns_ && !fresh_) {
        begin_row("");
        first = true;
      }
      if (form_.roomy && !first) plain(" ");
      add(rows_.back(), cell.text, cell.style);
      used_ += columns_of(cell.text);
      ++counts_.back();
      first = false;
      fresh_ = false;
    }
    if (form_.brackets && block.tile) plain("]");
  }

  void plain(const char* text) {
    add(rows_.back(), text, {.dim = true});
    used_ += columns_of(text);
  }

  static constexpr int kNameColumns = 7;

  Form form_;
  int columns_;
  bool several_nodes_;
  Picture rows_;
  std::vector<std::size_t> counts_;
  int used_ = 0;
  bool fresh_ = true;  // nothing in the row yet
};

// Keeps so many rows; the last says how many cores are not shown.
void leave_out(Picture& rows, const std::vector<std::size_t>& counts, std::size_t most) {
  std::size_t missing = 0;
  for (std::size_t i = most - 1; i < counts.size(); ++i) missing += counts[i];
  rows.resize(most);
  rows.back().clear();
  add(rows.back(), "and " + std::to_string(missing) + " more cores", {.dim = true});
}

}  // namespace

Style client_style(const Letters& letters, uint64_t client, bool selected) {
  return {.colour = 1 + letters.place_of(client) % kColours, .bold = true, .reverse = selected};
}

Picture core_map(const Snapshot& seen, const Letters& letters, uint64_t selected,
                 MapLimits limits) {
  const std::vector<Block> blocks = blocks_of(seen, CellsOfCores(seen, letters, selected));
  const auto most = static_cast<std::size_t>(std::max(0, limits.rows));
  for (const Form form : {Form{true, true}, Form{false, true}, Form{false, false}}) {
    Rows rows(seen, form, std::max(1, limits.columns));
    Picture laid = rows.lay(blocks);
    const bool fits = most == 0 || laid.size() <= most;
    if (form.roomy && laid.size() > kRoomyRows) continue;
    if (fits || (most > 0 && !form.brackets)) {
      if (!fits) leave_out(laid, rows.counts(), most);
      return laid;
    }
  }
  return {};
}

}  // namespace optile::cli
