#include "daemon/client/client.h"

#include <utility>

namespace optile::daemon {
namespace {

constexpr int kGoodPart = 5;  // of its time in ops: a fifth

}  // namespace

Client::Client(uint64_t id, AttachRequest attach_request, ClientMemory memory,
               ConfigurationSpace space, const Clocks& clocks,
               SessionDriver::Dependencies dependencies)
    : id_(id),
      attach_request_(std::move(attach_request)),
      memory_(std::move(memory)),
      clocks_(clocks),
      attached_at_(clocks.unix_seconds()),
      reader_(memory_.client()),
      tuning_(attach_request_, reader_, memory_.plan(), std::move(space), std::move(dependencies)) {
}

// The session begins with the first sight of a header; false when its clock cannot be used.
bool Client::start(const ClientHeader& header) {
  clock_ =
      TickClock::make(header.clock_kind, header.ticks_per_second, header.attach_ticks, clocks_);
  clock_refused_ = !clock_;
  if (clock_) tuning_.start(header, *clock_, id_);
  return !clock_refused_;
}

Client::Findings Client::drain() {
  reader_.mark();
  const std::optional<ClientHeader> header = reader_.header();
  if (!header || clock_refused_) return {};
  if (!clock_ && !start(*header)) return {};
  tuning_.follow(*header);
  const std::vector<ClientEvent> events =
      reader_.read({&*clock_, &tuning_.plans().schedule_lengths(), &header->counter_groups});
  for (const ClientEvent& event : events) {
    if (event.counts) counts_.add(*event.counts);
  }
  tuning_.feed(*header, events);
  Findings found;
  const uint64_t now = clocks_.monotonic_ns();
  found.hangs = tuning_.find_hangs(perfmodel::Nanoseconds(static_cast<int64_t>(now)),
                                   clocks_.unix_seconds(), process_.stopped);
  tuning_.publish();
  tuner::Session& session = *tuning_.session();
  if (step_rate_.is_due(now)) {
    step_rate_.note(now, session.view(tuner::Detail::kFigures).steps);
  }
  found.settled = session.take_settled();
  found.forgotten = session.take_forgotten();
  return found;
}

void Client::set_process_stopped(bool stopped) {
  const uint64_t now = reader_.progress();
  process_.stopped = stopped && now == std::exchange(process_.progress, now);
}

tuner::SessionSummary Client::session_summary() const {
  const tuner::Session* session = tuning_.session();
  return session == nullptr ? tuner::SessionSummary{} : session->session_summary();
}

int Client::widest_team() const {
  const int fixed = tuning_.fixed_team();
  const int own = tuning_.untuned_region_width();
  if (fixed > 0 || own == 0 || !clock_) return fixed;
  const std::vector<OpTotals> totals = reader_.totals(*clock_);
  perfmodel::Nanoseconds all{0}, regions{0};
  for (std::size_t i = 0; i < totals.size(); ++i) {
    all += totals[i].time;
    if (reader_.registry()[i].region) regions += totals[i].time;
  }
  return regions.count() > 0 && regions >= all / kGoodPart ? own : 0;
}

Conditions Client::conditions() const {
  Conditions conditions;
  conditions.program = {attach_request_.executable, attach_request_.program,
                        attach_request_.arguments};
  conditions.launch_plan = attach_request_.baseline ? "" : kept_under(attach_request_);
  conditions.runtime = static_cast<int>(tuning_.runtime());
  return conditions;
}

std::optional<RunRecord> Client::run_record() const {
  // Runs are compared to judge launch plans; one with fewer cores says nothing about them.
  const CoreAllotment& allotment = tuning_.allotment();
  if (tuning_.session() == nullptr || allotment.was_narrowed()) return std::nullopt;
  const tuner::SessionView seen = tuning_.session()->view();
  RunRecord run;
  run.conditions = conditions();
  run.kind = attach_request_.baseline ? RunKind::kBaseline : RunKind::kTune;
  const bool tuned = seen.tuned_steps.count() > 0 && !attach_request_.baseline &&
                     attach_request_.mode != OPTILE_MODE_OBSERVE &&
                     attach_request_.mode != OPTILE_MODE_ADVISE;
  if (!attach_request_.baseline && !tuned) run.kind = RunKind::kObserve;
  const perfmodel::SampleSet& steps = tuned ? seen.tuned_steps : seen.own_steps;
  if (steps.count() == 0) return std::nullopt;
  run.steps = static_cast<int>(steps.count());
  run.step_seconds = perfmodel::seconds_of(steps.mean());
  run.spread = relative_mean_error(steps);
  run.own_steps = static_cast<int>(seen.own_steps.count());
  run.own_step_seconds = perfmodel::seconds_of(seen.own_steps.mean());
  run.untouched =
      attach_request_.baseline ||
      (!acts(attach_request_) && perfmodel::keeps_everything(attach_request_.launch_plan));
  run.disturbed = co_runner_load_.text(allotment.cores_at_attach());
  run.step = StepSketch::of(seen);
  return run;
}

ClientView Client::view(tuner::Detail detail) const {
  ClientView view;
  view.id = id_;
  view.attach_request = attach_request_;
  view.dying = process_.dying;
  view.stopped = process_.stopped;
  view.attached_at = attached_at_;
  view.header = reader_.header();
  view.clock_refused = clock_refused_;
  view.counters = reader_.counters();
  view.slow_leases = slow_leases_;
  view.counts = counts_;
  view.steps_per_second = step_rate_.per_second();
  view.co_runner_load = co_runner_load_.text(tuning_.allotment().cores_at_attach());
  tuning_.describe(view, detail);
  if (!clock_) return view;
  const std::vector<OpTotals> totals = reader_.totals(*clock_);
  for (std::size_t i = 0; i < totals.size(); ++i) {
    if (totals[i].count != 0) view.totals[reader_.registry()[i].key] = totals[i];
  }
  if (view.header) {
    view.shim_seconds = perfmodel::seconds_of(clock_->duration(view.header->shim_ticks));
  }
  return view;
}

}  // namespace optile::daemon
