#include "exchange/gpt2_export.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/reader.h"
#include "checkpoint/safetensors_writer.h"
#include "data/tokenizer/hugging_face.h"
#include "exchange/gpt2_config.h"
#include "exchange/gpt2_tensors.h"
#include "job/migration.h"
#include "kernels/transfer.h"
#include "model/transformer.h"

namespace weft {
namespace {

// A tensor of the export and where it comes from: from nothing (zeros) if weft's model has no such bias.
struct Exported {
  std::string ours;
  Shape shape;  // ours
  Gpt2Place place;
  bool stored = true;
};

// GPT-2's tensors in the order of weft's parameters. Every tensor of the checkpoint is among them.
std::vector<Exported> exported_tensors(const Checkpoint& checkpoint, const Gpt2Config& config) {
  std::map<std::string, Shape> stored;
  for (const auto& [name, shape] : checkpoint.tensors("master")) stored.emplace(name, shape);
  TransformerConfig with_biases = config.model;
  with_biases.bias = with_biases.norm_bias = true;
  Context context;
  Mesh mesh = Mesh::single();
  const auto model = make_model(context, mesh, with_biases, {.target = config.vocabulary});
  std::vector<Exported> exported;
  for (const auto& p : model->parameters().parameters()) {
    const auto& [name, shape] = std::tie(p->spec().name, p->spec().shape);
    const auto found = stored.find(name);
    const bool bias = name.ends_with(".bias");
    const bool absent = bias && !(name.find("norm") == std::string::npos ? config.model.bias : config.model.norm_bias);
    require<DataError>(found != stored.end() || absent, "{}: {} is missing", checkpoint.path().string(), name);
    exported.push_back({name, shape, gpt2_place(name).value(), found != stored.end()});
    if (found != stored.end()) stored.erase(found);
  }
  require<DataError>(stored.empty(), "{}: GPT-2 has no place for its tensor {}", checkpoint.path().string(),
                     stored.empty() ? "" : stored.begin()->first);
  return exported;
}

StoredType kept_dtype(const nlohmann::ordered_json& provenance) {
  const bool imported = provenance.is_object() && provenance.contains("imported");
  return imported && provenance["imported"].value("dtype", "") == "BF16" ? StoredType::BF16 : StoredType::F32;
}

std::map<std::string, std::string> metadata_of(const CheckpointManifest& manifest,
                                               const nlohmann::ordered_json& origin) {
  return {{"format", "pt"},
          {"weft_step", fmt::format("{}", manifest.step)},
          {"weft_provenance", manifest.provenance.dump()},
          {"weft_exported", origin.dump()}};
}

void write_weights(const Checkpoint& checkpoint, const Gpt2Config& config, StoredType dtype, const fs::path& path,
                   const nlohmann::ordered_json& origin) {
  const std::vector<Exported> exported = exported_tensors(checkpoint, config);
  std::vector<TensorToStore> tensors;
  for (const Exported& e : exported) {
    const bool head = e.place.name == kGpt2Head;
    tensors.push_back({.name = (head ? "" : std::string(kGpt2Prefix)) + e.place.name,
                       .type = dtype,
                       .shape = gpt2_shape(e.shape, e.place.form)});
  }
  SafetensorsWriter writer(path, tensors, metadata_of(checkpoint.manifest(), origin));
  Context context;
  for (const Exported& e : exported) {
    std::vector<float> ours(static_cast<size_t>(e.shape.elements()));
    if (e.stored) {
      const std::vector<int64_t> origin_of_all(static_cast<size_t>(e.shape.rank()), 0);
      const Tensor whole = context.empty(e.shape, DType::F32);
      checkpoint.read(context, {{"master", e.ours, e.shape, origin_of_all, whole}});
      download(context, whole, std::span<float>(ours));
    }
    if (e.place.form == Gpt2Form::Same) {
      writer.write(ours);
      continue;
    }
    std::vector<float> theirs(ours.size());
    to_gpt2(e.place.form, e.shape, ours, theirs);
    writer.write(theirs);
  }
  writer.finish();
}

}  // namespace

void export_gpt2(const fs::path& path, const fs::path& out, std::optional<StoredType> dtype,
                 const nlohmann::ordered_json& origin) {
  require<DataError>(!fs::exists(out), "{}: exists already", out.string());
  const Checkpoint checkpoint = Checkpoint::open(path);
  const CheckpointManifest& manifest = checkpoint.manifest();
  const std::string where = manifest_path(path).string(), name = "target-tokenizer.json";
  const JobConfig job = parse_stored_job(manifest.job, where);
  if (job.lora.active()) {
    throw ConfigError(fmt::format("{}: the adapters are not merged with the weights", where),
                      "weft merge CHECKPOINT OUT, then export OUT");
  }
  check_is_gpt2(job.model, where);
  const auto tokenizer = Tokenizer::from_json(read_attachment(path, manifest, name), (path / name).string());
  const Gpt2Config config{.model = job.model, .vocabulary = tokenizer->vocabulary()};
  const StoredType stored = dtype.value_or(kept_dtype(manifest.provenance));
  std::map<std::string, std::string> files = hugging_face_tokenizer_files(*tokenizer, job.model.max_length);
  files["config.json"] = gpt2_config_json(config, stored, *tokenizer);
  files["generation_config.json"] = generation_config_json(*tokenizer);
  const fs::path temporary = out.string() + std::string(kUnfinished);
  fs::remove_all(temporary);
  fs::create_directories(temporary);
  try {
    for (const auto& [file, text] : files) write_file_atomically(temporary / file, text);
    write_weights(checkpoint, config, stored, temporary / "model.safetensors", origin);
    rename_durably(temporary, out);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
}

}  // namespace weft
