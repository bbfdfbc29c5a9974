// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace weft {

// The exit codes of the process. Documented in README and `weft --help`; scripts and schedulers depend on them.
enum class ExitCode : int {
  Done = 0,
  Internal = 1,
  BadConfig = 2,
  BadData = 3,
  Divergence = 4,
  PeerDied = 5,
  Busy = 6,
  NoProgress = 7,
  Hardware = 8,    // a device, a link or a disk failed, perhaps for a moment; rerun the same command to resume
  Differs = 9,     // weft verify: trained again, the run has another state than it saved
  Preempted = 75,  // EX_TEMPFAIL: saved; rerun the same command to resume
};

// Every error that weft throws states what is wrong and where; `hint` is what to do about it, if that is known.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& what, std::string hint = {})
      : std::runtime_error(what), code_(code), hint_(std::move(hint)) {}
  ExitCode code() const { return code_; }
  const std::string& hint() const { return hint_; }

 private:
  ExitCode code_;
  std::string hint_;
};

// The job file or the command line is wrong (exit 2).
class ConfigError : public Error {
 public:
  explicit ConfigError(const std::string& what, std::string hint = {})
      : Error(ExitCode::BadConfig, what, std::move(hint)) {}
};

// A file that weft reads is missing, damaged, foreign or does not fit its partner; or the disk is full for one that it
// writes (exit 3).
class DataError : public Error {
 public:
  explicit DataError(const std::string& what, std::string hint = {})
      : Error(ExitCode::BadData, what, std::move(hint)) {}

 protected:
  DataError(ExitCode code, const std::string& what, std::string hint) : Error(code, what, std::move(hint)) {}
};

// A file cannot be read or written because its disk, its server or this node fails, perhaps for a moment (exit 8). What
// it holds may be in order: nobody takes this for damage.
class IoError : public DataError {
 public:
  explicit IoError(const std::string& what, std::string hint = {})
      : DataError(ExitCode::Hardware, what, std::move(hint)) {}
};

// This user may not read or write a file (exit 3). What it holds may be in order.
class AccessError : public DataError {
 public:
  using DataError::DataError;
};

// Training no longer makes sense: too many non-finite steps in a row (exit 4).
class DivergenceError : public Error {
 public:
  explicit DivergenceError(const std::string& what, std::string hint = {})
      : Error(ExitCode::Divergence, what, std::move(hint)) {}
};

// Tensors do not fit into the device's memory. Never caught and ignored: it ends the job.
class MemoryError : public Error {
 public:
  explicit MemoryError(const std::string& what, std::string hint = {})
      : Error(ExitCode::Internal, what, std::move(hint)) {}
};

// A device or its library refused or failed (exit 1).
class DeviceError : public Error {
 public:
  explicit DeviceError(const std::string& what, std::string hint = {})
      : Error(ExitCode::Internal, what, std::move(hint)) {}

 protected:
  DeviceError(ExitCode code, const std::string& what, std::string hint) : Error(code, what, std::move(hint)) {}
};

// A device, or a link between devices, has failed: it may be gone for good, or work again later (exit 8).
class LostDeviceError : public DeviceError {
 public:
  explicit LostDeviceError(const std::string& what, std::string hint = {})
      : DeviceError(ExitCode::Hardware, what, std::move(hint)) {}
};

// Another rank died, hung or disagreed (exit 5).
class PeerError : public Error {
 public:
  explicit PeerError(const std::string& what, std::string hint = {})
      : Error(ExitCode::PeerDied, what, std::move(hint)) {}
};

// Another run holds the run directory that this one needs (exit 6).
class BusyError : public Error {
 public:
  explicit BusyError(const std::string& what, std::string hint = {}) : Error(ExitCode::Busy, what, std::move(hint)) {}
};

// A run was restarted several times and never reached a later checkpoint (exit 7).
class NoProgressError : public Error {
 public:
  explicit NoProgressError(const std::string& what, std::string hint = {})
      : Error(ExitCode::NoProgress, what, std::move(hint)) {}
};

// weft called itself wrongly: shapes, dtypes or states that no user input should reach (exit 1).
class InternalError : public Error {
 public:
  explicit InternalError(const std::string& what, std::string hint = {})
      : Error(ExitCode::Internal, what, std::move(hint)) {}
};

// require<DataError>(size == n, "{}: {} bytes, expected {}", path, size, n)
template <class E, class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw E(fmt::format(format, std::forward<Args>(args)...));
}

// a / b where b must divide a; `what` names the quantity in the error.
int64_t div_exact(int64_t a, int64_t b, const char* what);

// Whether an errno tells of a failure that may be over a moment later: a disk, a server, a network, a lack of
// descriptors or memory. A full disk is none, since nothing but a user makes room.
bool is_momentary(int code);
// "strerror(errno)" of a failed call on a path: "open PATH: No such file or directory". An IoError if it is momentary,
// an AccessError without the permission, else a DataError.
[[noreturn]] void throw_errno(const std::string& call, const std::string& path);

// The message and hint as a user reads them, several lines.
std::string describe(const std::exception& error);

}  // namespace weft
