// SPDX-License-Identifier: Apache-2.0
#include "exchange/import.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/config/writer.h"
#include "base/error.h"
#include "base/files/new_directory.h"
#include "checkpoint/attachments.h"
#include "checkpoint/run_state.h"
#include "checkpoint/safetensors/safetensors.h"
#include "checkpoint/whole_writer.h"
#include "data/tokenizer/formats/hugging_face.h"
#include "exchange/chat_template.h"
#include "exchange/family.h"
#include "exchange/parameters.h"
#include "job/migration.h"

namespace weft {
namespace {

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

// One of the stored tensors that make up a parameter.
struct Source {
  const SafetensorsModel::Place* stored = nullptr;
  StoredPlace place;
};

// The model's tensors in a directory, found by the names of weft's parameters.
class ImportedWeights {
 public:
  ImportedWeights(const fs::path& directory, const Family& family, const DescribedModel& model);

  const std::vector<WholeTensor>& tensors() const { return tensors_; }
  void read(const WholeTensor& tensor, std::span<float> into) const;
  // "F32" or "BF16" if all tensors have that type, else "mixed".
  std::string dtype() const;
  const SafetensorsModel& files() const { return files_; }

 private:
  void add(const std::string& name, const Shape& shape);
  Source find(StoredPlace place) const;
  void check_head(const SafetensorsModel::Place& head, const SafetensorsModel::Place& embedding) const;
  void check_others(bool tied) const;

  fs::path directory_;
  const Family& family_;
  SafetensorsModel files_;
  bool bare_ = true;  // the files leave the prefix out
  std::vector<WholeTensor> tensors_;
  std::map<std::string, std::vector<Source>> sources_;  // by weft's parameter name
};

ImportedWeights::ImportedWeights(const fs::path& directory, const Family& family, const DescribedModel& model)
    : directory_(directory), family_(family), files_(directory) {
  for (const auto& [name, place] : files_.tensors()) bare_ = bare_ && !name.starts_with(family.prefix());
  for (const auto& [name, shape] :
       parameters_of({.config = model.config, .vocabularies = {.target = model.vocabulary}})) {
    add(name, shape);
  }
  check_others(model.config.tying != Tying::None);
}

Source ImportedWeights::find(StoredPlace place) const {
  const auto found = files_.tensors().find(place.name);
  require<DataError>(found != files_.tensors().end(), "{}: tensor {} is missing", directory_.string(), place.name);
  const StoredTensor& stored = found->second.tensor;
  require<DataError>(stored.shape == place.shape, "{} has shape {}, but config.json makes it {}",
                     files_.where(found->second), stored.shape, place.shape);
  require<DataError>(stored.type != StoredType::Other, "{} is {}; weft reads F32, BF16 and F16",
                     files_.where(found->second), stored.dtype);
  return {&found->second, std::move(place)};
}

void ImportedWeights::add(const std::string& name, const Shape& shape) {
  std::vector<Source>& sources = sources_[name];
  for (StoredPlace& place : family_.places(name, shape, bare_)) sources.push_back(find(std::move(place)));
  require<InternalError>(!sources.empty(), "{} has no {}", family_.name(), name);
  tensors_.push_back({name, shape});
}

void ImportedWeights::check_head(const SafetensorsModel::Place& head, const SafetensorsModel::Place& embedding) const {
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

// Checks the stored tensors that are no parameters of the model: only a tied head and what the family ignores are
// allowed.
void ImportedWeights::check_others(bool tied) const {
  std::set<const SafetensorsModel::Place*> used;
  for (const auto& [name, sources] : sources_) {
    for (const Source& source : sources) used.insert(source.stored);
  }
  const std::string_view prefix = bare_ ? std::string_view() : family_.prefix();
  for (const auto& [name, place] : files_.tensors()) {
    if (used.contains(&place)) continue;
    if (name == kHeadTensor && tied) {
      check_head(place, *sources_.at("decoder.embedding.tokens").front().stored);
      continue;
    }
    const bool prefixed = name.starts_with(prefix);
    require<DataError>(prefixed && family_.ignores(std::string_view(name).substr(prefix.size())),
                       "{} is no tensor of the {} that config.json describes", files_.where(place), family_.name());
  }
}

void ImportedWeights::read(const WholeTensor& tensor, std::span<float> into) const {
  for (const auto& [stored, place] : sources_.at(tensor.name)) {
    if (place.rows.empty()) {
      files_.read(*stored, into);
      continue;
    }
    std::vector<float> theirs(static_cast<size_t>(place.shape.elements()));
    files_.read(*stored, theirs);
    from_stored(place, theirs, into);
  }
}

std::string ImportedWeights::dtype() const {
  std::set<std::string> dtypes;
  for (const auto& [name, sources] : sources_) {
    for (const Source& source : sources) dtypes.insert(source.stored->tensor.dtype);
  }
  return dtypes.size() == 1 ? *dtypes.begin() : "mixed";
}

}  // namespace

void import_hugging_face(const fs::path& directory, const fs::path& out, nlohmann::ordered_json origin) {
  require_absent(out);
  require<DataError>(fs::is_directory(directory), "{}: no such directory", directory.string());
  const ConfigFile file(directory / "config.json");
  const Family& family = family_of(file);
  const DescribedModel model = family.read(file);
  JobConfig job = job_of(directory, model.config);
  const ImportedWeights weights(directory, family, model);
  const auto [tokenizer, begins_texts] = read_hugging_face_tokenizer(directory, model.vocabulary);
  job.data.source_bos = begins_texts;
  if (const std::optional<ChatConfig> chat = read_chat_template(directory)) {
    job.data.format = TextFormat::Messages, job.data.chat = *chat;
  }
  origin["imported"] = {{"from", fs::absolute(directory).string()},
                        {"architecture", family.type()},
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
