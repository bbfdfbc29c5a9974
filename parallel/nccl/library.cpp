#include "parallel/nccl/library.h"

#include <dlfcn.h>

#include "base/error.h"
#include "base/log.h"

namespace weft {
namespace {

constexpr const char* kName = "libnccl.so.2";
constexpr const char* kHint =
    "install NCCL 2, or say in LD_LIBRARY_PATH where it is; one rank, or device: cpu, needs none of it";

// Closed at the end of the process: its own threads may outlive whoever opened it.
void* opened() {
  void* library = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (!library) throw DeviceError(fmt::format("NCCL is not to be had: {}", dlerror()), kHint);
  return library;
}

template <class Function>
void find(void* library, const char* name, Function& to) {
  to = reinterpret_cast<Function>(dlsym(library, name));
  if (!to) throw DeviceError(fmt::format("{} has no {}: it is of another version", kName, name), kHint);
}

}  // namespace

std::shared_ptr<const NcclLibrary> NcclLibrary::open() {
  void* library = opened();
  auto nccl = std::make_shared<NcclLibrary>();
  find(library, "ncclGetVersion", nccl->version);
  find(library, "ncclGetErrorString", nccl->error_string);
  find(library, "ncclGetLastError", nccl->last_error);
  find(library, "ncclGetUniqueId", nccl->unique_id);
  find(library, "ncclCommInitRank", nccl->init_rank);
  find(library, "ncclCommDestroy", nccl->destroy);
  find(library, "ncclCommAbort", nccl->abort);
  find(library, "ncclAllReduce", nccl->all_reduce);
  find(library, "ncclReduceScatter", nccl->reduce_scatter);
  find(library, "ncclAllGather", nccl->all_gather);
  find(library, "ncclBroadcast", nccl->broadcast);
  return nccl;
}

std::string NcclLibrary::words(ncclResult_t result, const char* call) const {
  const std::string last = last_error(nullptr);  // of this process, in more words
  return fmt::format("NCCL: {}: {}{}", call, error_string(result), last.empty() ? "" : ": " + last);
}

void NcclLibrary::check(ncclResult_t result, const char* call) const {
  if (result == ncclSuccess) return;
  if (result == ncclRemoteError) throw PeerError(words(result, call));
  throw DeviceError(words(result, call), "NCCL_DEBUG=INFO lets NCCL say more");
}

void NcclLibrary::check_quietly(ncclResult_t result, const char* call) const noexcept {
  if (result != ncclSuccess) log_warning("{}", words(result, call));
}

std::string NcclLibrary::version_text() const {
  int v = 0;
  check(version(&v), "ncclGetVersion");
  return fmt::format("NCCL {}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

}  // namespace weft
