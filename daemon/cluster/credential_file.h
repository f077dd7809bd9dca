// Reading the small files by which we are let in at an etcd, and by which it is known to us. Reads
// a file, which may block: where a cluster is joined, not where it is served. Any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace optile::daemon {

enum class CredentialKind { kPassword, kPrivateKey, kCertificate };

// Its text. Refused: a password or a private key that anybody but us (or root) owns or may read,
// mode 0600 or less; a file of more than 1 MiB; what is no file. A password's file must be no
// symbolic link; the others may, since they are renewed so.
base::Result<std::string> read_credential_file(const std::string& path, CredentialKind kind);

}  // namespace optile::daemon
