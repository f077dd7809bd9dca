#include "placement/tofu/operator_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace optile::placement::tofu {

namespace {

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<Reducer> reducer_of(std::string_view name) {
  if (name == "Sum") return Reducer::kSum;
  if (name == "Max") return Reducer::kMax;
  if (name == "Min") return Reducer::kMin;
  if (name == "Prod") return Reducer::kProd;
  return std::nullopt;
}

// Every step does nothing once something was wrong; the first error stands.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  base::Result<Operator> parse() {
    if (text_.size() > kMaxDescription) fail("the description is longer than 65536 bytes");
    head();
    expect('=');
    operator_.body = sum();
    if (!failed() && peek() != '\0') fail("expected the end of the description");
    check();
    if (failed()) return *error_;
    return std::move(operator_);
  }

 private:
  bool failed() const { return error_.has_value(); }

  void fail_at(std::size_t at, const std::string& what) {
    if (failed()) return;
    const auto before = text_.substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const auto start = before.rfind('\n');
    const auto column = start == std::string_view::npos ? at + 1 : at - start;
    error_ = {base::ErrorKind::kInvalid,
              "line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + what};
    at_ = text_.size();
  }
  void fail(const std::string& what) { fail_at(at_, what); }

  // The next character that is no space; '\0' at the end.
  char peek() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
    if (at_ < text_.size() && text_[at_] == '\0') fail("a zero byte");
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char c) {
    if (failed() || peek() != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!take(c)) fail(std::string("expected '") + c + "'");
  }

  std::string name(const char* of_what) {
    if (!begins_name(peek())) {
      fail(std::string("expected the name of ") + of_what);
      return {};
    }
    const std::size_t first = at_;
    while (at_ < text_.size() && (begins_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
    return std::string(text_.substr(first, at_ - first));
  }

  std::int64_t whole() {
    if (!is_digit(peek())) {
      fail("expected a whole number");
      return 0;
    }
    const std::size_t first = at_;
    std::int64_t value = 0;
    while (at_ < text_.size() && is_digit(text_[at_])) {
      value = std::min<std::int64_t>(value * 10 + (text_[at_++] - '0'), kMaxFactor + 1);
    }
    if (value > kMaxFactor) fail_at(first, "more than 65536");
    return value;
  }

  double decimal() {
    double value = 0;
    const auto [end, code] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (code != std::errc() || !std::isfinite(value)) fail("no finite number");
    if (!failed()) at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  void head() {
    operator_.name = name("the operator");
    expect('(');
    do {
      const std::size_t at = (peek(), at_);
      std::string input = name("an input");
      if (input_of(input)) fail_at(at, "a second input " + input);
      operator_.inputs.push_back(std::move(input));
      if (operator_.inputs.size() > kMaxIndices) fail_at(at, "more than 16 inputs");
    } while (take(','));
    operator_.ranks.assign(operator_.inputs.size(), -1);
    expect(')');
    expect('[');
    if (peek() != ']') {
      do {
        open_index(false);
      } while (take(','));
    }
    expect(']');
    operator_.outputs = static_cast<int>(operator_.indices.size());
  }

  std::optional<int> input_of(std::string_view name) const {
    for (std::size_t i = 0; i < operator_.inputs.size(); ++i) {
      if (operator_.inputs[i] == name) return static_cast<int>(i);
    }
    return std::nullopt;
  }

  std::optional<int> index_of(std::string_view name) const {
    for (const int one : open_) {
      if (operator_.indices[static_cast<std::size_t>(one)].name == name) return one;
    }
    return std::nullopt;
  }

  void open_index(bool reduced) {
    const std::size_t at = (peek(), at_);
    Index index{name("an index"), reduced, 0};
    if (index_of(index.name)) fail_at(at, "a second index " + index.name);
    if (input_of(index.name)) fail_at(at, index.name + " is an input");
    if (reduced && take('<')) {
      index.extent = whole();
      if (index.extent == 0) fail_at(at, "the index " + index.name + " has no values");
    }
    if (operator_.indices.size() >= kMaxIndices) fail_at(at, "more than 16 indices");
    if (failed()) return;
    open_.push_back(static_cast<int>(operator_.indices.size()));
    operator_.indices.push_back(std::move(index));
    opened_at_.push_back(at);
  }

  Expression function(std::string name, std::vector<Expression> parts) {
    Expression made;
    made.kind = Expression::Kind::kFunction;
    made.function = std::move(name);
    made.parts = std::move(parts);
    return made;
  }

  Expression join(Expression left, char operation, Expression right) {
    std::vector<Expression> parts;
    parts.push_back(std::move(left));
    parts.push_back(std::move(right));
    return function(std::string(1, operation), std::move(parts));
  }

  // Left-leaning chains make deep trees, which are destroyed and walked recursively.
  bool too_long(int links) {
    if (links > kMaxNesting) fail("more than 64 operations in a row");
    return failed();
  }

  Expression sum() {
    if (++depth_ > kMaxNesting) fail("nested more than 64 deep");
    Expression left = failed() ? Expression() : product();
    for (int links = 0; peek() == '+' || peek() == '-';) {
      const char operation = text_[at_++];
      left = join(std::move(left), operation, product());
      if (too_long(++links)) break;
    }
    --depth_;
    return left;
  }

  Expression product() {
    Expression left = factor();
    for (int links = 0; peek() == '*' || peek() == '/';) {
      const char operation = text_[at_++];
      left = join(std::move(left), operation, factor());
      if (too_long(++links)) break;
    }
    return left;
  }

  Expression factor() {
    Expression made;
    if (failed()) return made;
    if (is_digit(peek())) {
      made.number = decimal();
    } else if (take('(')) {
      made = sum();
      expect(')');
    } else if (take('-')) {
      if (++depth_ > kMaxNesting) fail("nested more than 64 deep");
      made = join(Expression(), '-', factor());
      --depth_;
    } else {
      made = named();
    }
    return made;
  }

  Expression named() {
    const std::size_t at = (peek(), at_);
    const std::string word = name("an input, an index or a function");
    if (failed()) return {};
    if (take('(')) {
      if (const auto reducer = reducer_of(word)) return reduction(*reducer);
      return call(word, at);
    }
    if (take('[')) return element(word, at);
    Expression made;
    made.kind = Expression::Kind::kIndex;
    const auto index = index_of(word);
    if (!index) {
      fail_at(at, input_of(word) ? "expected '[' after the input " + word
                                 : "no index is called " + word);
    }
    made.index = index.value_or(0);
    return made;
  }

  Expression call(const std::string& word, std::size_t at) {
    const int arguments = arguments_of(word);
    if (arguments == 0 || !begins_name(word[0])) fail_at(at, "no function is called " + word);
    std::vector<Expression> parts;
    for (int i = 0; i < arguments && !failed(); ++i) {
      if (i > 0) expect(',');
      parts.push_back(sum());
    }
    expect(')');
    return function(word, std::move(parts));
  }

  Expression reduction(Reducer reducer) {
    Expression made;
    made.kind = Expression::Kind::kReduction;
    made.reducer = reducer;
    const std::size_t outside = open_.size();
    do {
      open_index(true);
    } while (take(','));
    expect(':');
    if (!failed()) {
      made.over.assign(open_.begin() + static_cast<std::ptrdiff_t>(outside), open_.end());
    }
    made.parts.push_back(sum());
    expect(')');
    open_.resize(outside);
    return made;
  }

  Expression element(const std::string& word, std::size_t at) {
    Expression made;
    made.kind = Expression::Kind::kElement;
    const auto input = input_of(word);
    if (!input) fail_at(at, "no input is called " + word);
    if (failed()) return made;
    made.input = *input;
    if (peek() != ']') {
      do {
        made.shifts.push_back(shift());
      } while (take(','));
    }
    expect(']');
    int& rank = operator_.ranks[static_cast<std::size_t>(*input)];
    const auto dimensions = static_cast<int>(made.shifts.size());
    if (rank >= 0 && rank != dimensions) {
      fail_at(at, word + " has " + std::to_string(rank) + " dimensions elsewhere");
    }
    rank = dimensions;
    return made;
  }

  Shift shift() {
    Shift made;
    const bool grouped = take('(');
    int items = 0;
    std::int64_t sign = take('-') ? -1 : 1;
    for (bool more = true; more && !failed(); ++items) {
      shift_item(sign, made);
      more = false;
      for (const char operation : {'+', '-'}) {
        if (more || !take(operation)) continue;
        sign = operation == '+' ? 1 : -1;
        more = true;
      }
    }
    if (grouped) expect(')');
    const std::size_t at = (peek(), at_);
    if (take('/')) {
      if (!grouped && items > 1) fail_at(at, "write (...) / N: the whole is divided");
      made.divisor = whole();
      if (made.divisor == 0) fail_at(at, "division by zero");
    }
    std::erase_if(made.terms, [](const Shift::Term& term) { return term.factor == 0; });
    return made;
  }

  // Sums are limited as single numbers are: regions reckon with both.
  void add(std::int64_t more, std::int64_t& sum, std::size_t at) {
    sum += more;
    if (sum > kMaxFactor || sum < -kMaxFactor) fail_at(at, "this adds up to more than 65536");
  }

  // `3`, `x`, `3 * x` or `x * 3`.
  void shift_item(std::int64_t sign, Shift& into) {
    std::int64_t factor = sign;
    const std::size_t first = (peek(), at_);
    if (is_digit(peek())) {
      factor *= whole();
      if (!take('*')) {
        add(factor, into.constant, first);
        return;
      }
    }
    const std::size_t at = (peek(), at_);
    const std::string word = name("an index");
    const auto index = index_of(word);
    if (!index) fail_at(at, "no index is called " + word);
    if ((factor == 1 || factor == -1) && take('*')) factor *= whole();
    if (failed()) return;
    for (Shift::Term& term : into.terms) {
      if (term.index != *index) continue;
      add(factor, term.factor, first);
      return;
    }
    into.terms.push_back({*index, factor});
  }

  static void tied(const Expression& in, std::vector<bool>& indices) {
    for (const Shift& shift : in.shifts) {
      if (shift.plain()) indices[static_cast<std::size_t>(shift.terms[0].index)] = true;
    }
    for (const Expression& part : in.parts) tied(part, indices);
  }

  void check() {
    if (failed()) return;
    for (std::size_t i = 0; i < operator_.inputs.size(); ++i) {
      if (operator_.ranks[i] < 0) fail_at(0, "the input " + operator_.inputs[i] + " is not read");
    }
    std::vector<bool> known(operator_.indices.size());
    tied(operator_.body, known);
    for (std::size_t i = 0; i < known.size(); ++i) {
      const Index& index = operator_.indices[i];
      if (known[i] || !index.reduced || index.extent > 0) continue;
      fail_at(opened_at_[i], "the extent of " + index.name + " is unknown: write " + index.name +
                                 " < N, or read an input with it alone");
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::optional<base::Error> error_;
  Operator operator_;
  std::vector<int> open_;               // indices that may be named here
  std::vector<std::size_t> opened_at_;  // of each index, its place in the text
};

}  // namespace

int arguments_of(std::string_view function) {
  constexpr std::array<std::string_view, 8> kOfOne{"exp",     "log",  "sqrt", "tanh",
                                                   "sigmoid", "relu", "abs",  "sign"};
  constexpr std::array<std::string_view, 9> kOfTwo{"+",   "-",   "*",       "/",    "pow",
                                                   "max", "min", "greater", "equal"};
  if (std::find(kOfOne.begin(), kOfOne.end(), function) != kOfOne.end()) return 1;
  return std::find(kOfTwo.begin(), kOfTwo.end(), function) != kOfTwo.end() ? 2 : 0;
}

base::Result<Operator> parse_operator(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace optile::placement::tofu
