// Errors as values. A function that can fail returns Status or Result<T>; the caller must look.
// A message is one sentence with what happened, to what, and what to do about it.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace optile::base {

enum class ErrorKind {
  kInvalid,      // the input is wrong: the caller has to change it
  kNotFound,     // it is not there
  kUnavailable,  // it may work later: busy, dead peer, full disk
  kDenied,       // permissions
  kInternal,     // a bug of ours
};

struct [[nodiscard]] Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message;
};

// The input is wrong: what about it, and at which place of it where that is known.
Error invalid(std::string message);
Error invalid(const std::string& place, const std::string& what);

// `errno` as text behind a message: "cannot open X: Permission denied".
Error errno_error(const std::string& what, int error_number);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  const Error& error() const { return *error_; }
  const std::string& message() const { return error_->message; }

 private:
  std::optional<Error> error_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  // Only when ok().
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  const Error& error() const { return error_; }
  const std::string& message() const { return error_.message; }
  Status status() const { return ok() ? Status() : Status(error_); }

 private:
  std::optional<T> value_;
  Error error_;
};

}  // namespace optile::base
