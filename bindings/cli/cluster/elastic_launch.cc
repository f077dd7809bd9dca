#include "bindings/cli/cluster/elastic_launch.h"

#include <signal.h>
#include <sys/wait.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "bindings/cli/cluster/rank_start.h"
#include "bindings/cli/support/descendants.h"
#include "daemon/cluster/generation_claim.h"
#include "daemon/cluster/own_address.h"

namespace optile::cli {
namespace {

using daemon::GenerationClaim;
using ClaimState = GenerationClaim::State;
using Patience = std::chrono::seconds;

// From the polite end of a program to the hard one.
constexpr Patience kPoliteEnd{10};
// A program fails where a machine is lost, whose lease ends within this.
constexpr Patience kLossIsKnown{daemon::kClaimTtl + Patience(5)};
constexpr Patience kEndIsTold{5};

// This process's part in the job, and the loop that it lives in: run by the main thread while no
// program runs, and by one of its own while the main thread waits for the program, which it ends
// when the generation is broken.
class ElasticJob {
 public:
  ElasticJob(daemon::EtcdStore::Settings store, GenerationClaim::Settings claim)
      : job_(claim.job), least_(claim.least), most_(claim.most), store_(io_, std::move(store)) {
    claim.answered = [this] { arm(); };
    claim_ = std::make_unique<GenerationClaim>(store_, std::move(claim));
  }
  ~ElasticJob() { leave(); }
  ElasticJob(const ElasticJob&) = delete;
  ElasticJob& operator=(const ElasticJob&) = delete;

  const GenerationClaim::View& view() const { return claim_->view(); }
  // The signal that ended a wait; 0 = none.
  int interrupted() const { return interrupted_; }

  // True where a generation has begun, of which this node may start a rank now. While nobody runs
  // it waits so long, and says why not on stderr.
  bool gather(Patience patience) {
    LaunchClock::time_point end = LaunchClock::now() + patience;
    wait_until([&] {
      if (!view().waits) end = LaunchClock::now() + patience;
      if (view().state == ClaimState::kBroken) claim_->join_next(free_port());
      say();
      return is_closed() || claim_->may_start(launch_time()) || LaunchClock::now() >= end;
    });
    if (interrupted_ != 0 || is_closed()) return false;
    if (claim_->may_start(launch_time())) return true;
    std::cerr << "optile: job " << job_ << " was not begun within " << patience.count()
              << " seconds: " << situation() << "\n";
    return false;
  }

  void keep_in_background() {
    end_is_sent_ = false;
    program_runs_ = true;
    // Signals are the main thread's: it hands them to the program.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    keeper_ = std::thread([this] {
      arm();
      const auto work = boost::asio::make_work_guard(io_);
      io_.run();
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  // Whether the program was told to end, because the generation is broken.
  bool end_background() {
    boost::asio::post(io_, [this] { io_.stop(); });
    keeper_.join();
    io_.restart();
    program_runs_ = false;
    ending_.cancel();
    return end_is_sent_;
  }

  // Whether the generation's program failed because one of its nodes is lost. Waits until etcd
  // would know.
  bool is_broken(Patience patience) {
    const LaunchClock::time_point last = LaunchClock::now() + patience;
    LaunchClock::time_point end = LaunchClock::now() + kLossIsKnown;
    wait_until([&] {
      if (view().unreachable) end = LaunchClock::now() + kLossIsKnown;
      return view().state != ClaimState::kStarted || LaunchClock::now() >= std::min(end, last);
    });
    return view().state == ClaimState::kBroken;
  }

  void join_next() {
    std::cerr << "optile: job " << job_ << ": " << view().message << ": generation "
              << view().generation << " ends here\n";
    claim_->join_next(free_port());
    said_.clear();
  }

  // The job is done, or failed by itself: the others need not go on.
  void end_job(int code) {
    claim_->end_job(code);
    const LaunchClock::time_point end = LaunchClock::now() + kEndIsTold;
    wait_until([&] { return is_closed() || LaunchClock::now() >= end; });
  }

  // Where etcd does not answer, the lease ends it.
  void leave() {
    if (std::exchange(left_, true)) return;
    timer_.cancel();
    if (claim_->lease() == 0) return;
    bool revoked = false;
    store_.revoke_lease(claim_->lease(), [&](const auto&) { revoked = true; });
    while (!revoked && io_.run_one() > 0) {
    }
  }

 private:
  bool is_closed() const {
    return view().state == ClaimState::kRefused || view().state == ClaimState::kOver;
  }

  // By the main thread; looks after each thing that happens, and once a second.
  void wait_until(const std::function<bool()>& done) {
    io_.restart();
    boost::asio::signal_set interruptions(io_, SIGINT, SIGTERM);
    interruptions.async_wait([this](const boost::system::error_code& error, int number) {
      if (!error) interrupted_ = number;
    });
    arm();
    while (interrupted_ == 0 && !done()) io_.run_one_for(Patience(1));
  }

  void arm() {
    const GenerationClaim::Time next = claim_->next_tick();
    timer_.cancel();
    if (left_) return;
    if (program_runs_ && view().state == ClaimState::kBroken) end_program();
    if (next == GenerationClaim::Time::max()) return;
    timer_.expires_at(LaunchClock::time_point(next));
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      claim_->tick(launch_time());
      arm();
    });
  }

