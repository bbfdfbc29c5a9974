// SPDX-License-Identifier: Apache-2.0
// Every key of the model section, as fields() declares it, with another value: an exporter either refuses it by name,
// or writes something different. A key that is added later is refused until an exporter handles it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exchange/export.h"
#include "exchange/export_plan.h"
#include "exchange/gpt2_config.h"
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
    EXPECT_NE(export_model(scratch / "model", scratch / "out", std::nullopt, {}).architecture, "weft");
    return {read_file(scratch / "out" / "config.json"), contents(scratch / "out" / "model.safetensors")};
  }
  // The variations of a model that are accepted, and exported exactly as the model is.
  std::vector<std::string> without_effect(JobConfig job,
                                          const std::function<std::string(const JobConfig& job)>& refusal) const {
    EXPECT_EQ(refusal(job), "");
    const auto plain = exported(job);
    std::vector<std::string> changes;
    const std::function use = [&](const std::string& key, const std::string& change) {
      if (const std::string refused = refusal(job); !refused.empty()) {
        EXPECT_THAT(refused, HasSubstr("model." + key + ": ")) << change;
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
};

// A stored model has its weights and computes without dropout; sinusoids are not read if positions are learned.
// For these keys another value changes nothing in the export.
TEST_F(ExportKeys, Gpt2RepresentsOrRefusesAll) {
  const auto refusal = [](const JobConfig& job) -> std::string {
    const std::string error = error_of([&] { check_is_gpt2(job.model, "here"); });
    return error == "no error" ? "" : error;
  };
  EXPECT_THAT(without_effect({.model = kSmall}, refusal),
              testing::ElementsAre("sinusoid_form=halves", "sinusoid_form=halves_from_one", "sinusoid_form=per_column",
                                   "sinusoid_base=5000", "tying=all", "dropout.ffn=0.1", "init=xavier"));
}

TEST_F(ExportKeys, MarianRepresentsOrRefusesAll) {
  const auto refusal = [&](const JobConfig& other) {
    return why_not_marian({.job = other, .source_tokenizer = tokenizer, .target_tokenizer = tokenizer}).value_or("");
  };
  EXPECT_THAT(without_effect(marian_job(), refusal),
              testing::ElementsAre("dropout.embedding=0.1", "init=xavier", "init_std=0.01"));
}

// peft loads adapters beside a GPT-2 of `transformers`.
TEST_F(ExportKeys, AdaptersBelongToAGpt2) {
  JobConfig job{.model = kSmall, .lora = {.rank = 2}};
  job.model.norm_placement = NormPlacement::Post;
  write_model(scratch / "model", job, *tokenizer, half);
  EXPECT_THAT(error_of([&] { export_model(scratch / "model", scratch / "out", std::nullopt, {}, true); }),
              HasSubstr("model.norm_placement: GPT-2 cannot represent this model: it has pre, not post"));
}

}  // namespace
}  // namespace weft
