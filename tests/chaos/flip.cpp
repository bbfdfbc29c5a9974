// SPDX-License-Identifier: Apache-2.0
// A library that is preloaded into the ranks of a run (LD_PRELOAD) and flips one bit of what a collective of MPI sends
// or receives, as a link or memory may:
//   WEFT_FLIP=CALL:NTH:RANK:SIDE   in RANK's NTH call of CALL (MPI_Ialltoall, MPI_Iallgather, MPI_Iallreduce or
//                                  MPI_Ireduce_scatter_block); SIDE: sent, before the call, or received, after it
// It says so on standard error.
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "tests/chaos/preload.h"

namespace {

using namespace weft::test;

struct Plan {
  std::string call, side;
  int nth = 0;

  Plan() {
    const std::vector<std::string> words = words_of(text_of("WEFT_FLIP"));
    if (words.size() != 4 || words[2] != text_of("OMPI_COMM_WORLD_RANK")) return;
    call = words[0], nth = std::stoi(words[1]), side = words[3];
  }

  // Counts a call, and says whether it is the one.
  bool is(const char* name) { return call == name && --nth == 0; }
};

Plan& plan() {
  static Plan plan;
  return plan;
}

// In the middle of the message, and there in the mantissa of a float.
void flip(void* message, int64_t bytes) {
  static_cast<uint8_t*>(message)[bytes / 16 * 8 + 1] ^= 4;
  std::fprintf(stderr, "flipped a bit of %lld bytes that %s %s\n", static_cast<long long>(bytes), plan().call.c_str(),
               plan().side.c_str());
}

int64_t bytes_of(int count, MPI_Datatype type) {
  int size = 0;
  MPI_Type_size(type, &size);
  return int64_t{count} * size;
}

int ranks_of(MPI_Comm comm) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  return ranks;
}

// Calls MPI, and flips a bit if this is the call. What is received is waited for: the ranks begin their collectives in
// one order, so that each of them ends whatever the ranks do meanwhile.
template <class Call>
int with_flip(const char* name, const void* sent, int64_t sent_bytes, void* received, int64_t received_bytes,
              MPI_Request* request, Call&& call) {
  const bool now = plan().is(name);
  if (now && plan().side == "sent") flip(const_cast<void*>(sent), sent_bytes);
  const int result = call();
  if (!now || plan().side != "received") return result;
  MPI_Wait(request, MPI_STATUS_IGNORE);
  flip(received, received_bytes);
  return result;
}

}  // namespace

extern "C" {

int MPI_Ialltoall(const void* sent, int count, MPI_Datatype type, void* received, int their_count,
                  MPI_Datatype their_type, MPI_Comm comm, MPI_Request* request) {
  const int64_t bytes = ranks_of(comm) * bytes_of(count, type);
  return with_flip("MPI_Ialltoall", sent, bytes, received, bytes, request,
                   [&] { return PMPI_Ialltoall(sent, count, type, received, their_count, their_type, comm, request); });
}

int MPI_Iallgather(const void* sent, int count, MPI_Datatype type, void* received, int their_count,
                   MPI_Datatype their_type, MPI_Comm comm, MPI_Request* request) {
  const int64_t bytes = bytes_of(their_count, their_type);
  return with_flip("MPI_Iallgather", sent, bytes, received, ranks_of(comm) * bytes, request, [&] {
    return PMPI_Iallgather(sent, count, type, received, their_count, their_type, comm, request);
  });
}

int MPI_Iallreduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  const int64_t bytes = bytes_of(count, type);
  return with_flip("MPI_Iallreduce", sent, bytes, received, bytes, request,
                   [&] { return PMPI_Iallreduce(sent, received, count, type, op, comm, request); });
}

int MPI_Ireduce_scatter_block(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              MPI_Request* request) {
  const int64_t bytes = bytes_of(count, type);
  return with_flip("MPI_Ireduce_scatter_block", sent, ranks_of(comm) * bytes, received, bytes, request,
                   [&] { return PMPI_Ireduce_scatter_block(sent, received, count, type, op, comm, request); });
}

}  // extern "C"
