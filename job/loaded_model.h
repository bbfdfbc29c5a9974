// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "checkpoint/run_state.h"
#include "data/tokenizer/tokenizer.h"
#include "job/job.h"
#include "model/transformer.h"

namespace weft {

// A model loaded from a checkpoint, ready to be evaluated or to generate: weights, the job that trained it, tokenizers.
struct LoadedModel {
  fs::path path;
  JobConfig job;
  RunState state;
  std::unique_ptr<Transformer> model;
  std::shared_ptr<const Tokenizer> source_tokenizer, target_tokenizer;  // identical for a language model
};

// How a model computes, if not as it was trained.
struct ComputeOptions {
  // The format that its products read (model/packed_weights.h): bf16 and int8 are made of the compute weights; f32
  // makes a bf16 model compute in fp32.
  WeightFormat weights = WeightFormat::Own;
};

// `path` is a checkpoint, or a run directory whose latest valid checkpoint is taken (best: the one of the
// best evaluation). Overrides ("train.precision=bf16") change the stored job.
LoadedModel load_model(Context& context, Mesh& mesh, const fs::path& path, bool best = false,
                       const std::vector<std::string>& overrides = {}, const ComputeOptions& compute = {});

}  // namespace weft
