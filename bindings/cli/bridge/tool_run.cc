#include "bindings/cli/bridge/tool_run.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/unique_fd.h"
#include "bindings/cli/support/child_process.h"

namespace optile::cli {
namespace {

constexpr std::size_t kMostOutput = std::size_t{1} << 18;

[[noreturn]] void become_tool(const std::vector<char*>& arguments, int output) {
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  unsetenv("LD_PRELOAD");
  execvp(arguments[0], arguments.data());
  _exit(127);
}

// To the end, also of what is not kept: a tool whose pipe is full would wait.
std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> block;
  while (true) {
    const ssize_t bytes = read(fd, block.data(), block.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return text;
    if (text.size() < kMostOutput) text.append(block.data(), static_cast<std::size_t>(bytes));
  }
}

}  // namespace

base::Result<ToolEnd> run_tool(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return base::errno_error("no pipe for a tool", errno);
  const base::UniqueFd from(ends[0]);
  base::UniqueFd into(ends[1]);
  const std::vector<char*> arguments = argument_vector(command);
  const pid_t child = fork();
  if (child < 0) return base::errno_error(command.front() + " cannot be started", errno);
  if (child == 0) become_tool(arguments, into.get());
  into.reset();
  ToolEnd end;
  end.output = read_all(from.get());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  end.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && end.output.empty()) {
    return base::Error{base::ErrorKind::kNotFound, command.front() + " cannot be executed"};
  }
  return end;
}

}  // namespace optile::cli
