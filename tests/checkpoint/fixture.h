// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <cstring>

#include "checkpoint/parameters.h"
#include "checkpoint/reader.h"
#include "checkpoint/run_state.h"
#include "checkpoint/writer.h"
#include "parallel/local/in_process.h"
#include "tests/support/scratch.h"
#include "tests/support/stored_tensors.h"

namespace weft::test {

class Checkpoints : public testing::Test {
 protected:
  const Scratch scratch_;
  const fs::path directory_ = scratch_.path();
};

inline void declare(ParameterRegistry& registry, const Sharding& sharding = {}) {
  registry.add({.name = "embedding",
                .shape = {29, 8},
                .init = Init::normal(1),
                .placement = sharded(MeshAxis::Tp, 0),
                .padded = true});
  registry.add({.name = "down", .shape = {5, 16}, .init = Init::normal(1), .placement = sharded(MeshAxis::Tp, 1)});
  registry.add({.name = "norm", .shape = {7}, .init = Init::uniform(1)});
  registry.add({.name = "qkv", .shape = {4, 3, 2, 5}, .init = Init::normal(1), .placement = sharded(MeshAxis::Tp, 0)});
  registry.allocate(Precision::Fp32, Purpose::Training, sharding);
}

// The masters' values in the layout of an optimizer's state, for the parameters that this rank owns.
inline FlatBuffer moment_like_master(const ParameterRegistry& registry) {
  const FlatBuffer moment = registry.make_state();
  for (const FlatRange& owned : registry.layout().owned) {
    const Tensor from = registry.master().piece(owned), to = moment.piece(owned);
    std::memcpy(to.raw(), from.raw(), from.bytes());
  }
  return moment;
}

inline bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

// Small buckets, so that the boundaries between replicas cut through tensors.
inline Sharding small_buckets(bool zero) {
  return {.zero = zero ? ZeroStage::Optimizer : ZeroStage::Whole, .bucket_bytes = 400};
}

// A model and one moment on `layout`, saved as `step`.
inline fs::path save(const fs::path& directory, const MeshLayout& layout, int64_t step, uint64_t seed,
                     const RunState& state = {}, bool zero = false, int64_t sequence = 0) {
  fs::path saved;
  run_in_process(layout, [&](Mesh& mesh, int rank) {
    Context context;
    ParameterRegistry registry(context, mesh);
    declare(registry, small_buckets(zero));
    registry.initialise(seed);
    const FlatBuffer moment = moment_like_master(registry);
    CheckpointWriter writer(directory, context, mesh.world());
    writer.start(
        {.step = step,
         .sequence = sequence,
         .state = to_json(state),
         .job = "name: test\n",
         .fingerprint = {{"dp", layout.dp}},
         .layout = layout,
         .attachments = {{"tokenizer.json", "{}"}}},
        owned_arrays(registry, std::vector<NamedBuffer>{{kMasterBuffer, registry.master()}, {"moment1", moment}}));
    // What changes right after start() is not in the file.
    await_snapshots(context);
    for (float& x : registry.master().data.span<float>()) x = -1;
    const fs::path path = writer.finish().path;
    if (rank == 0) saved = path;
  });
  return saved;
}

}  // namespace weft::test
