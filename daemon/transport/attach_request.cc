#include "daemon/transport/attach_request.h"

#include <cstring>

#include "bindings/abi/choice_names.h"

namespace optile::daemon {
namespace {

using base::Error;
using base::ErrorKind;

Error refuse(const char* why) {
  return {ErrorKind::kInvalid, why};
}

template <std::size_t kSize>
std::string text_of(const char (&field)[kSize]) {
  return clean_text(field, kSize);
}

}  // namespace

std::string clean_text(const char* text, std::size_t size) {
  std::string clean(text, strnlen(text, size));
  for (char& c : clean) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return clean;
}

base::Result<AttachRequest> parse_attach_request(const void* frame, std::size_t size) {
  if (size != sizeof(optile_attach_request))
    return refuse("frame has another size than an attach request");
  optile_attach_request raw;
  std::memcpy(&raw, frame, sizeof raw);
  if (raw.header.magic != OPTILE_ABI_MAGIC) return refuse("frame is not one of optile's");
  if (raw.header.abi_version != OPTILE_ABI_VERSION) {
    return refuse("version of the shim and of the daemon differ; restart the daemon");
  }
  if (raw.header.kind != OPTILE_FRAME_ATTACH_REQUEST || raw.header.bytes != sizeof raw) {
    return refuse("first frame is not an attach request");
  }
  if (raw.mode > OPTILE_MODE_OFF) return refuse("unknown mode");
  if (raw.search > OPTILE_SEARCH_PAPER) return refuse("unknown search");
  if (raw.strategy > OPTILE_STRATEGY_LOOK_AHEAD) return refuse("unknown strategy");
  if (raw.default_width_source > OPTILE_WIDTH_PROGRAM) return refuse("unknown width source");
  if (raw.priority > OPTILE_PRIORITY_BATCH) return refuse("unknown priority");
  if (raw.respect > OPTILE_RESPECT_IGNORE) return refuse("unknown respect");
  if (raw.share_milli > OPTILE_MAX_SHARE_MILLI) return refuse("impossible share");
  if (raw.numerics_as_untuned > 1) return refuse("unknown numerics");
  if (raw.counters_by_name > 1) return refuse("unknown counters");
  if (raw.whole_program > OPTILE_WHOLE_SIZES_POOLS) return refuse("unknown way to attach");

  AttachRequest attach_request;
  attach_request.job = text_of(raw.job);
  attach_request.run_id = text_of(raw.run_id);
  attach_request.executable = text_of(raw.executable);
  attach_request.program = text_of(raw.program);
  attach_request.arguments = text_of(raw.arguments);
  attach_request.launch_plan = text_of(raw.launch_plan);
  attach_request.version = text_of(raw.version);
  attach_request.mode = static_cast<optile_mode>(raw.mode);
  attach_request.search = static_cast<optile_search>(raw.search);
  attach_request.strategy = static_cast<optile_strategy>(raw.strategy);
  attach_request.baseline = raw.baseline != 0;
  attach_request.as_untuned = raw.numerics_as_untuned != 0;
  attach_request.counters_by_name = raw.counters_by_name != 0;
  attach_request.whole_program = raw.whole_program != OPTILE_WHOLE_NOT;
  attach_request.sizes_pools = raw.whole_program == OPTILE_WHOLE_SIZES_POOLS;
  attach_request.default_width_source = raw.default_width_source;
  attach_request.omp_num_threads = raw.omp_num_threads;
  attach_request.omp_thread_limit = raw.omp_thread_limit;
  attach_request.openblas_num_threads = raw.openblas_num_threads;
  attach_request.goto_num_threads = raw.goto_num_threads;
  attach_request.mkl_num_threads = raw.mkl_num_threads;
  attach_request.blis_num_threads = raw.blis_num_threads;
  attach_request.share = raw.share_milli == 0 ? 1.0 : raw.share_milli / 1000.0;
  attach_request.priority = static_cast<optile_priority>(raw.priority);
  attach_request.respect = static_cast<optile_respect>(raw.respect);
  for (uint32_t unit = 0; unit < OPTILE_MAX_CPUS; ++unit) {
    if ((raw.units[unit / 64] >> (unit % 64) & 1) != 0) {
      attach_request.units.push_back(static_cast<int>(unit));
    }
  }
  return attach_request;
}

const char* mode_name(optile_mode mode) {
  return abi::name_of(abi::kModes, mode);
}

const char* strategy_name(optile_strategy strategy) {
  return abi::name_of(abi::kStrategies, strategy);
}

const char* respect_name(optile_respect respect) {
  return abi::name_of(abi::kRespects, respect);
}

const char* numerics_name(const AttachRequest& attach_request) {
  return attach_request.as_untuned ? "as-untuned" : "any";
}

std::string kept_under(const AttachRequest& attach_request) {
  if (attach_request.baseline || !attach_request.as_untuned) return attach_request.launch_plan;
  return attach_request.launch_plan + " numerics=as-untuned";
}

std::string program_text(const AttachRequest& attach_request) {
  return attach_request.executable + "\n" + attach_request.program + "\n" +
         attach_request.arguments;
}

bool acts(const AttachRequest& attach_request) {
  const bool by_mode =
      attach_request.mode == OPTILE_MODE_TUNE || attach_request.mode == OPTILE_MODE_FREEZE;
  return by_mode && !attach_request.baseline;
}

bool may_have_lease(const AttachRequest& attach_request) {
  return acts(attach_request) && (!attach_request.whole_program || attach_request.sizes_pools);
}

bool is_set_by_user(uint32_t source) {
  return source == OPTILE_WIDTH_ENVIRONMENT || source == OPTILE_WIDTH_PROGRAM;
}

const char* width_source_name(uint32_t source) {
  switch (source) {
    case OPTILE_WIDTH_DEFAULT:
      return "default";
    case OPTILE_WIDTH_LAUNCHER:
      return "launcher";
    case OPTILE_WIDTH_ENVIRONMENT:
      return "environment";
    case OPTILE_WIDTH_FRAMEWORK:
      return "framework";
    case OPTILE_WIDTH_PROGRAM:
      return "program";
    default:
      return "unknown";
  }
}

}  // namespace optile::daemon
