// SPDX-License-Identifier: Apache-2.0
#include "exchange/import.h"

#include <algorithm>
#include <cmath>
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
#include "data/tokenizer/same_ids.h"
#include "exchange/chat_template.h"
#include "exchange/family.h"
#include "exchange/parameters.h"
#include "job/migration.h"

namespace weft {
namespace {

// A job that holds the model and nothing else. Sizes and probabilities out of range count as errors of config.json.
JobConfig job_of(const fs::path& directory, const TransformerConfig& model, bool translates) {
  const fs::path absolute = fs::absolute(directory / "").lexically_normal().parent_path();
  JobConfig job{.name = absolute.filename().string(), .model = model, .batch = {.sequences = 1}};
  if (translates) job.task = Task::Translation, job.data.format = TextFormat::Parallel;
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
  void check_tie(const SafetensorsModel::Place& copy, const Tie& tie) const;
  void check_ignored(const SafetensorsModel::Place& place) const;
  void check_others() const;

  fs::path directory_;
  const Family& family_;
  SafetensorsModel files_;
  FileForm form_;
  std::vector<WholeTensor> tensors_;
  std::map<std::string, std::vector<Source>> sources_;  // by weft's parameter name
};

ImportedWeights::ImportedWeights(const fs::path& directory, const Family& family, const DescribedModel& model)
    : directory_(directory), family_(family), files_(directory) {
  form_ = {.bare = true, .tying = model.config.tying};
  for (const auto& [name, place] : files_.tensors()) form_.bare = form_.bare && !name.starts_with(family.prefix());
  for (const auto& [name, shape] : parameters_of({.config = model.config, .vocabularies = model.vocabularies})) {
    add(name, shape);
  }
  check_others();
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
  std::vector<StoredPlace> places = family_.places(name, shape, form_);
  require<InternalError>(!places.empty(), "{} has no {}", family_.name(), name);
  for (StoredPlace& place : places) {
    const bool zeros = family_.zero_if_absent(place.name) && !files_.tensors().contains(place.name);
    if (!zeros) sources.push_back(find(std::move(place)));
  }
  tensors_.push_back({name, shape});
}

void ImportedWeights::check_tie(const SafetensorsModel::Place& copy, const Tie& tie) const {
  const SafetensorsModel::Place& original = *sources_.at(std::string(tie.parameter)).front().stored;
  const auto refuse_unless = [&](bool equal) {
    if (equal) return;
    throw DataError(fmt::format("{} differs from {}, to which config.json ties it ({})", files_.where(copy),
                                original.tensor.name, tie.field),
                    fmt::format("set {} to false if both have weights of their own", tie.field));
  };
  refuse_unless(copy.tensor.shape == original.tensor.shape && copy.tensor.type == original.tensor.type);
  constexpr uint64_t kPiece = 1 << 20;
  const auto elements = static_cast<uint64_t>(copy.tensor.shape.elements());
  for (uint64_t at = 0; at < elements; at += kPiece) {
    std::vector<float> one(std::min(kPiece, elements - at)), other(one.size());
    files_.read(copy, one, at);
    files_.read(original, other, at);
    refuse_unless(std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) == 0);
  }
}

// Checks a tensor that is not read, because the model computes its values.
void ImportedWeights::check_ignored(const SafetensorsModel::Place& place) const {
  constexpr float kNear = 0.01f;  // bf16 rounds by less
  const Shape& shape = place.tensor.shape;
  const auto wanted = family_.computed_table(shape);
  if (!wanted) return;
  require<DataError>(std::ssize(*wanted) == shape.elements(), "{} has shape {}, and is no table", files_.where(place),
                     shape);
  std::vector<float> found(wanted->size());
  files_.read(place, found);
  for (size_t i = 0; i < found.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    require<DataError>(std::abs(found[i] - (*wanted)[i]) < kNear,
                       "{}: its row {} has {} in column {}, and {} has {:.3f} there", files_.where(place),
                       at / shape[1], found[i], at % shape[1], family_.name(), (*wanted)[i]);
  }
}

// Checks the stored tensors that are no parameters of the model: only what is tied to one, and what the family ignores,
// is allowed.
void ImportedWeights::check_others() const {
  std::set<const SafetensorsModel::Place*> used;
  for (const auto& [name, sources] : sources_) {
    for (const Source& source : sources) used.insert(source.stored);
  }
  const std::string_view prefix = form_.bare ? std::string_view() : family_.prefix();
  for (const auto& [name, place] : files_.tensors()) {
    if (used.contains(&place)) continue;
    const bool is_head = name == kHeadTensor, named = is_head || name.starts_with(prefix);
    const std::string_view tensor = std::string_view(name).substr(is_head || !named ? 0 : prefix.size());
    if (const auto tie = named ? family_.tie(tensor, form_.tying) : std::nullopt) {
      check_tie(place, *tie);
      continue;
    }
    require<DataError>(named && family_.ignores(tensor), "{} is no tensor of the {} that config.json describes",
                       files_.where(place), family_.name());
    check_ignored(place);
  }
}

void ImportedWeights::read(const WholeTensor& tensor, std::span<float> into) const {
  const std::vector<Source>& sources = sources_.at(tensor.name);
  if (sources.empty()) std::ranges::fill(into, 0.0f);
  for (const auto& [stored, place] : sources) {
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

// The tokenizers of a directory. What they put around texts, and how chats become text, goes to the job.
CheckpointTokenizers translation_tokenizers(const fs::path& directory, const TranslationIds& ids, JobConfig& job) {
  const TranslationTokenizers read = read_translation_tokenizers(directory, ids);
  job.data.source_bos = read.begins_sources, job.data.source_eos = read.ends_sources;
  const bool shared = job.model.tying == Tying::All;
  require<DataError>(!shared || have_same_ids(*read.source, *read.target),
                     "{}: share_encoder_decoder_embeddings: both languages share the embeddings, but an id stands for "
                     "one token in the source and another in the target",
                     (directory / "config.json").string());
  return {.source = read.source, .target = read.target};
}

CheckpointTokenizers language_tokenizer(const fs::path& directory, const DescribedModel& model, JobConfig& job) {
  const auto [tokenizer, begins_texts] = read_hugging_face_tokenizer(directory, model.vocabularies.target);
  job.data.source_bos = begins_texts;
  if (const std::optional<ChatConfig> chat = read_chat_template(directory)) {
    job.data.format = TextFormat::Messages, job.data.chat = *chat;
  }
  return {.source = tokenizer, .target = tokenizer};
}

}  // namespace

void import_hugging_face(const fs::path& directory, const fs::path& out, nlohmann::ordered_json origin) {
  require_absent(out);
  require<DataError>(fs::is_directory(directory), "{}: no such directory", directory.string());
  const ConfigFile file(directory / "config.json");
  const Family& family = family_of(file);
  const DescribedModel model = family.read(file);
  JobConfig job = job_of(directory, model.config, family.translates());
  const ImportedWeights weights(directory, family, model);
  const CheckpointTokenizers tokenizers =
      model.ids ? translation_tokenizers(directory, *model.ids, job) : language_tokenizer(directory, model, job);
  origin["imported"] = {{"from", fs::absolute(directory).string()},
                        {"architecture", family.type()},
                        {"dtype", weights.dtype()},
                        {"metadata", weights.files().metadata()}};
  const CheckpointHeader header{.state = to_json(RunState{.run = "imported"}),
                                .job = to_yaml(job),
                                .fingerprint = nlohmann::ordered_json::object(),
                                .provenance = std::move(origin),
                                .attachments = tokenizer_attachments(*tokenizers.source, *tokenizers.target)};
  write_whole_checkpoint(out, header, weights.tensors(),
                         [&](const WholeTensor& tensor, std::span<float> into) { weights.read(tensor, into); });
}

}  // namespace weft
