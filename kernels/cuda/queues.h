#pragma once
#include "kernels/cuda/copy_stream.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cudnn/attention.h"
#include "kernels/cuda/device_allocator.h"
#include "kernels/cuda/staging.h"

namespace weft::cuda {

// A device's queue of operations, the libraries that work on it, and the copies that run beside it.
struct CudaBackend::Queues {
  explicit Queues(int device)
      : stream(device),
        staging(stream),
        matmul(stream),
        attention(stream),
        host_memory(pinned_allocator(device)),
        uploads(stream),
        snapshots(stream) {}

  Stream stream;
  Staging staging;
  MatmulEngine matmul;
  LibraryAttention attention;
  std::shared_ptr<Allocator> host_memory;
  CopyStream uploads, snapshots;  // apart: tokens do not wait behind a checkpoint
};

}  // namespace weft::cuda
