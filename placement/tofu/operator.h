// What an operator computes, said well enough to see what a part of it reads (Tofu's tensor
// description language): output indices, an expression over elements of inputs at shifted indices,
// and reductions. Pure values; a reader of text is in operator_parser.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace optile::placement::tofu {

// floor((sum of factor * index + constant) / divisor): where along one dimension an element lies.
// What lies outside the input counts as zero, which is how padding is said.
struct Shift {
  struct Term {
    int index = 0;  // position in Operator::indices
    std::int64_t factor = 1;
  };
  std::vector<Term> terms;  // each index once, no factor 0
  std::int64_t constant = 0;
  std::int64_t divisor = 1;

  // The index alone, which ties the dimension's extent to its own.
  bool plain() const {
    return terms.size() == 1 && terms[0].factor == 1 && constant == 0 && divisor == 1;
  }
};

enum class Reducer { kSum, kMax, kMin, kProd };

struct Expression {
  enum class Kind { kNumber, kIndex, kElement, kFunction, kReduction };
  Kind kind = Kind::kNumber;
  double number = 0;
  int index = 0;              // kIndex: the value of an index
  int input = 0;              // kElement
  std::vector<Shift> shifts;  // kElement: one for each dimension of the input
  std::string function;       // kFunction: "+", "-", "*", "/" or a name
  Reducer reducer = Reducer::kSum;
  std::vector<int> over;          // kReduction: its indices
  std::vector<Expression> parts;  // kFunction: arguments; kReduction: what is reduced
};

struct Index {
  std::string name;
  bool reduced = false;
  std::int64_t extent = 0;  // said by the description; 0: from the shapes
};

struct Operator {
  std::string name;
  std::vector<std::string> inputs;
  std::vector<int> ranks;      // of the inputs
  std::vector<Index> indices;  // those of the output first, in its order
  int outputs = 0;             // how many those are
  Expression body;
};

}  // namespace optile::placement::tofu
