// A client that writes what it likes into its memory while the daemon reads it: an input is a
// script of writes (single words, header fields, plausible ops, events and steps, whole stretches
// of random words, ring positions), of time going by, and of readings in between: drain, every
// route of the API, the report at the end.
#include <algorithm>
#include <memory>
#include <random>

#include "daemon/api/report.h"
#include "tests/fuzz/served.h"

namespace {

using optile::daemon::Api;
using optile::daemon::ClientMemory;
using optile::daemon::ClientRegions;
using optile::daemon::Controller;
using optile::fuzz::Bytes;
using optile::fuzz::require;

constexpr int kMaxCommands = 400;
constexpr uint64_t kAttachNs = UINT64_C(10000000000);

enum Command : uint8_t {
  kWord,
  kField,
  kOp,
  kEvent,
  kStretch,
  kHead,
  kTime,
  kDrain,
  kAsk,
  kSteps,
  kBudget,
  kTotals,
  kCommands
};

class Hostile {
 public:
  Hostile()
      : store_(optile::daemon::Store::open(":memory:")),
        machine_(optile::fuzz::four_cores()),
        budget_(optile::daemon::whole_budget(machine_)),
        controller_({machine_,
                     store_.get(),
                     optile::fuzz::standing_clocks(&now_ns_),
                     {},
                     optile::daemon::kMaxClients,
                     {[this](int) { return budget_; }}}),
        metrics_({&controller_, "0", [] { return uint64_t{0}; }, [this] { return now_ns_; }}),
        api_(controller_, metrics_, {1, "0", 0}, [this] { return now_ns_; }) {}

  void run(Bytes& bytes) {
    attach(bytes.take<uint8_t>());
    for (int i = 0; i < kMaxCommands && !bytes.empty(); ++i) obey(bytes);
    controller_.drain();
    ask();
    controller_.depart(id_);
    ask();
    require(controller_.client_count() == 0, "it has left");
  }

 private:
  void attach(uint8_t how) {
    ClientMemory memory = ClientMemory::make().value();
    const ClientMemory::Descriptors fds = memory.take_descriptors();
    regions_ = ClientRegions(fds.plan.get(), fds.client.get());
    require(regions_.valid(), "its memory can be mapped");
    regions_.begin(kAttachNs, how % 9);
    optile_client_header& header = regions_.client().header;
    for (auto& group : header.counter_events) {
      for (uint8_t& event : group) event = static_cast<uint8_t>(how++ % 12);
    }
    header.counter_groups = how % 6;
    header.counter_tier = how % 4;
    optile_attach_request frame = optile::daemon::make_attach_request("hostile");
    frame.mode = static_cast<uint8_t>(how % (OPTILE_MODE_OFF + 1));
    frame.strategy = static_cast<uint8_t>(how / 8 % (OPTILE_STRATEGY_UNIFORM + 1));
    frame.search = static_cast<uint8_t>(how / 64 % 2);
    frame.baseline = how / 128;
    id_ = controller_
              .arrive(optile::daemon::parse_attach_request(&frame, sizeof frame).value(),
                      std::move(memory))
              .value();
  }

  void obey(Bytes& bytes) {
    optile_client_region& region = regions_.client();
    switch (bytes.take<uint8_t>() % kCommands) {
      case kWord: {
        const auto at = bytes.take<uint32_t>();
        return put(at, bytes.take<uint64_t>());
      }
      case kField: {
        const auto at = bytes.take<uint8_t>();
        return put(at % (sizeof region.header / 8), bytes.take<uint64_t>());
      }
      case kOp:
        return add_op(bytes);
      case kEvent:
        return add_event(bytes);
      case kStretch:
        return stretch(bytes);
      case kHead: {
        optile_thread_slot& slot = region.threads[bytes.take<uint8_t>() % OPTILE_MAX_THREADS];
        const auto far = bytes.take<uint8_t>();
        return optile_store64(&slot.head, (far % 4 == 0 ? 0 : slot.head) + bytes.take<uint64_t>());
      }
      case kTime:
        now_ns_ += bytes.take<uint32_t>();
        return;
      case kDrain:
        return controller_.drain();
      case kAsk:
        return ask();
      case kSteps:
        return steps(bytes);
      case kBudget:
        budget_.cores = 1 + bytes.take<uint8_t>() % 4;
        budget_.quota_cores = bytes.take<uint8_t>() % 5;
        return controller_.lease_manager().refresh_budgets();
      default:
        return totals(bytes);
    }
  }

