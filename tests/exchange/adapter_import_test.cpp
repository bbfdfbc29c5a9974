// SPDX-License-Identifier: Apache-2.0
// Adapters of peft: what weft exported comes back to the bit, and those of peft's own shape add what they add there.
#include "exchange/adapter_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/reader.h"
#include "checkpoint/safetensors/writer.h"
#include "exchange/export.h"
#include "job/merge.h"
#include "job/migration.h"
#include "tests/exchange/fixture/directory.h"
#include "tests/exchange/fixture/export.h"
#include "tests/support/stored_tensors.h"

namespace weft {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kInLayer = "base_model.model.model.layers.";

struct AdapterImport : testing::Test {
  static float weight(const std::string& name, size_t i) { return golden_weight(name, static_cast<uint32_t>(i)); }
  fs::path model(const char* name, const LoraConfig& lora, const TransformerConfig& config) const {
    return write_model(scratch / name, {.model = config, .lora = lora}, *tokenizer, weight);
  }
  JobConfig imported(const fs::path& directory, const fs::path& base) const {
    fs::remove_all(scratch / "imported");
    import_adapters(directory, base, scratch / "imported", {{"version", "test"}});
    return parse_stored_job(Checkpoint::open(scratch / "imported").manifest().job, "imported");
  }
  // A directory of peft's for small_llama(): these products in both layers, each with an A of its own.
  fs::path peft(const std::map<std::string, std::pair<int64_t, int64_t>>& products, Json config = {}) const {
    const fs::path directory = scratch / "peft";
    fs::create_directories(directory);
    std::vector<TensorToStore> tensors;
    for (const int layer : {0, 1}) {
      for (const auto& [product, sides] : products) {
        const std::string name = fmt::format("{}{}.{}", kInLayer, layer, product);
        tensors.push_back({.name = name + ".lora_A.weight", .shape = {2, sides.first}});
        tensors.push_back({.name = name + ".lora_B.weight", .shape = {sides.second, 2}});
      }
    }
    SafetensorsWriter writer(directory / "adapter_model.safetensors", tensors, {});
    for (const TensorToStore& tensor : tensors) {
      std::vector<float> values(static_cast<size_t>(tensor.shape.elements()));
      for (size_t i = 0; i < values.size(); ++i) values[i] = weight(tensor.name, i);
      writer.write(values);
    }
    writer.finish();
    config.update({{"peft_type", "LORA"}, {"r", 2}, {"lora_alpha", 6}, {"bias", "none"}});
    write_file_atomically(directory / "adapter_config.json", config.dump());
    return directory;
  }

