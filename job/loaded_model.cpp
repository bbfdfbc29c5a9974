// SPDX-License-Identifier: Apache-2.0
#include "job/loaded_model.h"

#include "base/error.h"
#include "checkpoint/locate.h"
#include "checkpoint/parameters.h"
#include "checkpoint/reader.h"
#include "job/migration.h"
#include "kernels/device/tuning.h"

namespace weft {

namespace {

// Returns the format of the packed weights: Own if the model computes in `weights` anyway. F32 sets fp32 precision.
WeightFormat settle_weights(JobConfig& job, WeightFormat weights) {
  Precision& precision = job.train.precision;
  if (weights == WeightFormat::Own) return weights;
  if (weights == WeightFormat::F32) precision = Precision::Fp32;
  const bool own = weights == (precision == Precision::Bf16 ? WeightFormat::Bf16 : WeightFormat::F32);
  return own ? WeightFormat::Own : weights;
}

}  // namespace

LoadedModel load_model(Context& context, Mesh& mesh, const fs::path& path, bool best,
                       const std::vector<std::string>& overrides, const ComputeOptions& compute) {
  LoadedModel loaded;
  const auto on_progress = [&context] { context.note_progress(); };
  loaded.path = resolve_checkpoint(path, best, on_progress);
  const Checkpoint checkpoint = Checkpoint::open(loaded.path);
  const CheckpointManifest& manifest = checkpoint.manifest();
  const std::string where = manifest_path(loaded.path).string();
  loaded.job = parse_stored_job(manifest.job, where, overrides);
  const WeightFormat weights = settle_weights(loaded.job, compute.weights);
  // Products use the library's first algorithms and not the run's, so that a model's output follows from its weights,
  // the device and the library, whatever the run had measured when it saved the weights.
  set_products(context, {.tf32 = loaded.job.train.tf32});
  context.set_logits_chunk(loaded.job.train.output_chunk_mib << 20);
  loaded.state = run_state_of(manifest, loaded.path);
  const CheckpointTokenizers tokenizers = checkpoint.tokenizers();
  loaded.source_tokenizer = tokenizers.source, loaded.target_tokenizer = tokenizers.target;
  const bool pairs = loaded.job.task == Task::Translation;
  const Vocabularies vocabularies{.source = pairs ? loaded.source_tokenizer->vocabulary() : 0,
                                  .target = loaded.target_tokenizer->vocabulary()};
  loaded.model =
      make_model(context, mesh, {.config = loaded.job.model, .vocabularies = vocabularies, .lora = loaded.job.lora});
  loaded.model->allocate(loaded.job.train.precision, Purpose::Inference);
  loaded.model->packed_weights().set_format(weights);
  checkpoint.read(loaded.model->context(), master_boxes(loaded.model->parameters()), on_progress, &mesh);
  loaded.model->parameters().sync_compute_weights();
  return loaded;
}

}  // namespace weft
