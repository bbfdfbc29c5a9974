// SPDX-License-Identifier: Apache-2.0
#include "exchange/gpt2_import.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/config/writer.h"
#include "base/error.h"
#include "base/files/new_directory.h"
#include "checkpoint/attachments.h"
#include "checkpoint/run_state.h"
#include "checkpoint/whole_writer.h"
#include "data/tokenizer/formats/hugging_face.h"
#include "exchange/gpt2_config.h"
#include "exchange/gpt2_tensors.h"
#include "job/migration.h"
#include "model/transformer.h"

namespace weft {
namespace {

// The stored tensor from which a tensor of the checkpoint is made, and its form.
struct Source {
  const SafetensorsModel::Place* place = nullptr;
  Gpt2Form form = Gpt2Form::Same;
};

// A job that holds the model and nothing else. Sizes and probabilities out of range count as errors of config.json.
JobConfig job_of(const fs::path& directory, const TransformerConfig& model) {
  const fs::path absolute = fs::absolute(directory / "").lexically_normal().parent_path();
  JobConfig job{.name = absolute.filename().string(), .model = model, .batch = {.sequences = 1}};
  job.data.max_source_tokens = std::min(job.data.max_source_tokens, model.max_length);
  job.data.max_target_tokens = std::min(job.data.max_target_tokens, model.max_length);
  const std::string where = (directory / "config.json").string();
  try {
    const JobConfig read = parse_stored_job(to_yaml(job), where);
    check_shapes(read);
    return read;
  } catch (const ConfigError& error) {
    throw DataError(fmt::format("{}: a model that weft cannot have: {}", where, error.what()), error.hint());
  }
}

// The model's tensors in a directory, found by the names of weft's parameters.
class Gpt2Weights {
 public:
  Gpt2Weights(const fs::path& directory, const Gpt2Config& config);

  const std::vector<WholeTensor>& tensors() const { return tensors_; }
  void read(const WholeTensor& tensor, std::span<float> into) const;
  // "F32" or "BF16" if all tensors have that type, else "mixed".
  std::string dtype() const;
  const SafetensorsModel& files() const { return files_; }

 private:
  const SafetensorsModel::Place* find(const Gpt2Place& place) const;
  void add(const std::string& name, const Shape& shape);
  void check_head(const SafetensorsModel::Place& head, const SafetensorsModel::Place& embedding) const;
  void check_others(const Gpt2Config& config) const;