  void put(uint64_t at, uint64_t value) {
    auto* words = reinterpret_cast<uint64_t*>(&regions_.client());
    optile_store64(&words[at % (sizeof(optile_client_region) / sizeof *words)], value);
  }

  void add_op(Bytes& bytes) {
    if (regions_.client().header.registry_count >= OPTILE_MAX_OPS) return;
    const uint64_t key = bytes.take<uint8_t>() % 32;
    const std::string name = bytes.text(bytes.take<uint8_t>());
    const uint32_t id = regions_.register_op(key, name, name);
    regions_.client().ops[id].flags = bytes.take<uint8_t>();
  }

  void add_event(Bytes& bytes) {
    optile_event event{};
    event.kind = bytes.take<uint8_t>() % 4;
    event.op_id = bytes.take<uint8_t>();
    event.flags = bytes.take<uint8_t>() % 32;
    event.width = bytes.take<uint8_t>() % 9;
    event.binding = bytes.take<uint8_t>() % 3;
    event.column = bytes.take<uint8_t>() % 16;
    event.generation_low = bytes.take<uint8_t>();
    event.begin_ticks = now_ns_ - bytes.take<uint32_t>();
    event.ticks = bytes.take<uint64_t>();
    event.context = bytes.take<uint64_t>();
    event.region_ticks = bytes.take<uint64_t>();
    event.step = bytes.take<uint32_t>();
    event.regions = bytes.take<uint32_t>();
    event.width_changes = bytes.take<uint32_t>();
    regions_.write(event, bytes.take<uint8_t>() % OPTILE_MAX_THREADS);
  }

  void stretch(Bytes& bytes) {
    const auto begin = bytes.take<uint32_t>();
    const auto count = bytes.take<uint16_t>();
    std::mt19937_64 random(bytes.take<uint32_t>());
    for (uint64_t i = 0; i < count; ++i) put(uint64_t{begin} + i, random());
  }

  void add_counts(uint32_t op, uint64_t number) {
    optile_event counts{};
    counts.kind = OPTILE_EVENT_COUNTS;
    counts.op_id = op;
    counts.column = static_cast<uint8_t>(number % 5);
    counts.regions = 1 + op;
    counts.begin_ticks = number;
    counts.ticks = number * number;
    regions_.write(counts);
  }

  // Whole steps as an honest program has them, but for the numbers.
  void steps(Bytes& bytes) {
    const int count = 1 + bytes.take<uint8_t>() % 64;
    const uint32_t ops = 1 + bytes.take<uint8_t>() % 8;
    const auto ticks = bytes.take<uint32_t>();
    const auto width = bytes.take<uint8_t>();
    const auto mask = bytes.take<uint8_t>();
    optile_client_region& region = regions_.client();
    while (region.header.registry_count < ops) {
      regions_.register_op(100 + region.header.registry_count, "aten::op", "[1]");
    }
    for (int step = 0; step < count; ++step) {
      const uint64_t begin = now_ns_;
      const uint64_t generation = optile_load64(&regions_.plan().generation);
      optile_event event{};
      event.step = ++region.header.steps;
      event.generation_low = static_cast<uint32_t>(generation);
      event.width = width % 9;
      event.flags = OPTILE_EVENT_STEERABLE;
      if (generation != 0 && regions_.plan().pages[generation & 1].schedule_length > 0) {
        event.flags |= OPTILE_EVENT_SCHEDULED;
        event.column = static_cast<uint8_t>(step % (1 + mask % 16));
      }
      event.kind = OPTILE_EVENT_OP;
      for (uint32_t op = 0; op < ops; ++op) {
        event.op_id = op;
        event.context = 1 + op;
        event.begin_ticks = now_ns_;
        event.ticks = ticks % 100000000;
        now_ns_ += event.ticks;
        ++region.header.progress;
        if ((mask & 64) != 0) add_counts(op, ticks);
        regions_.write(event);
      }
      event.kind = OPTILE_EVENT_STEP;
      event.begin_ticks = begin;
      event.ticks = now_ns_ - begin;
      event.context = event.region_ticks = event.ticks;
      event.regions = ops;
      regions_.write(event);
      if ((step & mask) == 0) controller_.drain();
    }
  }

