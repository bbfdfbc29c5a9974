// SPDX-License-Identifier: Apache-2.0
// Models written for CTranslate2: the variables that its specifications declare, the place of each weight, the texts
// beside them, the refusals. against_ctranslate2.py checks that the library computes the same from them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "exchange/ct2/export.h"
#include "exchange/ct2/plan.h"
#include "kernels/ops/embed.h"
#include "tests/exchange/fixture/ct2.h"
#include "tests/exchange/fixture/directory.h"
#include "tests/exchange/fixture/marian.h"

namespace weft {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

// Each weight is its place in its tensor, plus a fraction that the length of the tensor's name gives.
float ct2_weight(const std::string& name, size_t place) {
  return static_cast<float>(place) + static_cast<float>(name.size()) / 64;
}

JobConfig llama_job() {
  JobConfig job{.model = small_llama()};
  job.model.qk_norm = QkNorm::Head, job.model.tying = Tying::None;
  job.model.rotary = {.base = 500000, .scaling = RotaryScaling::Llama3, .factor = 8, .original_length = 32};
  return job;
}

JobConfig pre_norm_job() {
  JobConfig job = marian_job();
  job.model.norm_placement = NormPlacement::Pre, job.model.final_norm = true;
  job.model.sinusoid_form = SinusoidForm::Interleaved, job.model.tying = Tying::None;
  return job;
}

struct Ct2Export : testing::Test {
  Ct2File exported(const JobConfig& job, std::optional<StoredType> dtype = {}) {
    fs::remove_all(scratch / "model"), fs::remove_all(scratch / "out");
    write_model(scratch / "model", job, *tokenizer, ct2_weight, source.get());
    export_ct2(scratch / "model", scratch / "out", dtype, {{"version", "test"}});
    return Ct2File(scratch / "out" / "model.bin");
  }
  std::string refusal(const JobConfig& job) {
    const std::string error = error_of([&] { exported(job); });
    EXPECT_FALSE(fs::exists(scratch / "out")) << error;
    return error;
  }
  nlohmann::json json(const char* name) const { return nlohmann::json::parse(read_file(scratch / "out" / name)); }

