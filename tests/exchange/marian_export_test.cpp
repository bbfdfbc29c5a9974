// SPDX-License-Identifier: Apache-2.0
// Translation models exported to MarianMT directories: the place of each weight, the configuration, the refusals.
// against_transformers.py checks that generate() of `transformers` gives the same text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "exchange/export.h"
#include "tests/exchange/fixture/export.h"
#include "tests/exchange/fixture/marian.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

struct MarianExport : testing::Test {
  TensorContents exported(const JobConfig& job) {
    fs::remove_all(scratch / "model"), fs::remove_all(scratch / "out");
    // Each weight is its place in its tensor, plus a fraction that the length of the tensor's name gives.
    write_model(scratch / "model", job, *marian_tokenizer(), [](const std::string& name, size_t place) {
      return static_cast<float>(place) + static_cast<float>(name.size()) / 64;
    });
    report = export_model(scratch / "model", scratch / "out", std::nullopt, {});
    return contents(scratch / "out" / "model.safetensors");
  }
  nlohmann::json json(const char* name) const { return nlohmann::json::parse(read_file(scratch / "out" / name)); }

  Scratch scratch;
  ExportReport report;
};

std::vector<float> floats(const std::pair<std::string, std::string>& tensor) {
  std::vector<float> values(tensor.second.size() / sizeof(float));
  std::memcpy(values.data(), tensor.second.data(), tensor.second.size());
  return values;
}

TEST_F(MarianExport, WeightsGoWhereTheyBelong) {
  const TensorContents out = exported(marian_job());
  EXPECT_EQ(report.architecture, "MarianMTModel");
  EXPECT_EQ(out.size(), 2u + 2 * 16 + 26);  // table and bias of the logits; 16 tensors an encoder block, 26 a decoder's
  EXPECT_EQ(out.at("model.shared.weight").first, "F32[258, 8]");
  EXPECT_EQ(floats(out.at("final_logits_bias")), std::vector<float>(258, 0.0f));
  EXPECT_EQ(out.at("model.encoder.layers.1.fc1.weight").first, "F32[12, 8]");
  EXPECT_EQ(out.at("model.decoder.layers.0.encoder_attn.out_proj.weight").first, "F32[8, 8]");
  // (head, part, feature, in) is at ((head * parts + part) * 4 + feature) * 8 + in.
  struct Part {
    const char* theirs;
    const char* ours;
    int part, parts;
  };
  for (const Part& p : {Part{"encoder.layers.0.self_attn.q_proj", "encoder.0.attention.qkv", 0, 3},
                        Part{"encoder.layers.1.self_attn.k_proj", "encoder.1.attention.qkv", 1, 3},
                        Part{"decoder.layers.0.self_attn.v_proj", "decoder.0.attention.qkv", 2, 3},
                        Part{"decoder.layers.0.encoder_attn.q_proj", "decoder.0.cross.q", 0, 1},
                        Part{"decoder.layers.0.encoder_attn.k_proj", "decoder.0.cross.kv", 0, 2},
                        Part{"decoder.layers.0.encoder_attn.v_proj", "decoder.0.cross.kv", 1, 2}}) {
    const auto weight = floats(out.at(fmt::format("model.{}.weight", p.theirs)));
    const auto bias = floats(out.at(fmt::format("model.{}.bias", p.theirs)));
    const std::string name = p.ours;
    for (int row = 0; row < 8; ++row) {
      const int here = (row / 4 * p.parts + p.part) * 4 + row % 4;
      EXPECT_EQ(bias[row], static_cast<float>(here) + static_cast<float>(name.size() + 5) / 64) << p.theirs;
      for (int in = 0; in < 8; ++in) {
        EXPECT_EQ(weight[row * 8 + in], static_cast<float>(here * 8 + in) + static_cast<float>(name.size() + 7) / 64)
            << p.theirs;
      }
    }
  }
}

TEST_F(MarianExport, TheConfigurationDescribesTheModel) {
  JobConfig job = marian_job();
  job.data.source_eos = true;
  job.model.output_bias = true;
  const TensorContents out = exported(job);
  EXPECT_EQ(floats(out.at("final_logits_bias"))[3], 3 + 11.0f / 64);
  const nlohmann::json config = json("config.json"), generation = json("generation_config.json");
  EXPECT_EQ(config["architectures"][0], "MarianMTModel");
  EXPECT_EQ(config["d_model"], 8);
  EXPECT_EQ(config["encoder_layers"], 2);
  EXPECT_EQ(config["decoder_layers"], 1);
  EXPECT_EQ(config["encoder_ffn_dim"], 12);
  EXPECT_EQ(config["activation_function"], "relu");
  EXPECT_EQ(config["scale_embedding"], true);
  EXPECT_EQ(config["decoder_start_token_id"], 256);
  EXPECT_EQ(config["eos_token_id"], 257);
  EXPECT_EQ(generation["bad_words_ids"], nlohmann::json::parse("[[256]]"));
  const nlohmann::json around = json("tokenizer.json")["post_processor"]["single"];
  ASSERT_EQ(around.size(), 2u);
  EXPECT_EQ(around[1]["SpecialToken"]["id"], "</s>");
}

// Such models are exported in weft's own layout, and the report says why.
TEST_F(MarianExport, ModelsThatMarianLacksKeepTheirOwnLayout) {
  const auto own = [&](const std::string& key, auto&& change) {
    JobConfig job = marian_job();
    change(job.model);
    const TensorContents out = exported(job);
    EXPECT_EQ(report.architecture, "weft");
    EXPECT_THAT(report.why_not_other, testing::StartsWith("model." + key + ": "));
    EXPECT_EQ(json("config.json")["model"]["encoder_layers"], 2);
    EXPECT_EQ(floats(out.at("encoder.0.ffn.up.weight"))[5], 5 + 23.0f / 64) << key;
    EXPECT_TRUE(fs::exists(scratch / "out" / "target-tokenizer.json"));
  };
  own("norm_placement", [](auto& m) { m.norm_placement = NormPlacement::Pre; });
  own("final_norm", [](auto& m) { m.final_norm = true; });
  own("norm_epsilon", [](auto& m) { m.norm_epsilon = 1e-6; });
  own("positions", [](auto& m) { m.positions = Positions::Learned; });
  own("sinusoid_form", [](auto& m) { m.sinusoid_form = SinusoidForm::Interleaved; });
  own("sinusoid_form", [](auto& m) { m.sinusoid_form = SinusoidForm::HalvesFromOne; });
  own("sinusoid_base", [](auto& m) { m.sinusoid_base = 1000; });
  own("kv_heads", [](auto& m) { m.kv_heads = 1; });
  own("head_dim", [](auto& m) { m.head_dim = 8; });
  own("tying", [](auto& m) { m.tying = Tying::Output; });
}

}  // namespace
}  // namespace weft
