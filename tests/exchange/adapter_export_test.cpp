// SPDX-License-Identifier: Apache-2.0
// Adapters exported as peft loads them beside the model of `transformers` that they adapt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exchange/export.h"
#include "job/merge.h"
#include "tests/exchange/fixture/directory.h"
#include "tests/exchange/fixture/export.h"

namespace weft {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

struct AdapterExport : testing::Test {
  TensorContents exported(const fs::path& checkpoint, bool adapter = false) const {
    fs::remove_all(scratch / "out");
    export_model(checkpoint, scratch / "out", std::nullopt, {{"version", "test"}}, adapter);
    return contents(scratch / "out" / (adapter ? "adapter_model.safetensors" : "model.safetensors"));
  }
  static std::vector<float> values(const TensorContents& in, const std::string& name) {
    const std::string& bytes = in.at(name).second;
    std::vector<float> all(bytes.size() / sizeof(float));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  }
  void expect_what_merging_adds(const TransformerConfig& model, size_t products) const;

  Scratch scratch;
  std::shared_ptr<const Tokenizer> tokenizer = tokenizer_of({.kind = TokenizerKind::Bytes});
};

// W + (alpha / rank) B A, computed from the exported adapters, equals the exported weights of the merged model.
void AdapterExport::expect_what_merging_adds(const TransformerConfig& model, size_t products) const {
  JobConfig job{.model = model};
  job.lora = {.rank = 2, .alpha = 6, .targets = {"attention.*", "ffn.*"}};
  const auto weight = [](const std::string& name, size_t i) { return golden_weight(name, static_cast<uint32_t>(i)); };
  const fs::path adapted = write_model(scratch / "adapted", job, *tokenizer, weight);
  merge_adapters(adapted, scratch / "merged");
  const auto merged = exported(scratch / "merged");
  job.lora = {};
  const auto base = exported(write_model(scratch / "base", job, *tokenizer, weight));
  const auto adapter = exported(adapted, true);
  const Json config = Json::parse(read_file(scratch / "out" / "adapter_config.json"));
  EXPECT_EQ(config["r"], 2);
  EXPECT_EQ(config["lora_alpha"], 6);
  EXPECT_EQ(config["target_modules"].size(), products);
  EXPECT_EQ(adapter.size(), 2 * products);
  for (const std::string product : config["target_modules"]) {
    const auto a = values(adapter, "base_model.model." + product + ".lora_A.weight");
    const auto b = values(adapter, "base_model.model." + product + ".lora_B.weight");
    const auto before = values(base, product + ".weight"), after = values(merged, product + ".weight");
    const size_t in = a.size() / 2, out = b.size() / 2;
    ASSERT_EQ(before.size(), in * out) << product;
    for (size_t i = 0; i < in; ++i) {
      for (size_t o = 0; o < out; ++o) {
        const size_t at = config["fan_in_fan_out"] ? i * out + o : o * in + i;
        const float added = 3 * (b[o * 2] * a[i] + b[o * 2 + 1] * a[in + i]);
        ASSERT_NEAR(after[at], before[at] + added, 1e-5) << product << " " << i << " " << o;
      }
    }
  }
}

TEST_F(AdapterExport, Gpt2sAreWhatMergingAdds) { expect_what_merging_adds(kSmall, 4); }

// A product of weft's that is three there, or two, has as many adapters: seven in each of two blocks.
TEST_F(AdapterExport, LlamasAreWhatMergingAdds) { expect_what_merging_adds(small_llama(), 14); }

TEST_F(AdapterExport, AdaptersAreWrittenWhereTheyAreAskedFor) {
  JobConfig job{.model = kSmall};
  const fs::path plain = write_model(scratch / "plain", job, *tokenizer, half);
  job.lora.rank = 2;
  const fs::path adapted = write_model(scratch / "adapted", job, *tokenizer, half);
  EXPECT_THAT(error_of([&] { exported(plain, true); }), HasSubstr("no adapters"));
  EXPECT_THAT(error_of([&] { exported(adapted); }),
              AllOf(HasSubstr("not merged"), HasSubstr("weft merge"), HasSubstr("--adapter")));
  EXPECT_FALSE(fs::exists(scratch / "out"));
}

// peft loads adapters beside a model of `transformers`.
TEST_F(AdapterExport, AdaptersBelongToAModelOfAFamily) {
  JobConfig job{.model = kSmall, .lora = {.rank = 2}};
  job.model.norm_placement = NormPlacement::Post;
  write_model(scratch / "model", job, *tokenizer, half);
  EXPECT_THAT(error_of([&] { exported(scratch / "model", true); }),
              HasSubstr("model.norm_placement: GPT-2 cannot represent this model: it has pre, not post"));
}

}  // namespace
}  // namespace weft
