// A plan's numbers and texts, as they are shown. Pure.
#pragma once

#include <string>
#include <vector>

#include "bindings/cli/support/json_fields.h"

namespace optile::cli {

// As a terminal may show it.
std::string shown_field(const Json& object, const char* key);
// "12.3 ms"; "-" where nothing is known.
std::string seconds_field(const Json& object, const char* key);
std::string seconds_words(double seconds);

bool is_pipeline(const Json& plan);
bool is_placement(const Json& plan);
bool is_splits(const Json& plan);
// "stage" or "rank": what there is one of on each node.
const char* rank_word(const Json& plan);

// "generation 2, without node0" of a job that outlives its nodes; "" of any other.
std::string generation_words(const Json& plan);
// "job train.py: generation 2, without node0", a line for each such job.
std::string generation_lines(const Json& plans);

// How many ranks run one model: all, or as many for each replica.
std::size_t model_ranks(const Json& plan);
// Of each rank of the replica in which that rank is; its first one, as the job counts them, too.
struct ReplicaParts {
  std::size_t first = 0;
  std::vector<double> parts;
};
ReplicaParts replica_of(const Json& plan, const std::vector<double>& parts, std::size_t rank);

// Numbers of a list; what is none counts as 0.
std::vector<double> numbers_of(const Json& object, const char* key);
// Of each rank: how many layers or units, or which share.
std::vector<double> parts_in_force(const Json& plan);
// "layers 0-5", "layer 6", "12 of 30 units", "52.5 % of the weights" or "40.0 % of the rows".
std::string part_words(const Json& plan, const std::vector<double>& parts, std::size_t rank);

// How a rank compares with the fastest, 0 to 1; each 0 where nothing is known.
std::vector<double> speeds_of(const std::vector<double>& whole_seconds);
// Slower than this beside the fastest counts as slow.
inline constexpr double kSlowSpeed = 0.8;

// Columns as wide as their widest text; the first row is the heading. A text ends in no blanks.
std::string columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace optile::cli
