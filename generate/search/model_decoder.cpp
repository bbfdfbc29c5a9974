// SPDX-License-Identifier: Apache-2.0
#include "generate/search/model_decoder.h"

#include <algorithm>
#include <vector>

namespace weft {
namespace {

class ModelDecoder : public NextTokenModel {
 public:
  ModelDecoder(Transformer& model, const DecodingBatch& batch, const std::vector<std::vector<int32_t>>& sources)
      : model_(model), sources_(sources), waiting_(batch.sentences.begin(), batch.sentences.end()) {
    capacity_ = std::min(batch.capacity, model.config().max_length);
    size_t longest = 0;
    for (const int64_t s : waiting_) longest = std::max(longest, sources_.empty() ? 0 : sources_[s].size());
    cache_ = model.make_cache({.slots = std::max(batch.max_sentences, batch.max_rows),
                               .capacity = capacity_,
                               .sources = batch.max_sentences,
                               .longest_source = static_cast<int64_t>(longest)});
  }

  void admit(int64_t count) override {
    require<InternalError>(admitted_ + static_cast<size_t>(count) <= waiting_.size(), "{} sentences of {}, {} more",
                           admitted_, waiting_.size(), count);
    Tokens source;
    if (model_.config().encoder_layers > 0) {
      std::vector<int32_t> tokens, offsets{0};
      for (int64_t i = 0; i < count; ++i) {
        const std::vector<int32_t>& sentence = sources_[waiting_[admitted_ + i]];
        tokens.insert(tokens.end(), sentence.begin(), sentence.end());
        offsets.push_back(static_cast<int32_t>(tokens.size()));
      }
      source = pack_tokens(model_.context(), {.tokens = tokens, .offsets = offsets});
    }
    model_.admit(*cache_, source, count);
    admitted_ += static_cast<size_t>(count);
  }

  int64_t vocabulary() const override { return model_.vocabularies().target; }
  int64_t max_length() const override { return capacity_; }
  int64_t num_rows() const override { return cache_->rows(); }
  int threads() const override { return model_.context().threads(); }
  void advance(std::span<const int32_t> tokens, std::span<const int32_t> offsets) override {
    logits_ = {};
    logits_ = model_.decode(*cache_, tokens, offsets);
  }
  std::vector<TokenAnswer> choose(std::span<const TokenQuestion> questions, const TokenChoice& choice) override {
    return ask(model_.context(), logits_, questions, choice);
  }
  void reorder(std::span<const int32_t> parents) override { cache_->reorder(parents); }
  void clear(int32_t row) override { cache_->clear(row); }

 private:
  Transformer& model_;
  const std::vector<std::vector<int32_t>>& sources_;  // the source tokens of all inputs; owned by the factory
  std::vector<int64_t> waiting_;                      // the batch's inputs in order; the first admitted_ have begun
  size_t admitted_ = 0;
  int64_t capacity_ = 0;
  std::unique_ptr<KeyValueCache> cache_;
  Tensor logits_;  // f32[rows, vocabulary]
};

}  // namespace

ModelFactory decoder_factory(Transformer& model, std::vector<std::vector<int32_t>> sources) {
  return [&model, sources = std::move(sources)](const DecodingBatch& batch) {
    return std::make_unique<ModelDecoder>(model, batch, sources);
  };
}

}  // namespace weft
