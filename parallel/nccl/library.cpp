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

void NcclLibrary::throw_failure(ncclResult_t result, const std::string& what) {
  const std::string hint = "NCCL_DEBUG=INFO makes NCCL print more";
  if (result == ncclRemoteError) throw PeerError(what, "the same command resumes from the last checkpoint");
  const bool called_wrongly = result == ncclInvalidArgument || result == ncclInvalidUsage;
  if (called_wrongly) throw DeviceError(what, hint);
  throw LostDeviceError(what, "the same command resumes from the last checkpoint; " + hint);
}

void NcclLibrary::check(ncclResult_t result, const char* call) const {
  if (result == ncclSuccess) return;
  const std::string what = fmt::format("NCCL: {}: {}", call, words(result));
  throw_failure(result, what);
}

void NcclLibrary::check_quietly(ncclResult_t result, const char* call) const noexcept {
  if (!taken(result)) log_warning("NCCL: {}: {}", call, words(result));
}

}  // namespace weft
