// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstring>
#include <functional>
#include <map>

#include "base/config/writer.h"
#include "checkpoint/run_state.h"
#include "checkpoint/safetensors/safetensors.h"
#include "checkpoint/whole_writer.h"
#include "data/tokenizer/trainer.h"
#include "job/job.h"
#include "model/transformer.h"

namespace weft::test {

// dtype and bytes of each tensor of a file.
using TensorContents = std::map<std::string, std::pair<std::string, std::string>>;
inline TensorContents contents(const fs::path& file) {
  const std::string bytes = read_file(file);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  TensorContents found;
  const SafetensorsFile opened(file);
  for (const StoredTensor& t : opened.header().tensors) {
    found[t.name] = {t.dtype + t.shape.text(), bytes.substr(8 + length + t.begin, t.end - t.begin)};
  }
  return found;
}

// A checkpoint with a model that weft trains; `weight` is asked for each of its weights.
inline fs::path write_model(const fs::path& path, const JobConfig& job, const Tokenizer& tokenizer,
                            const std::function<float(const std::string& name, size_t place)>& weight) {
  Context context;
  Mesh mesh = Mesh::single();
  std::vector<WholeTensor> tensors;
  const Vocabularies vocabularies{.source = tokenizer.vocabulary(), .target = tokenizer.vocabulary()};
  const auto built = make_model(context, mesh, {.config = job.model, .vocabularies = vocabularies, .lora = job.lora});
  for (const auto& p : built->parameters().parameters()) tensors.push_back({p->spec().name, p->spec().shape});
  const std::string text = tokenizer.to_json();
  write_whole_checkpoint(path,
                         {.state = to_json(RunState{}),
                          .job = to_yaml(job),
                          .attachments = {{"source-tokenizer.json", text}, {"target-tokenizer.json", text}}},
                         tensors, [&](const WholeTensor& tensor, std::span<float> into) {
                           for (size_t i = 0; i < into.size(); ++i) into[i] = weight(tensor.name, i);
                         });
  return path;
}
inline float half(const std::string&, size_t) { return 0.5f; }

inline const TransformerConfig kSmall{.layers = 1, .width = 8, .heads = 2, .max_length = 16};

inline std::shared_ptr<const Tokenizer> tokenizer_of(const TokenizerConfig& config,
                                                     const std::string& text = "abc abc") {
  TokenizerTrainer trainer(config, 1);
  if (trainer.needs_text()) trainer.add(text);
  return trainer.finish();
}

}  // namespace weft::test