  const Scratch scratch;
  const std::shared_ptr<const Tokenizer> tokenizer = tokenizer_of({.kind = TokenizerKind::Bytes});
};

TEST_F(AdapterImport, WhatWasExportedComesBackToTheBit) {
  for (const TransformerConfig& config : {kSmall, small_llama()}) {
    fs::remove_all(scratch.path()), fs::create_directories(scratch.path());
    const LoraConfig lora{
        .rank = 2, .alpha = 6, .dropout = 0.25, .targets = {"attention.output", "attention.qkv", "ffn.up"}};
    const fs::path adapted = model("adapted", lora, config), base = model("base", {}, config);
    export_model(adapted, scratch / "exported", std::nullopt, {{"version", "test"}}, true);
    const JobConfig job = imported(scratch / "exported", base);
    EXPECT_EQ(job.lora.rank, 2);
    EXPECT_EQ(job.lora.alpha, 6);
    EXPECT_EQ(job.lora.dropout, 0.25);
    EXPECT_EQ(job.lora.targets, lora.targets);
    EXPECT_EQ(hashes_by_name(scratch / "imported", "master"), hashes_by_name(adapted, "master"));
  }
}

// W + (alpha / r) B A of each product, from peft's files, equals the weights of the merged model.
TEST_F(AdapterImport, AdaptersOfPeftAddWhatTheyAddThere) {
  const std::map<std::string, std::pair<int64_t, int64_t>> products = {{"self_attn.q_proj", {8, 16}},
                                                                       {"self_attn.v_proj", {8, 8}},
                                                                       {"mlp.up_proj", {8, 12}},
                                                                       {"mlp.down_proj", {12, 8}}};
  const fs::path base = model("base", {}, small_llama()), directory = peft(products);
  const JobConfig job = imported(directory, base);
  EXPECT_EQ(job.lora.rank, 4) << "q_proj and v_proj have different matrices A";
  EXPECT_EQ(job.lora.alpha, 12);
  EXPECT_THAT(job.lora.targets, ElementsAre("attention.qkv", "ffn.down", "ffn.up"));
  merge_adapters(scratch / "imported", scratch / "merged");
  const auto floats = [](const TensorContents& in, const std::string& name) {
    const std::string& bytes = in.at(name).second;
    std::vector<float> all(bytes.size() / sizeof(float));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  };
  for (const char* name : {"base", "merged"}) {
    export_model(scratch / name, scratch / (std::string("hf-") + name), std::nullopt, {{"version", "test"}}, false);
  }
  const TensorContents before = contents(scratch / "hf-base" / "model.safetensors");
  const TensorContents after = contents(scratch / "hf-merged" / "model.safetensors");
  const TensorContents adapters = contents(directory / "adapter_model.safetensors");
  size_t changed = 0;
  for (const auto& [name, stored] : before) {
    const std::string module = "base_model.model." + name.substr(0, name.rfind('.'));
    const std::vector<float> w = floats(before, name), merged = floats(after, name);
    if (!adapters.contains(module + ".lora_A.weight")) {
      EXPECT_EQ(w, merged) << name;
      continue;
    }
    ++changed;
    const std::vector<float> a = floats(adapters, module + ".lora_A.weight"),
                             b = floats(adapters, module + ".lora_B.weight");
    const size_t in = a.size() / 2;
    ASSERT_EQ(w.size(), in * (b.size() / 2)) << name;
    for (size_t i = 0; i < w.size(); ++i) {
      const size_t row = i / in, column = i % in;
      ASSERT_NEAR(merged[i], w[i] + 3 * (b[2 * row] * a[column] + b[2 * row + 1] * a[in + column]), 1e-5) << name;
    }
  }
  EXPECT_EQ(changed, 8u);
}

TEST_F(AdapterImport, WhatWeftsAdaptersCannotSayIsNamed) {
  const fs::path base = model("base", {}, small_llama());
  const std::map<std::string, std::pair<int64_t, int64_t>> one = {{"self_attn.o_proj", {16, 8}}};
  const auto refusal = [&](const Json& config, const std::map<std::string, std::pair<int64_t, int64_t>>& products) {
    fs::remove_all(scratch / "peft");
    return error_of([&] { imported(peft(products, config), base); });
  };
  EXPECT_EQ(refusal({}, one), "no error");
  EXPECT_THAT(refusal({{"use_dora", true}}, one), HasSubstr("use_dora"));
  EXPECT_THAT(refusal({{"use_rslora", true}}, one), HasSubstr("use_rslora"));
  EXPECT_THAT(refusal({{"rank_pattern", {{"q_proj", 4}}}}, one), HasSubstr("rank_pattern"));
  EXPECT_THAT(refusal({{"modules_to_save", {"lm_head"}}}, one), HasSubstr("modules_to_save"));
  EXPECT_EQ(refusal({{"modules_to_save", nullptr}, {"rank_pattern", Json::object()}}, one), "no error");
  EXPECT_THAT(refusal({}, {{"self_attn.o_proj", {16, 9}}}), HasSubstr("has shape"));
  EXPECT_THAT(refusal({}, {{"self_attn.rotary", {8, 8}}}), HasSubstr("is no adapter of a product of Llama"));
  EXPECT_THAT(refusal({}, {}), HasSubstr("the header is not an object of tensors"));
  const fs::path adapted = model("adapted", {.rank = 2}, small_llama());
  EXPECT_THAT(error_of([&] { imported(scratch / "peft", adapted); }), HasSubstr("weft merge"));
}

}  // namespace
}  // namespace weft
