#include "daemon/support/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>
#include <unistd.h>

#include <exception>
#include <vector>

namespace optile::daemon {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;
constexpr std::size_t kOldFiles = 1;

bool may_be_ours(const std::string& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) return true;  // not there yet
  return S_ISREG(found.st_mode) && found.st_uid == geteuid();
}

}  // namespace

class Log::Sinks {
 public:
  explicit Sinks(std::vector<spdlog::sink_ptr> sinks)
      : logger("optiled", sinks.begin(), sinks.end()) {
    logger.set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v");
    logger.flush_on(spdlog::level::info);
  }
  spdlog::logger logger;
};

Log::Log(const std::string& path, bool to_terminal) {
  std::vector<spdlog::sink_ptr> sinks;
  if (to_terminal) sinks.push_back(std::make_shared<spdlog::sinks::stderr_sink_st>());
  std::string why;
  if (!path.empty() && !may_be_ours(path)) {
    why = "the log " + path + " is not ours; nothing is written to it";
  } else if (!path.empty()) {
    try {
      sinks.push_back(
          std::make_shared<spdlog::sinks::rotating_file_sink_st>(path, kMaxFileBytes, kOldFiles));
    } catch (const std::exception& error) {
      why = error.what();
    }
  }
  sinks_ = std::make_unique<Sinks>(std::move(sinks));
  if (!why.empty()) warn(why);
}

Log::~Log() = default;

void Log::info(const std::string& text) {
  sinks_->logger.info("{}", text);
}
void Log::warn(const std::string& text) {
  sinks_->logger.warn("{}", text);
}

}  // namespace optile::daemon
