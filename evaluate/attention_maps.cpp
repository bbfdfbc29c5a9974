// SPDX-License-Identifier: Apache-2.0
#include "evaluate/attention_maps.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "kernels/ops/attention_weights.h"

namespace weft {
namespace {

AttentionKind kind_of(const AttentionForward& args) {
  if (args.q) return AttentionKind::Cross;
  return args.causal ? AttentionKind::Decoder : AttentionKind::Encoder;
}

double entropy_of(std::span<const float> weights, int64_t queries) {
  double sum = 0;
  for (const float w : weights) {
    if (w > 0) sum -= double{w} * std::log(double{w});
  }
  return queries > 0 ? sum / static_cast<double>(queries) : 0;
}

std::vector<float> mean_of_heads(const AttentionMap& map) {
  std::vector<float> mean(static_cast<size_t>(map.queries * map.keys));
  for (size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (int64_t h = 0; h < map.heads; ++h) sum += map.head(h)[i];
    mean[i] = static_cast<float>(sum / static_cast<double>(map.heads));
  }
  return mean;
}

class MapCollector : public AttentionObserver {
 public:
  explicit MapCollector(Context& context) : context_(context) {}

  void attended(int layer, const AttentionForward& args) override {
    AttentionMap map{.kind = kind_of(args),
                     .layer = layer,
                     .heads = args.heads.heads(),
                     .queries = args.query_offsets->length(0),
                     .keys = args.key_offsets->length(0)};
    map.weights = attention_weights(context_, args);
    map.mean = mean_of_heads(map);
    for (int64_t h = 0; h < map.heads; ++h) map.entropy.push_back(entropy_of(map.head(h), map.queries));
    maps_.push_back(std::move(map));
  }

  std::vector<AttentionMap> take() {
    std::ranges::stable_sort(maps_, {}, &AttentionMap::kind);
    return std::move(maps_);
  }

 private:
  Context& context_;
  std::vector<AttentionMap> maps_;
};

void check_fits(const LoadedModel& loaded, const char* what, size_t tokens) {
  const int64_t most = loaded.job.model.max_length;
  require<DataError>(tokens > 0, "the {} has no tokens", what);
  if (static_cast<int64_t>(tokens) <= most) return;
  throw DataError(fmt::format("the {} has {} tokens; the model has {} positions", what, tokens, most), "shorten it");
}

void check_weights(const TransformerConfig& config, int64_t source, int64_t text, int64_t most) {
  const int64_t pairs =
      config.encoder_layers * source * source + config.layers * (text * text + (source > 0 ? text * source : 0));
  if (config.heads * pairs <= most) return;
  throw DataError(fmt::format("{} tokens have {} attention weights in all layers and heads; at most {} can be written",
                              source + text, config.heads * pairs, most),
                  "shorten the text, or write HDF5 alone (--out FILE.h5), which may have more of them");
}

}  // namespace

ShownTokens shown_tokens(const Tokenizer& tokenizer, std::vector<int32_t> ids) {
  ShownTokens shown{.ids = std::move(ids)};
  for (const int32_t id : shown.ids) {
    shown.texts.push_back(tokenizer.decode(std::array{id}, {.show_specials = true, .continues = true}));
  }
  return shown;
}

AttentionMaps attention_maps(const LoadedModel& loaded, const std::vector<int32_t>& source,
                             const std::vector<int32_t>& text, int64_t most_weights) {
  Transformer& model = *loaded.model;
  const bool translation = loaded.job.is_translation();
  require<InternalError>(model.parameters().mesh().tp().size() == 1, "attention maps of a part of the heads");
  if (translation) check_fits(loaded, "source", source.size());
  check_fits(loaded, translation ? "translation, with its start token," : "text", text.size());
  check_weights(model.config(), std::ssize(source), std::ssize(text), most_weights);
  Context& context = model.context();
  const auto packed = [&](const std::vector<int32_t>& ids) {
    const std::array<int32_t, 2> offsets{0, static_cast<int32_t>(ids.size())};
    return pack_tokens(context, {.tokens = ids, .offsets = offsets});
  };
  MapCollector collector(context);
  Tape tape(context, Tape::Mode::Off);
  ForwardContext forward{.tape = tape, .observer = &collector};
  model.hidden(forward, {.source = translation ? packed(source) : nullptr, .input = packed(text), .targets = {}});
  AttentionMaps found{.text = shown_tokens(*loaded.target_tokenizer, text), .maps = collector.take()};
  if (translation) found.source = shown_tokens(*loaded.source_tokenizer, source);
  return found;
}

}  // namespace weft
