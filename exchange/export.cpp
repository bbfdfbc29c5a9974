// SPDX-License-Identifier: Apache-2.0
#include "exchange/export.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/new_directory.h"
#include "checkpoint/reader.h"
#include "checkpoint/safetensors/writer.h"
#include "exchange/export_plan.h"
#include "job/migration.h"
#include "kernels/transfer.h"
#include "model/transformer.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

StoredType kept_dtype(const Json& provenance) {
  const bool imported = provenance.is_object() && provenance.contains("imported");
  return imported && provenance["imported"].value("dtype", "") == "BF16" ? StoredType::BF16 : StoredType::F32;
}

void check_adapters(const ModelToExport& model, bool adapter) {
  if (!adapter) {
    return require_merged(model, "weft merge CHECKPOINT OUT, then export OUT; or --adapter for the adapters alone");
  }
  if (!model.job.lora.active()) {
    throw ConfigError(fmt::format("{}: there are no adapters", model.where), "leave --adapter out");
  }
  if (model.job.is_translation()) {
    throw ConfigError(fmt::format("{}: adapters of a translation model have no form there", model.where),
                      "weft merge CHECKPOINT OUT, then export OUT");
  }
}

std::vector<float> read_whole(const Checkpoint& checkpoint, const std::string& name, const Shape& shape) {
  Context context;
  const Tensor whole = checkpoint.read_whole(context, name, shape);
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  download(context, whole, std::span<float>(values));
  return values;
}

void write_weights(const Checkpoint& checkpoint, const std::vector<ExportedTensor>& tensors, StoredType dtype,
                   const fs::path& path, const Json& origin) {
  std::vector<TensorToStore> to_store;
  for (const ExportedTensor& t : tensors) to_store.push_back({t.place.name, dtype, t.place.shape});
  const CheckpointManifest& manifest = checkpoint.manifest();
  SafetensorsWriter writer(path, to_store,
                           {{"format", "pt"},
                            {"weft_step", fmt::format("{}", manifest.step)},
                            {"weft_provenance", manifest.provenance.dump()},
                            {"weft_exported", origin.dump()}});
  ExportedValues values(checkpoint);
  for (const ExportedTensor& t : tensors) writer.write(values.of(t));
  writer.finish();
}

}  // namespace

ModelToExport model_of(const Checkpoint& checkpoint, std::optional<StoredType> dtype) {
  const CheckpointManifest& manifest = checkpoint.manifest();
  CheckpointTokenizers tokenizers = checkpoint.tokenizers();
  const std::string where = checkpoint.path().string();
  JobConfig job = parse_stored_job(manifest.job, where);
  return {.where = where,
          .job = std::move(job),
          .source_tokenizer = std::move(tokenizers.source),
          .target_tokenizer = std::move(tokenizers.target),
          .dtype = dtype.value_or(kept_dtype(manifest.provenance))};
}

void require_merged(const ModelToExport& model, const std::string& hint) {
  if (!model.job.lora.active()) return;
  throw ConfigError(fmt::format("{}: the adapters are not merged with the weights", model.where), hint);
}

void check_complete(const Checkpoint& checkpoint, const ExportPlan& plan) {
  std::map<std::string, Shape> stored;
  for (const auto& [name, shape] : checkpoint.tensors()) stored.emplace(name, shape);
  std::set<std::string> used;
  for (const ExportedTensor& t : plan.tensors) {
    require<DataError>(stored.contains(t.ours) || t.may_be_absent, "{}: {} is missing", checkpoint.path().string(),
                       t.ours);
    used.insert(t.ours);
  }
  for (const auto& [name, shape] : stored) {
    require<DataError>(used.contains(name) || plan.adapters_alone, "{}: the exported architecture has no place for {}",
                       checkpoint.path().string(), name);
  }
}

ExportedValues::ExportedValues(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {
  for (const auto& [name, shape] : checkpoint.tensors()) stored_.insert(name);
}

std::vector<float> ExportedValues::of(const ExportedTensor& tensor) {
  const bool is_stored = stored_.contains(tensor.ours);
  if (is_stored && held_ != tensor.ours) {
    ours_ = {};
    ours_ = read_whole(checkpoint_, tensor.ours, tensor.shape);
    held_ = tensor.ours;
  }
  std::vector<float> theirs(static_cast<size_t>(tensor.place.shape.elements()));
  if (is_stored) to_stored(tensor.place, ours_, theirs);
  return theirs;
}

void add_parameter(ExportPlan& plan, const std::string& name, const Shape& shape, std::vector<StoredPlace> places) {
  require<InternalError>(!places.empty(), "{} has no {}", plan.architecture, name);
  for (StoredPlace& place : places) {
    plan.tensors.push_back(
        {.place = std::move(place), .ours = name, .shape = shape, .may_be_absent = name.ends_with(".bias")});
  }
}

ExportReport export_model(const fs::path& path, const fs::path& out, std::optional<StoredType> dtype,
                          const Json& origin, bool adapter) {
  require_absent(out);
  const Checkpoint checkpoint = Checkpoint::open(path);
  const ModelToExport model = model_of(checkpoint, dtype);
  check_adapters(model, adapter);
  const bool translates = model.job.is_translation();
  const auto reason = translates ? why_not_marian(model) : std::nullopt;
  const ExportPlan plan = adapter       ? plan_adapter(model)
                          : !translates ? plan_decoder(model)
                          : reason      ? plan_own_layout(model)
                                        : plan_marian(model);
  check_complete(checkpoint, plan);
  NewDirectory directory(out);
  for (const auto& [file, text] : plan.files) write_file_atomically(directory.path() / file, text);
  write_weights(checkpoint, plan.tensors, model.dtype, directory.path() / plan.weights, origin);
  directory.commit();
  return {plan.architecture, reason.value_or("")};
}

}  // namespace weft
