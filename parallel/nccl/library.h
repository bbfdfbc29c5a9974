// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nccl.h>

#include <memory>
#include <string>

namespace weft {

// NCCL, loaded when several ranks first use devices, and kept: a single process does not pay for it.
struct NcclLibrary {
  decltype(&ncclGetVersion) version;
  decltype(&ncclGetErrorString) error_string;
  decltype(&ncclGetLastError) last_error;
  decltype(&ncclGetUniqueId) unique_id;
  decltype(&ncclCommInitRank) init_rank;
  decltype(&ncclCommDestroy) destroy;
  decltype(&ncclCommAbort) abort;
  decltype(&ncclCommGetAsyncError) async_error;
  decltype(&ncclGroupStart) group_start;
  decltype(&ncclGroupEnd) group_end;
  decltype(&ncclAllReduce) all_reduce;
  decltype(&ncclReduceScatter) reduce_scatter;
  decltype(&ncclAllGather) all_gather;
  decltype(&ncclBroadcast) broadcast;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) receive;

  // Throws a DeviceError that names the library, where it was looked for, and what is missing in it.
  static std::shared_ptr<const NcclLibrary> open();
  // Throws what a failure of NCCL means: PeerError if another rank is gone, DeviceError if NCCL was called wrongly,
  // else LostDeviceError: a device, a link or the network has failed.
  [[noreturn]] static void throw_failure(ncclResult_t result, const std::string& what);
  // Throws if `result` says that `call` failed.
  void check(ncclResult_t result, const char* call) const;
  // "unhandled system error: ...", the library's message.
  std::string words(ncclResult_t result) const;
  // Whether NCCL has taken a call. A communicator that does not block (NCCL_COMM_BLOCKING=0) says that it is in
  // progress.
  static bool taken(ncclResult_t result) { return result == ncclSuccess || result == ncclInProgress; }
  // For destructors: logs what check() would throw, of calls after which the communicator is not used.
  void check_quietly(ncclResult_t result, const char* call) const noexcept;
};

}  // namespace weft
