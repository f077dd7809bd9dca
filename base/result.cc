#include "base/result.h"

#include <cerrno>
#include <system_error>

namespace optile::base {
namespace {

ErrorKind kind_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ESRCH:
      return ErrorKind::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorKind::kDenied;
    case EINVAL:
    case ENAMETOOLONG:
      return ErrorKind::kInvalid;
    default:
      return ErrorKind::kUnavailable;
  }
}

}  // namespace

Error invalid(std::string message) {
  return {ErrorKind::kInvalid, std::move(message)};
}

Error invalid(const std::string& place, const std::string& what) {
  return invalid(place.empty() ? what : place + ": " + what);
}

Error errno_error(const std::string& what, int error_number) {
  return {kind_of(error_number), what + ": " + std::generic_category().message(error_number)};
}

}  // namespace optile::base
