// SPDX-License-Identifier: Apache-2.0
#include "bench/micro/gloo_sums.h"

#ifdef WEFT_HAS_GLOO
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <unistd.h>

#include <filesystem>
#endif

namespace weft {

#ifdef WEFT_HAS_GLOO
std::function<void()> gloo_all_reduce(Communicator& world, const Tensor& tensor) {
  namespace fs = std::filesystem;
  const fs::path folder =
      world.broadcast_text((fs::temp_directory_path() / ("gloo-" + std::to_string(getpid()))).string(), 0);
  fs::create_directories(folder);
  gloo::transport::tcp::attr where;
  where.hostname = "127.0.0.1";
  gloo::rendezvous::FileStore store(folder);
  const auto context = std::make_shared<gloo::rendezvous::Context>(world.rank(), world.size());
  auto device = gloo::transport::tcp::CreateDevice(where);
  context->connectFullMesh(store, device);
  world.barrier();
  if (world.rank() == 0) fs::remove_all(folder);
  return [context, tensor] {
    gloo::AllreduceOptions options(context);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setOutput(tensor.data<float>(), static_cast<size_t>(tensor.elements()));
    using Sum = void (*)(void*, const void*, const void*, size_t);
    options.setReduceFunction(static_cast<Sum>(&gloo::sum<float>));
    gloo::allreduce(options);
  };
}
#else
std::function<void()> gloo_all_reduce(Communicator&, const Tensor&) { return {}; }
#endif

}  // namespace weft