  // Politely, then hard; again where it had not been started yet.
  void end_program() {
    if (end_is_sent_) return;
    end_is_sent_ = signal_program(SIGTERM);
    ending_.expires_after(end_is_sent_ ? kPoliteEnd : Patience(1));
    ending_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      if (!end_is_sent_) return end_program();
      end_descendants(false);
    });
  }

  std::string situation() const {
    if (!view().message.empty()) return view().message;
    if (view().holders.empty()) return "etcd at " + store_.description() + " has not answered yet";
    std::string here;
    for (const auto& [rank, node] : view().holders) here += (here.empty() ? "" : ", ") + node;
    const int nodes = static_cast<int>(view().holders.size());
    const int missing = least_ - nodes;
    if (nodes == most_) return "all nodes are here (" + here + "); the first one begins";
    if (missing <= 0) return "enough nodes are here (" + here + "); others may come for a moment";
    return "waits for " + std::to_string(missing) + " more of at least " + std::to_string(least_) +
           " nodes; type the same there (" + here + ")";
  }

  // Once for each thing that there is to say; before the first answer there is none.
  void say() {
    if (view().state == ClaimState::kStarted) return;
    if (view().message.empty() && view().holders.empty()) return;
    const std::string text = situation();
    if (std::exchange(said_, text) == text) return;
    std::cerr << "optile: job " << job_ << ": " << text << "\n";
  }

  std::string job_;
  int least_;
  int most_;
  boost::asio::io_context io_{1};
  boost::asio::steady_timer timer_{io_};
  boost::asio::steady_timer ending_{io_};  // of the program
  daemon::EtcdStore store_;
  std::unique_ptr<GenerationClaim> claim_;
  std::thread keeper_;
  std::string said_;
  int interrupted_ = 0;
  bool program_runs_ = false;  // as the loop's thread sees it
  bool end_is_sent_ = false;
  bool left_ = false;
};

void say_begin(const std::string& job, const GenerationClaim::View& view) {
  std::cerr << "optile: job " << job << " begins"
            << (view.generation > 1 ? " generation " + std::to_string(view.generation) : "")
            << ": rank " << view.rank << " of " << view.nodes << ", rank 0 at "
            << view.master_address << ":" << view.master_port << "\n";
  if (view.generation == 1) return;
  std::cerr << "optile: job " << job << " goes on from what is kept (keep=True), else from the "
            << "program's own checkpoint\n";
}

bool ended_well(const ChildEnd& end) {
  return end.started && WIFEXITED(end.wait_status) && WEXITSTATUS(end.wait_status) == 0;
}

int code_of(const ChildEnd& end) {
  if (!end.started) return end.exit_code;
  return WIFEXITED(end.wait_status) ? WEXITSTATUS(end.wait_status)
                                    : 128 + WTERMSIG(end.wait_status);
}

// Of the former generation's nodes those that are not in this one, with commas between them.
std::string lost_nodes(const std::map<int, std::string>& former,
                       const std::map<int, std::string>& now) {
  std::multiset<std::string> lost;
  for (const auto& [rank, node] : former) lost.insert(node);
  for (const auto& [rank, node] : now) {
    if (const auto found = lost.find(node); found != lost.end()) lost.erase(found);
  }
  std::string text;
  for (const std::string& node : lost) text += (text.empty() ? "" : ",") + node;
  return text;
}

RankPlace place_of(const GenerationClaim::View& view, const std::map<int, std::string>& former,
                   const std::string& address, const std::string& token) {
  RankPlace place = {view.nodes, view.rank, view.master_address, view.master_port, address};
  place.claim = token;
  place.generation = view.generation;
  place.lost_nodes = lost_nodes(former, view.holders);
  if (std::getenv(kGlooInterface) == nullptr) place.interface = daemon::interface_of(address);
  return place;
}

int run_generations(const Options& options, ElasticJob& job, const std::string& name,
                    const std::string& address, const std::string& token) {
  const Patience patience(options.launch.wait_seconds);
  std::map<int, std::string> former;  // who was in the generation before
  while (job.gather(patience)) {
    say_begin(name, job.view());
    const RankPlace place =
        place_of(job.view(), std::exchange(former, job.view().holders), address, token);
    job.keep_in_background();
    const ChildEnd end = run_rank(options, place, true);
    const bool was_ended = job.end_background();
    const bool well = ended_well(end) && !was_ended;
    if (!well && end.interrupted == 0 && (was_ended || job.is_broken(patience))) {
      end_descendants(true);
      job.join_next();
      continue;
    }
    // Who is told to end leaves the job to the others.
    if (well || (end.interrupted == 0 && job.interrupted() == 0)) job.end_job(code_of(end));
    job.leave();
    return end_as(end);
  }
  const bool over = job.view().state == ClaimState::kOver;
  const int code = over ? job.view().code : kOwnFailure;
  if (job.view().state == ClaimState::kRefused)
    std::cerr << "optile: " << job.view().message << "\n";
  if (over) std::cerr << "optile: job " << name << " has ended on its other nodes\n";
  job.leave();
  remove_kept_state();
  return job.interrupted() == 0 ? code : 128 + job.interrupted();
}

}  // namespace

int launch_elastic(const Options& options) {
  const LaunchOptions& launch = options.launch;
  if (launch.etcd == kAutomaticEtcd) {
    return give_up(
        "--etcd auto has its etcd on the job's first node, and would be lost with that: with "
        "--nodes MIN:MAX name one that runs elsewhere");
  }
  base::Result<daemon::EtcdStore::Settings> store = store_settings(launch);
  if (!store.ok()) return give_up(store.message());
  auto claim = make_claim<GenerationClaim::Settings>(launch, options.command,
                                                     store.value().endpoints.front());
  claim.least = launch.least_nodes;
  claim.most = launch.nodes;
  claim.grows = launch.grows;
  claim.port = free_port();
  claim.next_port = free_port;
  if (claim.port == 0) return give_up("no port is free for the ranks to meet at");
  const std::string name = claim.job, address = claim.address, token = claim.token;
  adopt_orphans();
  ElasticJob job(std::move(store).value(), std::move(claim));
  return run_generations(options, job, name, address, token);
}

}  // namespace optile::cli