  fs::path directory_;
  SafetensorsModel files_;
  std::string prefix_;
  std::vector<WholeTensor> tensors_;
  std::map<std::string, Source> sources_;  // by weft's parameter name
};

Gpt2Weights::Gpt2Weights(const fs::path& directory, const Gpt2Config& config)
    : directory_(directory), files_(directory) {
  for (const auto& [name, place] : files_.tensors()) {
    if (name.starts_with(kGpt2Prefix)) prefix_ = kGpt2Prefix;
  }
  Context context;
  Mesh mesh = Mesh::single();
  const auto model = make_model(context, mesh, {.config = config.model, .vocabularies = {.target = config.vocabulary}});
  for (const auto& p : model->parameters().parameters()) add(p->spec().name, p->spec().shape);
  check_others(config);
}

const SafetensorsModel::Place* Gpt2Weights::find(const Gpt2Place& place) const {
  const auto found = files_.tensors().find(place.name == kGpt2Head ? place.name : prefix_ + place.name);
  return found == files_.tensors().end() ? nullptr : &found->second;
}

void Gpt2Weights::add(const std::string& name, const Shape& shape) {
  const auto place = gpt2_place(name);
  require<InternalError>(place.has_value(), "GPT-2 has no {}", name);
  const auto* found = find(*place);
  require<DataError>(found != nullptr, "{}: tensor {}{} is missing", directory_.string(),
                     place->name == kGpt2Head ? "" : prefix_, place->name);
  const StoredTensor& stored = found->tensor;
  const Shape expected = gpt2_shape(shape, place->form);
  require<DataError>(stored.shape == expected, "{} has shape {}, but config.json makes it {}", files_.where(*found),
                     stored.shape, expected);
  require<DataError>(stored.type != StoredType::Other, "{} is {}; weft reads F32, BF16 and F16", files_.where(*found),
                     stored.dtype);
  tensors_.push_back({name, shape});
  sources_[name] = {found, place->form};
}

void Gpt2Weights::check_head(const SafetensorsModel::Place& head, const SafetensorsModel::Place& embedding) const {
  const auto refuse_unless = [&](bool equal) {
    if (equal) return;
    throw DataError(fmt::format("{} differs from {}, to which config.json ties it (tie_word_embeddings)",
                                files_.where(head), embedding.tensor.name),
                    "set tie_word_embeddings to false if the model has a head of its own");
  };
  refuse_unless(head.tensor.shape == embedding.tensor.shape && head.tensor.type == embedding.tensor.type);
  constexpr uint64_t kPiece = 1 << 20;
  const auto elements = static_cast<uint64_t>(head.tensor.shape.elements());
  for (uint64_t at = 0; at < elements; at += kPiece) {
    std::vector<float> one(std::min(kPiece, elements - at)), other(one.size());
    files_.read(head, one, at);
    files_.read(embedding, other, at);
    refuse_unless(std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) == 0);
  }
}

// Checks the stored tensors that are no parameters of the model: only a tied head and causal masks are allowed.
void Gpt2Weights::check_others(const Gpt2Config& config) const {
  std::set<const SafetensorsModel::Place*> used;
  for (const auto& [name, source] : sources_) used.insert(source.place);
  for (const auto& [name, place] : files_.tensors()) {
    if (used.contains(&place)) continue;
    if (name == kGpt2Head && config.model.tying == Tying::Output) {
      check_head(place, *sources_.at("decoder.embedding.tokens").place);
      continue;
    }
    const bool prefixed = name.starts_with(prefix_);
    require<DataError>(prefixed && is_gpt2_mask(std::string_view(name).substr(prefix_.size())),
                       "{} is no tensor of the GPT-2 that config.json describes", files_.where(place));
  }
}

void Gpt2Weights::read(const WholeTensor& tensor, std::span<float> into) const {
  const Source& source = sources_.at(tensor.name);
  if (source.form == Gpt2Form::Same) return files_.read(*source.place, into);
  std::vector<float> theirs(into.size());
  files_.read(*source.place, theirs);
  from_gpt2(source.form, tensor.shape, theirs, into);
}

std::string Gpt2Weights::dtype() const {
  std::set<std::string> dtypes;
  for (const auto& [name, source] : sources_) dtypes.insert(source.place->tensor.dtype);
  return dtypes.size() == 1 ? *dtypes.begin() : "mixed";
}

}  // namespace

void import_gpt2(const fs::path& directory, const fs::path& out, nlohmann::ordered_json origin) {
  require_absent(out);
  require<DataError>(fs::is_directory(directory), "{}: no such directory", directory.string());
  const Gpt2Config config = read_gpt2_config(directory / "config.json");
  const JobConfig job = job_of(directory, config.model);
  const Gpt2Weights weights(directory, config);
  const auto tokenizer = read_hugging_face_tokenizer(directory, config.vocabulary);
  origin["imported"] = {{"from", fs::absolute(directory).string()},
                        {"architecture", "gpt2"},
                        {"dtype", weights.dtype()},
                        {"metadata", weights.files().metadata()}};
  const CheckpointHeader header{.state = to_json(RunState{.run = "imported"}),
                                .job = to_yaml(job),
                                .fingerprint = nlohmann::ordered_json::object(),
                                .provenance = std::move(origin),
                                .attachments = tokenizer_attachments(*tokenizer, *tokenizer)};
  write_whole_checkpoint(out, header, weights.tensors(),
                         [&](const WholeTensor& tensor, std::span<float> into) { weights.read(tensor, into); });
}

}  // namespace weft
