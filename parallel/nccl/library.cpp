// SPDX-License-Identifier: Apache-2.0
#include "parallel/nccl/library.h"

#include "base/error.h"
#include "base/log.h"
#include "base/process/shared_library.h"

namespace weft {

std::shared_ptr<const NcclLibrary> NcclLibrary::open() {
  const SharedLibrary library(
      shared_library_file("nccl", NCCL_MAJOR), "cannot load NCCL",
      fmt::format("install NCCL {}, or say in LD_LIBRARY_PATH where it is; one rank, or device: cpu, does not need it",
                  NCCL_MAJOR));
  auto nccl = std::make_shared<NcclLibrary>();
  library.find("ncclGetVersion", nccl->version);
  library.find("ncclGetErrorString", nccl->error_string);
  library.find("ncclGetLastError", nccl->last_error);
  library.find("ncclGetUniqueId", nccl->unique_id);
  library.find("ncclCommInitRank", nccl->init_rank);
  library.find("ncclCommDestroy", nccl->destroy);
  library.find("ncclCommAbort", nccl->abort);
  library.find("ncclCommGetAsyncError", nccl->async_error);
  library.find("ncclGroupStart", nccl->group_start);
  library.find("ncclGroupEnd", nccl->group_end);
  library.find("ncclAllReduce", nccl->all_reduce);
  library.find("ncclReduceScatter", nccl->reduce_scatter);
  library.find("ncclAllGather", nccl->all_gather);
  library.find("ncclBroadcast", nccl->broadcast);
  library.find("ncclSend", nccl->send);
  library.find("ncclRecv", nccl->receive);
  return nccl;
}

std::string NcclLibrary::words(ncclResult_t result) const {
  const std::string last = last_error(nullptr);  // more detail, about this process' last error
  return fmt::format("{}{}", error_string(result), last.empty() ? "" : ": " + last);
}

void NcclLibrary::check(ncclResult_t result, const char* call) const {
  if (result == ncclSuccess) return;
  const std::string what = fmt::format("NCCL: {}: {}", call, words(result));
  if (result == ncclRemoteError) throw PeerError(what);
  throw DeviceError(what, "NCCL_DEBUG=INFO makes NCCL print more");
}

void NcclLibrary::check_quietly(ncclResult_t result, const char* call) const noexcept {
  if (result != ncclSuccess) log_warning("NCCL: {}: {}", call, words(result));
}

}  // namespace weft
