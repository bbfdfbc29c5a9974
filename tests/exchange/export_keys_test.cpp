// SPDX-License-Identifier: Apache-2.0
// Every key of the model section, as fields() declares it, with another value: an exporter either refuses it by name,
// or writes something different. A key that is added later is refused until an exporter handles it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exchange/ct2/export.h"
#include "exchange/ct2/plan.h"
#include "exchange/export.h"
#include "exchange/export_plan.h"
#include "exchange/family.h"
#include "tests/exchange/fixture/marian.h"
#include "tests/model/fixture/variations.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;
using testing::HasSubstr;

struct ExportKeys : testing::Test {
  // The config.json and the weights of the directory to which a job's model is exported.
  std::pair<std::string, TensorContents> exported(const JobConfig& job) const {
    fs::remove_all(scratch / "model"), fs::remove_all(scratch / "out");
    write_model(scratch / "model", job, *tokenizer, half);
    if (for_ct2) {
      export_ct2(scratch / "model", scratch / "out", std::nullopt, {});
      return {read_file(scratch / "out" / "config.json"), {{"", {"", read_file(scratch / "out" / "model.bin")}}}};
    }
    EXPECT_NE(export_model(scratch / "model", scratch / "out", std::nullopt, {}).architecture, "weft");
    return {read_file(scratch / "out" / "config.json"), contents(scratch / "out" / "model.safetensors")};
  }
  // The variations of a model that are accepted, and exported exactly as the model is. The refusal of another one names
  // the key that was changed, if `one_family` alone comes near.
  std::vector<std::string> without_effect(JobConfig job,
                                          const std::function<std::string(const JobConfig& job)>& refusal,
                                          bool one_family = true) const {
    EXPECT_EQ(refusal(job), "");
    const auto plain = exported(job);
    std::vector<std::string> changes;
    const std::function use = [&](const std::string& key, const std::string& change) {
      if (const std::string refused = refusal(job); !refused.empty()) {
        EXPECT_THAT(refused, HasSubstr(one_family ? "model." + key + ": " : "model.")) << change;
      } else if (exported(job) == plain) {
        changes.push_back(change);
      }
    };
    Variations all{"", use};
    job.model.fields(all);
    return changes;
  }

  Scratch scratch;
  std::shared_ptr<const Tokenizer> tokenizer = marian_tokenizer();
  bool for_ct2 = false;  // whether exported() writes for CTranslate2
};

// Why no family has a job's model; empty if one has it.
std::string refusal_of(const JobConfig& job) {
  const std::string error = error_of([&] { family_of(job.model, "here"); });
  return error == "no error" ? "" : error;
}

// A stored model has its weights and computes without dropout; sinusoids are not read if positions are learned.
// For these keys another value changes nothing in the export.
TEST_F(ExportKeys, Gpt2RepresentsOrRefusesAll) {
  EXPECT_THAT(without_effect({.model = kSmall}, refusal_of),
              testing::ElementsAre("sinusoid_form=halves", "sinusoid_form=halves_from_one", "sinusoid_form=per_column",
                                   "sinusoid_base=5000", "tying=all", "dropout.ffn=0.1", "init=xavier"));
}

TEST_F(ExportKeys, FamiliesLikeLlamaRepresentOrRefuseAll) {
  const auto expect = [&](std::string_view family, const std::function<void(TransformerConfig&)>& change) {
    SCOPED_TRACE(family);
    TransformerConfig model = small_llama();
    model.rotary.scaling = RotaryScaling::Llama3;
    change(model);
    EXPECT_EQ(family_of(model, "here").name(), family);
    EXPECT_THAT(
        without_effect({.model = model}, refusal_of, family == "Llama"),
        testing::ElementsAre("sinusoid_form=halves", "sinusoid_form=halves_from_one", "sinusoid_form=per_column",
                             "sinusoid_base=5000", "tying=all", "dropout.embedding=0.1", "dropout.residual=0.1",
                             "dropout.ffn=0.1", "init=xavier"));
  };
  expect("Llama", [](TransformerConfig&) {});
  expect("Mistral", [](TransformerConfig& m) { m.attention_windows = {5}; });
  expect("Qwen 2", [](TransformerConfig& m) { m.qkv_bias = true; });
  expect("Qwen 3", [](TransformerConfig& m) { m.qk_norm = QkNorm::Head, m.attention_windows = {0, 5}; });
  expect("OLMo 2", [](TransformerConfig& m) { m.qk_norm = QkNorm::Width, m.norm_placement = NormPlacement::Branch; });
}

TEST_F(ExportKeys, MarianRepresentsOrRefusesAll) {
  const auto refusal = [&](const JobConfig& other) {
    return why_not_marian({.job = other, .source_tokenizer = tokenizer, .target_tokenizer = tokenizer}).value_or("");
  };
  EXPECT_THAT(without_effect(marian_job(), refusal), testing::ElementsAre("dropout.embedding=0.1", "init=xavier"));
}

// Nothing there speaks of dropout or of how weights began; without rotary positions no angle is read, and so on.
TEST_F(ExportKeys, CTranslate2RepresentsOrRefusesAll) {
  for_ct2 = true;
  const auto refusal = [&](const JobConfig& other) {
    return why_not_ct2({.job = other, .source_tokenizer = tokenizer, .target_tokenizer = tokenizer}).value_or("");
  };
  EXPECT_THAT(
      without_effect(marian_job(), refusal),
      testing::ElementsAre("padding_id=0", "rotary.form=interleaved", "rotary.base=5000", "rotary.scaling=linear",
                           "rotary.scaling=llama3", "rotary.factor=0.5", "rotary.low_frequency_factor=0.5",
                           "rotary.high_frequency_factor=2", "rotary.original_length=16384", "qkv_bias=true",
                           "dropout.embedding=0.1", "dropout.residual=0.1", "dropout.ffn=0.1", "dropout.attention=0.1",
                           "init=xavier", "init_std=0.01"));
  JobConfig llama{.model = small_llama()};
  llama.model.rotary.scaling = RotaryScaling::Llama3;
  // An RMSNorm with a bias is refused for its kind, whichever key was changed.
  EXPECT_THAT(without_effect(llama, refusal, false),
              testing::ElementsAre("padding_id=0", "max_length=32", "sinusoid_form=halves",
                                   "sinusoid_form=halves_from_one", "sinusoid_form=per_column", "sinusoid_base=5000",
                                   "tying=all", "dropout.embedding=0.1", "dropout.residual=0.1", "dropout.ffn=0.1",
                                   "dropout.attention=0.1", "init=xavier", "init_std=0.01"));
}

}  // namespace
}  // namespace weft
