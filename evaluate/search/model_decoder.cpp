#include "evaluate/search/model_decoder.h"

#include <algorithm>
#include <vector>

#include "kernels/transfer.h"

namespace weft {
namespace {

class ModelDecoder : public NextTokenModel {
 public:
  ModelDecoder(Transformer& model, const DecodingBatch& batch, const std::vector<std::vector<int32_t>>& sources)
      : model_(model), capacity_(std::min(batch.capacity, model.config().max_length)) {
    const auto rows = static_cast<int64_t>(batch.sentences.size());
    Tokens source;
    if (model.config().encoder_layers > 0) {
      std::vector<int32_t> tokens, offsets{0};
      for (const int64_t s : batch.sentences) {
        tokens.insert(tokens.end(), sources[s].begin(), sources[s].end());
        offsets.push_back(static_cast<int32_t>(tokens.size()));
      }
      source = pack_tokens(model.context(), {.tokens = tokens, .offsets = offsets});
    }
    cache_ = model.begin_decoding(source, rows, std::max(rows, batch.max_rows), capacity_);
  }

  int64_t vocabulary() const override { return model_.vocabularies().target; }
  int64_t max_length() const override { return capacity_; }
  int64_t num_rows() const override { return cache_->rows(); }
  int threads() const override { return model_.context().threads(); }
  std::span<const float> advance(std::span<const int32_t> tokens, std::span<const int32_t> offsets) override {
    const Tensor logits = model_.decode(*cache_, tokens, offsets);
    logits_.resize(static_cast<size_t>(logits.elements()));
    download(model_.context(), logits, std::span<float>(logits_));
    return logits_;
  }
  void reorder(std::span<const int32_t> parents) override { cache_->reorder(parents); }

 private:
  Transformer& model_;
  int64_t capacity_;
  std::unique_ptr<KeyValueCache> cache_;
  std::vector<float> logits_;
};

}  // namespace

ModelFactory decoder_factory(Transformer& model, std::vector<std::vector<int32_t>> sources) {
  return [&model, sources = std::move(sources)](const DecodingBatch& batch) {
    return std::make_unique<ModelDecoder>(model, batch, sources);
  };
}

}  // namespace weft