  Scratch scratch;
  std::shared_ptr<const Tokenizer> tokenizer = marian_tokenizer(), source;
};

nlohmann::json value_of(const Ct2Variable& attribute) {
  if (attribute.type == "float32") return attribute.as<float>()[0];
  if (attribute.type == "int8") return attribute.as<int8_t>()[0];
  return attribute.type == "int16" ? attribute.as<int16_t>()[0] : attribute.as<int32_t>()[0];
}

TEST_F(Ct2Export, VariablesAreThoseThatItsSpecificationsDeclare) {
  const std::map<std::string, JobConfig> jobs = {
      {"gpt2", {.model = kSmall}}, {"llama", llama_job()}, {"marian", marian_job()}, {"pre-norm", pre_norm_job()}};
  const Json golden = read_golden("ct2_golden.json")["cases"];
  ASSERT_EQ(golden.size(), jobs.size());
  for (const auto& [name, job] : jobs) {
    SCOPED_TRACE(name);
    const Ct2File file = exported(job);
    EXPECT_EQ(file.specification, golden[name]["specification"].get<std::string>());
    EXPECT_EQ(file.revision, golden[name]["revision"].get<uint32_t>());
    EXPECT_EQ(nlohmann::json(file.aliases), nlohmann::json(golden[name]["aliases"]));
    nlohmann::json attributes, tensors;
    for (const auto& [variable, value] : file.variables) {
      if (value.type.ends_with(']')) {
        tensors.push_back(variable);
      } else if (!variable.ends_with("rotary_scaling_factor")) {
        attributes[variable] = {value.type, value_of(value)};
      }
    }
    EXPECT_EQ(attributes, nlohmann::json(golden[name]["attributes"]));
    EXPECT_EQ(tensors, nlohmann::json(golden[name]["tensors"]));
  }
}

// The library reads the factor, although its package declares no such variable.
TEST_F(Ct2Export, AnglesAreScaledByTheirFactor) {
  const auto factor = [&](RotaryScaling scaling) {
    JobConfig job = llama_job();
    job.model.rotary.scaling = scaling;
    const Ct2File file = exported(job);
    const auto found = file.variables.find("decoder/layer_1/self_attention/rotary_scaling_factor");
    return found == file.variables.end() ? nlohmann::json() : value_of(found->second);
  };
  EXPECT_EQ(factor(RotaryScaling::Llama3), 8);
  EXPECT_EQ(factor(RotaryScaling::Linear), 8);
  EXPECT_EQ(factor(RotaryScaling::None), nullptr);
}

// A row of a product in the file, and the row of weft's parameter that it must be.
using RowAt = std::function<int(int row)>;
void expect_rows(const Ct2File& file, const std::string& theirs, const std::string& ours, const RowAt& row_at,
                 int columns = 8) {
  const auto found = file.variables.at(theirs).as<float>();
  ASSERT_EQ(found.size() % static_cast<size_t>(columns), 0u);
  for (size_t i = 0; i < found.size(); ++i) {
    const int row = static_cast<int>(i) / columns, column = static_cast<int>(i) % columns;
    EXPECT_EQ(found[i], ct2_weight(ours, static_cast<size_t>(row_at(row) * columns + column))) << theirs << ' ' << i;
  }
}

// Two groups of two query heads, a key and a value, of four features each.
TEST_F(Ct2Export, QueriesOfAllHeadsStandBeforeKeysAndValues) {
  JobConfig job = llama_job();
  job.model.qkv_bias = true;
  const Ct2File file = exported(job);
  const auto row = [](int r) {
    const int head = r / 4, feature = r % 4;
    if (head < 4) return (head / 2 * 4 + head % 2) * 4 + feature;
    return ((head - 4) % 2 * 4 + 2 + (head - 4) / 2) * 4 + feature;
  };
  EXPECT_EQ(file.variables.at("decoder/layer_1/self_attention/linear_0/weight").type, "float32[32, 8]");
  EXPECT_EQ(file.variables.at("decoder/layer_1/self_attention/linear_0/bias").type, "float32[32]");
  expect_rows(file, "decoder/layer_1/self_attention/linear_0/weight", "decoder.1.attention.qkv.weight", row);
  expect_rows(file, "decoder/layer_1/self_attention/linear_0/bias", "decoder.1.attention.qkv.bias", row, 1);
  EXPECT_EQ(file.variables.at("decoder/layer_1/self_attention/q_norm/gamma").type, "float32[4]");
}

TEST_F(Ct2Export, GatesAreApartFromWhatTheyGate) {
  const Ct2File file = exported(llama_job());
  expect_rows(file, "decoder/layer_0/ffn/linear_0/weight", "decoder.0.ffn.up.weight", [](int row) { return row; });
  expect_rows(file, "decoder/layer_0/ffn/linear_0_noact/weight", "decoder.0.ffn.up.weight",
              [](int row) { return 12 + row; });
  EXPECT_EQ(file.variables.at("decoder/layer_0/ffn/linear_0_noact/weight").type, "float32[12, 8]");
}

TEST_F(Ct2Export, TranslationModelsReadTheSourceInTheirDecoder) {
  const Ct2File file = exported(marian_job());
  // (head, part, feature) is row (head * parts + part) * 4 + feature.
  expect_rows(file, "decoder/layer_0/attention/linear_0/weight", "decoder.0.cross.q.weight", [](int r) { return r; });
  expect_rows(file, "decoder/layer_0/attention/linear_1/weight", "decoder.0.cross.kv.weight",
              [](int r) { return (r / 4 % 2 * 2 + r / 8) * 4 + r % 4; });
  expect_rows(file, "decoder/layer_0/attention/linear_2/weight", "decoder.0.cross.output.weight",
              [](int r) { return r; });
  expect_rows(
      file, "encoder/layer_1/self_attention/linear_0/bias", "encoder.1.attention.qkv.bias",
      [](int r) { return (r / 4 % 2 * 3 + r / 8) * 4 + r % 4; }, 1);
  expect_rows(
      file, "decoder/layer_0/attention/layer_norm/gamma", "decoder.0.cross_norm.weight", [](int r) { return r; }, 1);
  EXPECT_EQ(file.variables.at("decoder/embeddings/weight").type, "float32[258, 8]");
}

TEST_F(Ct2Export, PositionsAreATable) {
  const auto table = [&](const JobConfig& job) {
    const Ct2Variable found = exported(job).variables.at("decoder/position_encodings/encodings");
    EXPECT_EQ(found.type, "float32[16, 8]");
    return found.as<float>();
  };
  JobConfig job{.model = kSmall};
  EXPECT_EQ(table(job)[9], ct2_weight("decoder.embedding.positions", 9));
  job.model.positions = Positions::Sinusoidal, job.model.sinusoid_form = SinusoidForm::PerColumn;
  EXPECT_EQ(table(job), sinusoids(16, 8, SinusoidForm::PerColumn, 10000));
  job.model.positions = Positions::None;  // without a table CTranslate2 makes sinusoids
  EXPECT_EQ(table(job), std::vector<float>(16 * 8, 0.0f));
  EXPECT_EQ(exported(llama_job()).variables.count("decoder/position_encodings/encodings"), 0u);
}

// A norm without beta is an RMSNorm there.
TEST_F(Ct2Export, LayerNormsWithoutBiasesHaveZeros) {
  JobConfig job{.model = kSmall};
  job.model.norm_bias = job.model.bias = false;
  const Ct2File file = exported(job);
  EXPECT_EQ(file.variables.at("decoder/layer_0/ffn/layer_norm/beta").as<float>(), std::vector<float>(8, 0.0f));
  EXPECT_EQ(file.variables.count("decoder/layer_0/ffn/linear_0/bias"), 0u);
}

TEST_F(Ct2Export, ScoresWithoutADivisorSaySo) {
  JobConfig job = marian_job();
  job.model.attention_score = AttentionScore::Plain;
  const Ct2File file = exported(job);
  for (const char* attention : {"encoder/layer_1/self_attention", "decoder/layer_0/attention"}) {
    EXPECT_EQ(value_of(file.variables.at(std::string(attention) + "/queries_scale")), 1) << attention;
  }
}

TEST_F(Ct2Export, TheDtypeCanBeChosen) {
  const Ct2File exact = exported({.model = kSmall}), halves = exported({.model = kSmall}, StoredType::BF16);
  const char* name = "decoder/layer_0/ffn/linear_1/weight";
  EXPECT_EQ(halves.variables.at(name).type, "bfloat16[8, 32]");
  const auto bits = halves.variables.at(name).as<uint16_t>();
  const auto values = exact.variables.at(name).as<float>();
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(bits[i], BFloat16(values[i]).bits) << i;
  EXPECT_EQ(halves.variables.at("decoder/num_heads").type, "int16");
}

TEST_F(Ct2Export, TextsSayWhichTokensAreSpecial) {
  JobConfig job = marian_job();
  job.data.source_eos = true;
  job.model.norm_epsilon = 1e-6;
  exported(job);
  const nlohmann::json config = json("config.json"), tokens = json("shared_vocabulary.json");
  EXPECT_EQ(config["decoder_start_token"], "<s>");
  EXPECT_EQ(config["eos_token"], "</s>");
  EXPECT_EQ(config["unk_token"], "</s>");  // the tokenizer has none, and CTranslate2 must have one
  EXPECT_EQ(config["add_source_eos"], true);
  EXPECT_EQ(config["add_source_bos"], false);
  EXPECT_EQ(config["layer_norm_epsilon"], 1e-6);
  EXPECT_EQ(config["suppress_sequences"], nlohmann::json::parse(R"([["<s>"]])"));
  EXPECT_EQ(config["weft"]["exported"]["version"], "test");
  ASSERT_EQ(tokens.size(), 258u);
  EXPECT_EQ(tokens[' '], "Ġ");  // as GPT-2 shows bytes
  EXPECT_EQ(tokens[256], "<s>");
  EXPECT_EQ(json("tokenizer.json")["model"]["vocab"]["</s>"], 257);
  exported({.model = kSmall});
  EXPECT_EQ(json("vocabulary.json"), tokens);
}

TEST_F(Ct2Export, EachSideHasItsVocabulary) {
  source = tokenizer_of({.kind = TokenizerKind::Words, .specials = {"<unk>", "</s>"}, .eos = "</s>", .unk = "<unk>"});
  exported(pre_norm_job());
  EXPECT_EQ(json("source_vocabulary.json"), nlohmann::json::parse(R"(["<unk>", "</s>", "abc"])"));
  EXPECT_EQ(json("target_vocabulary.json").size(), 258u);
  EXPECT_EQ(json("config.json")["unk_token"], "<unk>");
  EXPECT_TRUE(fs::exists(scratch / "out" / "target_tokenizer.json"));
  EXPECT_FALSE(fs::exists(scratch / "out" / "source_tokenizer.json"));  // no tokenizer.json can describe it
}

// Without an end token a text does not end; CTranslate2 wants a name for it, which may be no token's.
TEST_F(Ct2Export, MissingSpecialsHaveFreeNames) {
  tokenizer = tokenizer_of({.kind = TokenizerKind::Bytes, .specials = {"</s>", "</s>_"}});
  exported({.model = kSmall});
  EXPECT_EQ(json("config.json")["eos_token"], "</s>__");
  EXPECT_EQ(json("config.json")["unk_token"], "<unk>");
}

TEST_F(Ct2Export, EndTokensOfTwoNamesAreRefused) {
  source = tokenizer_of({.kind = TokenizerKind::Bytes, .specials = {"<end>"}, .eos = "<end>"});
  JobConfig job = pre_norm_job();
  job.data.source_eos = false;
  exported(job);  // no end token stands behind a source
  job.data.source_eos = true;
  EXPECT_THAT(refusal(job), HasSubstr("target_tokenizer.eos: it has one name for both sides, not <end> and </s>"));
}

TEST_F(Ct2Export, TokensOfOneTextAreRefused) {
  tokenizer = tokenizer_of({.kind = TokenizerKind::Words, .specials = {"abc", "<unk>"}, .eos = "abc", .unk = "<unk>"});
  EXPECT_THAT(refusal({.model = kSmall}), HasSubstr("tokens 0 and 2 are both written \"abc\""));
}

TEST_F(Ct2Export, OtherModelsAreRefusedByName) {
  const auto expect = [&](const std::string& error, JobConfig job, auto&& change) {
    change(job.model);
    EXPECT_THAT(refusal(job), HasSubstr("CTranslate2 cannot represent this model: model." + error));
  };
  expect("norm_placement: it has pre, not branch", llama_job(),
         [](auto& m) { m.norm_placement = NormPlacement::Branch; });
  expect("qk_norm: it has head, not width", llama_job(), [](auto& m) { m.qk_norm = QkNorm::Width; });
  expect("qk_norm: it has none, not head", marian_job(), [](auto& m) { m.qk_norm = QkNorm::Head; });
  expect("cross_norm: it has query, not memory", pre_norm_job(), [](auto& m) { m.cross_norm = CrossNorm::Memory; });
  expect("attention_score: it has scaled, not cosine", {.model = kSmall},
         [](auto& m) { m.attention_score = AttentionScore::Cosine; });
  expect("attention_windows: it has [], not [5]", llama_job(), [](auto& m) { m.attention_windows = {5}; });
  expect("embedding_width: it has 8, not 4", {.model = kSmall}, [](auto& m) { m.embedding_width = 4; });
  expect("activation: it has silu, not none", llama_job(), [](auto& m) { m.activation = Activation::None; });
}

TEST_F(Ct2Export, WindowsOfAllPositionsAreNone) {
  JobConfig job{.model = kSmall};
  const auto plain = exported(job).variables.size();
  job.model.attention_windows = {0, 16};
  EXPECT_EQ(exported(job).variables.size(), plain);
}

TEST_F(Ct2Export, VariablesOfFourGibibytesAreRefused) {
  JobConfig job{.model = kSmall};
  job.model.width = 1 << 10, job.model.ffn = 1 << 20;
  ModelToExport model{.where = "here", .job = job, .source_tokenizer = tokenizer, .target_tokenizer = tokenizer};
  EXPECT_THAT(error_of([&] { plan_ct2(model, {}); }), HasSubstr("ffn/linear_0/weight takes 4294967296 bytes"));
  model.dtype = StoredType::BF16;
  EXPECT_EQ(error_of([&] { plan_ct2(model, {}); }), "no error");
}

TEST_F(Ct2Export, AdaptersAreMergedFirst) {
  JobConfig job{.model = kSmall};
  job.lora = {.rank = 2, .targets = {"attention.*"}};
  EXPECT_THAT(refusal(job), HasSubstr("the adapters are not merged with the weights"));
}

}  // namespace
}  // namespace weft
