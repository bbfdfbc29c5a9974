// SPDX-License-Identifier: Apache-2.0
#include "job/loaded_model.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/parameters.h"
#include "checkpoint/writer.h"
#include "job/migration.h"
#include "kernels/device/tuning.h"

namespace weft {

fs::path resolve_checkpoint(const fs::path& path, bool best, const std::function<void()>& on_progress) {
  if (has_manifest(path)) return path;
  const fs::path directory = fs::is_directory(path / "checkpoints") ? path / "checkpoints" : path;
  const auto latest = latest_valid(directory, on_progress);
  if (!latest) {
    throw DataError(fmt::format("{}: no committed checkpoint here", path.string()),
                    "give a run directory, or one of its checkpoints/step-N");
  }
  if (!best) return latest->path();
  const RunState state = run_state_from(latest->manifest().state, latest->path().string());
  require<DataError>(state.best_step >= 0, "{}: the run has not been evaluated, so no checkpoint is the best",
                     path.string());
  return checkpoint_path(directory, state.best_step);
}

namespace {

// The format of the packed weights: none of its own where the model computes in it anyway.
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
  // The library's first algorithms, and not the run's: what a model says follows from its weights, the device and the
  // library, whatever the run had measured when it saved them.
  set_products(context, {.tf32 = loaded.job.train.tf32});
  loaded.state = run_state_from(manifest.state, where);
  const auto tokenizer = [&](const char* name) {
    return Tokenizer::from_json(read_attachment(loaded.path, manifest, name), (loaded.path / name).string());
  };
  loaded.source_tokenizer = tokenizer("source-tokenizer.json");
  loaded.target_tokenizer = tokenizer("target-tokenizer.json");
  const bool pairs = loaded.job.task == Task::Translation;
  const Vocabularies vocabularies{.source = pairs ? loaded.source_tokenizer->vocabulary() : 0,
                                  .target = loaded.target_tokenizer->vocabulary()};
  loaded.model =
      make_model(context, mesh, {.config = loaded.job.model, .vocabularies = vocabularies, .lora = loaded.job.lora});
  loaded.model->allocate(loaded.job.train.precision, Purpose::Inference);
  loaded.model->packed_weights().set_format(weights);
  const std::vector<NamedBuffer> master = {{"master", loaded.model->parameters().master()}};
  checkpoint.read(loaded.model->context(), local_boxes(loaded.model->parameters(), master), on_progress, &mesh);
  loaded.model->parameters().sync_compute_weights();
  return loaded;
}

}  // namespace weft
