#include "perfmodel/topology_text.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace optile::perfmodel {
namespace {

constexpr std::size_t kQuoted = 40;  // bytes of a name in a message

bool is_space(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

bool in_name(char byte) {
  const auto plain = static_cast<unsigned char>(byte);
  return std::isalnum(plain) != 0 || plain >= 0x80 || byte == '_' || byte == ':' || byte == '-' ||
         byte == '.';
}

std::string quoted(std::string_view name) {
  return std::string(name.substr(0, kQuoted)) + (name.size() > kQuoted ? "…" : "");
}

// Goes through the text once and stops at the first problem.
class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  std::optional<TopologyProblem> run() {
    while (!problem_.has_value() && at_ < text_.size()) {
      if (text_[at_] == '<') {
        markup();
      } else {
        characters();
      }
    }
    if (!problem_.has_value()) end();
    return problem_;
  }

 private:
  struct Open {
    std::string_view name;
    std::size_t at = 0;
  };

  void fail(std::size_t at, std::string what) {
    const std::string_view before = text_.substr(0, at);
    const auto lines = std::count(before.begin(), before.end(), '\n');
    const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
    problem_ = {static_cast<int>(lines) + 1, static_cast<int>(at - line_start) + 1,
                std::move(what)};
  }

  void characters() {
    while (at_ < text_.size() && text_[at_] != '<') {
      if (open_.empty() && !is_space(text_[at_])) {
        return fail(at_, root_.empty() ? "XML begins with \"<\"" : "something behind the last tag");
      }
      ++at_;
    }
  }

  void markup() {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("<?")) return skip("?>", "<?");
    if (rest.starts_with("<!--")) return skip("-->", "<!--");
    if (rest.starts_with("<!")) return skip(">", "<!");
    rest.starts_with("</") ? closing() : opening();
  }

  void skip(std::string_view until, const std::string& from) {
    const std::size_t found = text_.find(until, at_);
    if (found == std::string_view::npos) return fail(at_, from + " is never closed");
    at_ = found + until.size();
  }

  void space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  bool take(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  std::string_view name() {
    const std::size_t from = at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    return text_.substr(from, at_ - from);
  }

  void closing() {
    const std::size_t from = at_;
    at_ += 2;
    const std::string_view closed = name();
    space();
    if (!take('>')) return fail(at_, "\">\" is expected here");
    if (open_.empty() || open_.back().name != closed) {
      const std::string open =
          open_.empty() ? "nothing is open" : "<" + quoted(open_.back().name) + "> is open";
      return fail(from, "</" + quoted(closed) + "> where " + open);
    }
    open_.pop_back();
  }

  void opening() {
    const std::size_t from = at_++;
    const std::string_view opened = name();
    if (opened.empty()) return fail(at_, "a name is expected here");
    if (!enter(opened, from)) return;
    while (!problem_.has_value()) {
      space();
      if (take('>')) return;
      if (take('/')) {
        if (!take('>')) return fail(at_, "\">\" is expected here");
        open_.pop_back();
        return;
      }
      attribute();
    }
  }

  bool enter(std::string_view opened, std::size_t from) {
    if (open_.empty()) {
      if (!root_.empty()) {
        fail(from, "<" + quoted(opened) + "> behind </" + quoted(root_) + ">");
        return false;
      }
      if (opened != "topology" && opened != "root") {  // of version 2, of version 1
        fail(from, "<topology> is expected here, not <" + quoted(opened) + ">");
        return false;
      }
      root_ = opened;
      root_at_ = from;
    }
    has_objects_ = has_objects_ || opened == "object";
    open_.push_back({opened, from});
    return true;
  }

  void attribute() {
    if (name().empty()) return fail(at_, "an attribute or \">\" is expected here");
    space();
    if (!take('=')) return fail(at_, "\"=\" is expected here");
    space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '"' && quote != '\'') return fail(at_, "a value in quotes is expected here");
    const std::size_t closed = text_.find(quote, at_ + 1);
    if (closed == std::string_view::npos) return fail(at_, "this quote is never closed");
    at_ = closed + 1;
  }

  void end() {
    if (!open_.empty()) {
      fail(open_.back().at, "<" + quoted(open_.back().name) + "> is never closed");
    } else if (root_.empty()) {
      fail(text_.size(), "nothing is in it");
    } else if (!has_objects_) {
      fail(root_at_, "<" + quoted(root_) + "> has no <object>");
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Open> open_;  // elements, the innermost last
  std::string_view root_;
  std::size_t root_at_ = 0;
  bool has_objects_ = false;
  std::optional<TopologyProblem> problem_;
};

}  // namespace

std::optional<TopologyProblem> find_topology_problem(std::string_view text) {
  return Scan(text).run();
}

}  // namespace optile::perfmodel
