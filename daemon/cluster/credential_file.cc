#include "daemon/cluster/credential_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace optile::daemon {
namespace {

constexpr std::size_t kMaxCredentialBytes = std::size_t{1} << 20;

const char* content_of(CredentialKind kind) {
  switch (kind) {
    case CredentialKind::kPassword:
      return "etcd's user";
    case CredentialKind::kPrivateKey:
      return "our key for etcd";
    case CredentialKind::kCertificate:
      break;
  }
  return "a certificate for etcd";
}

base::Status check_rights(const std::string& path, CredentialKind kind, const struct stat& found) {
  if (kind == CredentialKind::kCertificate) {
    if (S_ISREG(found.st_mode)) return {};
    return base::Error{base::ErrorKind::kDenied,
                       path + " is no file; a certificate is named by a file in PEM"};
  }
  const bool ours = found.st_uid == geteuid() || found.st_uid == 0;
  if (S_ISREG(found.st_mode) && ours && (found.st_mode & (S_IRWXG | S_IRWXO)) == 0) return {};
  return base::Error{
      base::ErrorKind::kDenied,
      path + (kind == CredentialKind::kPassword ? " holds a password" : " holds a private key") +
          ": it has to be a file of yours that nobody else may read; chmod 600 " + path};
}

}  // namespace

base::Result<std::string> read_credential_file(const std::string& path, CredentialKind kind) {
  const int no_link = kind == CredentialKind::kPassword ? O_NOFOLLOW : 0;
  // Of a pipe nobody is waited for.
  const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | no_link));
  if (!fd.valid()) {
    return base::errno_error(
        std::string("cannot open the file with ") + content_of(kind) + " " + path, errno);
  }
  struct stat found {};
  if (fstat(fd.get(), &found) != 0) return base::errno_error("cannot look at " + path, errno);
  if (base::Status usable = check_rights(path, kind, found); !usable.ok()) return usable.error();
  std::string text;
  char bytes[4096];
  while (text.size() <= kMaxCredentialBytes) {
    const ssize_t got = read(fd.get(), bytes, sizeof bytes);
    if (got < 0) return base::errno_error("cannot read " + path, errno);
    if (got == 0) return text;
    text.append(bytes, static_cast<std::size_t>(got));
  }
  return base::invalid(path + " is too long for " + content_of(kind));
}

}  // namespace optile::daemon
