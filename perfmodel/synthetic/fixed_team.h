// Teams that nothing resizes: an OpenMP program's own regions keep the number of threads that they
// were started with. Pure; any thread.
#pragma once

#include <vector>

namespace optile::perfmodel {

// Time of equal parts, one for each of `threads`, on 1 … `most` cores, as a multiple of that with a
// core for each thread: with static schedules a region lasts as long as the core that has most
// parts to do. Never below 1; empty where a count is not positive. How threads that wait keep
// others from work is not in it: that has to be measured.
std::vector<double> fixed_team_times(int threads, int most);

}  // namespace optile::perfmodel
