// What earlier runs of a program found its steps to take with so many cores: what a lease is cut
// from until its own steps are measured, and what says of other numbers of cores than it has been
// granted in this run. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace optile::daemon {

// Of which step, and at which default width of the program, something was measured.
struct CurveSubject {
  uint64_t step_fingerprint = 0;  // 0 = not known yet
  int default_width = 0;          // 0 = not known yet

  bool known() const { return step_fingerprint != 0 && default_width > 0; }
  bool operator==(const CurveSubject&) const = default;
};

struct CurvePoint {
  int cores = 0;
  double seconds = 0;     // of a step
  bool measured = false;  // with so many cores; else predicted from what ops took
  int64_t when = 0;       // measured or predicted, seconds since 1970

  bool operator==(const CurvePoint&) const = default;
};

struct EarlierCurve {
  CurveSubject about;
  double steered = 0;              // share of its steps in ops whose width is not fixed
  std::vector<CurvePoint> points;  // by cores, ascending, each once

  bool operator==(const EarlierCurve&) const = default;
};

// Seconds with 1, 2, … `most` cores, by laws between the points as between the widths of an op.
// Empty where one point or none is known: the session knows more soon.
std::vector<double> seconds_by_cores(const EarlierCurve& curve, int most);

// How much slower steps are now than they were, by what was measured of both; `earlier` is
// seconds_by_cores(). 1 where nothing was.
double pace_against(const std::vector<double>& earlier, const std::map<int, double>& measured);

// What ops promise, corrected to what whole steps took: through all `points` (seconds by cores), in
// between and below by how far off it is around there, and beyond the two widest no faster than the
// law through those.
std::vector<double> through(const std::vector<double>& promised,
                            const std::map<int, double>& points);

// `curve`, and where it has nothing measured what `other` has, at the pace of what was measured of
// both; `other` is of another launch plan, under which steps scale alike.
EarlierCurve completed(EarlierCurve curve, const EarlierCurve& other);

// What this run leaves for the next: what it `measured` and what `earlier` runs had at numbers of
// cores that it was not granted, at the present pace; between them some of its curve `seconds`.
EarlierCurve curve_to_keep(const CurveSubject& about, const std::vector<double>& seconds,
                           const std::map<int, double>& measured, const EarlierCurve* earlier,
                           int64_t when);

}  // namespace optile::daemon