  void totals(Bytes& bytes) {
    optile_thread_slot& slot =
        regions_.client().threads[bytes.take<uint8_t>() % OPTILE_MAX_THREADS];
    slot.tid = bytes.take<uint8_t>();
    auto* words =
        reinterpret_cast<uint64_t*>(&slot.aggregates[bytes.take<uint16_t>() % OPTILE_MAX_OPS]);
    for (std::size_t i = 0; i < 8; ++i) optile_store64(&words[i], bytes.take<uint64_t>());
  }

  void ask() {
    const std::string id = std::to_string(id_);
    for (const std::string& target :
         {std::string("/v1/status"), std::string("/v1/clients"), "/v1/clients/" + id,
          "/v1/ops?client=" + id, std::string("/v1/ops/aten::op/explain"),
          std::string("/v1/runs/run-hostile/report")}) {
      const optile::daemon::HttpResponse response = api_.answer({"GET", target, ""});
      require(response.status == 200 || response.status == 404, "a question is answered");
      require(optile::daemon::Json::accept(response.body), "an answer is JSON");
    }
    const std::string page = metrics_.page();
    // JSON takes nothing but UTF-8, which is what Prometheus insists on too.
    const auto strict = optile::daemon::Json::error_handler_t::strict;
    require(!optile::daemon::Json(page).dump(-1, ' ', false, strict).empty(), "a page is UTF-8");
    const auto lines = std::count(page.begin(), page.end(), '\n');
    require(lines > 10 && lines < 6000, "a page has a bound");
  }

  uint64_t now_ns_ = kAttachNs;
  std::unique_ptr<optile::daemon::Store> store_;
  optile::perfmodel::Machine machine_;
  optile::perfmodel::Budget budget_;
  Controller controller_;
  optile::daemon::DaemonMetrics metrics_;
  Api api_;
  ClientRegions regions_;
  uint64_t id_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  Hostile().run(bytes);
  return 0;
}

std::vector<std::string> optile::fuzz::seeds() {
  const auto steps = [](uint32_t ticks, uint8_t width, uint8_t mask) {
    return Script()
        .put(kSteps)
        .put(uint8_t{60})
        .put(uint8_t{4})
        .put(ticks)
        .put(width)
        .put(mask)
        .put(kDrain)
        .bytes();
  };
  std::string tuned(1, '\4');
  for (int i = 0; i < 12; ++i) tuned += steps(1000000, 4, 3);
  const std::string op =
      Script().put(kOp).put(uint8_t{5}).put(uint8_t{4}).text("name").put(uint8_t{0}).bytes();
  const std::string stretch =
      Script().put(kStretch).put(uint32_t{0}).put(uint16_t{9000}).put(uint32_t{1}).bytes();
  const std::string event = Script()
                                .put(kEvent)
                                .text(std::string("\1\0\0\4\0\0\0", 7))
                                .put(uint32_t{1000})
                                .put(uint64_t{500})
                                .bytes();
  const std::string head =
      Script().put(kHead).put(uint8_t{0}).put(uint8_t{0}).put(~uint64_t{0}).bytes();
  const std::string field =
      Script().put(kField).put(uint8_t{6}).put(~uint64_t{0}).put(kDrain).put(kAsk).bytes();
  const std::string budget =
      Script().put(kBudget).put(uint8_t{1}).put(uint8_t{2}).put(kDrain).bytes();
  return {tuned + std::string(1, kAsk),
          tuned + budget + tuned.substr(1),
          '\4' + op + event + std::string(64, '\0') + std::string(1, kDrain) + head,
          '\1' + stretch + field,
          '\4' + steps(5, 4, 1) + field + steps(0, 8, 0) + head + field,
          '\x84' + steps(~0U, 0, 7) + budget};
}
