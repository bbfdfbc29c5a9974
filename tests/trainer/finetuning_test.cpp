// SPDX-License-Identifier: Apache-2.0
// Runs that begin from the weights of another run.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "evaluate/loss_evaluation.h"
#include "job/loaded_model.h"
#include "job/merge.h"
#include "job/vocabularies.h"
#include "model/layers/lora.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"
#include "trainer/run/logs/metrics.h"

namespace weft {
namespace {

using namespace test;

using Json = nlohmann::ordered_json;

TrainResult train(const JobConfig& job, const ResumeChoice& resume = {}) {
  Context context(Device{}, 1);
  Mesh mesh = Mesh::single();
  Trainer trainer(context, mesh, job);
  return trainer.run(resume);
}

std::string text_of_ships() {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "by the boat " + std::to_string(i * 6007 % 90) + " went\n";
  return text;
}

// A pretrained run, and a job file with no more keys than finetuning needs.
class Finetuning : public testing::Test {
 protected:
  void SetUp() override { pretrained_.train(); }

  JobConfig tuned(std::vector<std::string> overrides = {}, const std::string& name = "tuned") {
    JobConfig job = unprepared(std::move(overrides), name);
    prepare(job.text());
    return job;
  }
  JobConfig unprepared(const std::vector<std::string>& overrides, const std::string& name) {
    const std::string text = scratch_.write("ships.txt", text_of_ships());
    const std::string file = scratch_.write(
        name + ".yaml", fmt::format("name: {0}\n"
                                    "run_dir: {1}\n"
                                    "data:\n"
                                    "  directory: {1}-data\n"
                                    "  document_delimiter: file\n"
                                    "  split: characters\n"
                                    "  valid_fraction: 0.2\n"
                                    "  train: {{files: [{2}]}}\n"
                                    "batch: {{sequences: 4}}\n"
                                    "schedule: {{kind: constant, learning_rate: 0.01}}\n"
                                    "train: {{max_steps: 6, clip_norm: 1, init_from: {3}}}\n"
                                    "checkpoint: {{every_steps: 3, keep_last: 10}}\n",
                                    name, (scratch_ / name).string(), text, pretrained_.directory().string()));
    return load_job(file, overrides);
  }
  static fs::path saved(const JobConfig& job, int64_t step) {
    return checkpoint_path(job.run_directory() / "checkpoints", step);
  }
  fs::path initial() const { return pretrained_.checkpoint(8); }

  Scratch scratch_;
  SmallRun pretrained_{scratch_, "pretrained"};
};

TEST_F(Finetuning, TakesModelAndTokenizerAndStartsAtStep0) {
  const JobConfig job = tuned({"model.dropout.residual=0"});
  EXPECT_EQ(job.model.width, 16);
  EXPECT_EQ(job.model.dropout.residual, 0);
  EXPECT_EQ(job.model.dropout.attention, 0.1);
  EXPECT_EQ(job.batch.context_length, 8);
  EXPECT_EQ(job.data.tokenizer_file, (initial() / "source-tokenizer.json").string());
  // With a learning rate of almost 0 the weights stay the initial ones; moments and steps are not inherited.
  JobConfig still = job;
  still.schedule.learning_rate = 1e-20;
  const TrainResult result = train(still);
  EXPECT_EQ(result.step, 6);
  EXPECT_EQ(hashes_by_name(saved(still, 6), "master"), hashes_by_name(initial(), "master"));
  const CheckpointManifest manifest = read_checkpoint_manifest(saved(still, 6));
  EXPECT_EQ(manifest.state["updates"], 6);
  EXPECT_EQ(manifest.provenance["init_from"]["checkpoint"], initial().string());
  EXPECT_EQ(manifest.provenance["init_from"]["step"], 8);
  EXPECT_EQ(manifest.provenance["init_from"]["run"], read_checkpoint_manifest(initial()).state["run"]);
}

TEST_F(Finetuning, ResumesWithoutTheOriginal) {
  const JobConfig job = tuned();
  train(job);
  const auto straight = tensor_hashes(saved(job, 6));
  EXPECT_NE(hashes_by_name(saved(job, 6), "master"), hashes_by_name(initial(), "master"));
  fs::remove_all(pretrained_.directory());
  const JobConfig again = unprepared({}, "tuned");
  EXPECT_EQ(to_yaml(again), to_yaml(job));
  train(again, {.kind = ResumeChoice::Kind::Path, .path = saved(job, 3)});
  EXPECT_EQ(tensor_hashes(saved(job, 6)), straight);
  EXPECT_EQ(read_checkpoint_manifest(saved(job, 6)).provenance["init_from"]["checkpoint"], initial().string());
  EXPECT_NE(error_of([&] { tuned({}, "another"); }).find("train.init_from"), std::string::npos);
}

TEST_F(Finetuning, ContradictionsNameTheirKeys) {
  const auto refused = [&](const std::string& override_text) {
    try {
      tuned({override_text});
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_TRUE(refused("model.width=32").starts_with("model.width: 32, but ")) << refused("model.width=32");
  EXPECT_TRUE(refused("tokenizer.kind=bytes").starts_with("tokenizer.kind: bytes, but "));
  EXPECT_TRUE(refused("task=translation").starts_with("task: translation, but "));
  EXPECT_EQ(refused("model.width=16"), "no error");
  const SmallRun other(scratch_, "other", "wholly other characters: XYZ\n" + SmallRun::sample_text());
  const std::string file = (scratch_ / "other-data" / "tokenizer.json").string();
  EXPECT_TRUE(refused("data.tokenizer_file=" + file).starts_with("data.tokenizer_file: " + file + " is another"));
}

TEST_F(Finetuning, RefusesADatasetOfAnotherTokenizer) {
  JobConfig job = tuned();
  const SmallRun other(scratch_, "other", "wholly other characters: XYZ\n" + SmallRun::sample_text());
  job.data.directory = (scratch_ / "other-data").string();
  try {
    train(job);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("was made with another tokenizer"), std::string::npos) << error.what();
    EXPECT_NE(error.hint().find("source-tokenizer.json"), std::string::npos);
  }
  EXPECT_FALSE(fs::exists(job.run_directory())) << "a run that cannot begin leaves nothing behind";
}

TEST_F(Finetuning, FrozenParametersKeepTheirBitsAndHaveNoMoments) {
  const JobConfig job = tuned({"train.freeze=[decoder.embedding.*, \"*norm*\"]"});
  train(job);
  const auto before = hashes_by_name(initial(), "master"), after = hashes_by_name(saved(job, 6), "master"),
             moments = hashes_by_name(saved(job, 6), "moment1");
  ASSERT_EQ(before.size(), after.size());
  int frozen = 0;
  for (const auto& [name, hash] : before) {
    const bool meant = name.starts_with("decoder.embedding.") || name.find("norm") != std::string::npos;
    EXPECT_EQ(after.at(name) == hash, meant) << name;
    EXPECT_EQ(moments.contains(name), !meant) << name;
    frozen += meant;
  }
  EXPECT_GT(frozen, 2);
  const JobConfig wrong = tuned({"train.freeze=[decoder.embeding.*]"});
  EXPECT_TRUE(error_of([&] { train(wrong); }).starts_with("train.freeze: 'decoder.embeding.*' matches no parameter"));
  const JobConfig all = tuned({"train.freeze=['*']"});
  EXPECT_TRUE(error_of([&] { train(all); }).starts_with("train.freeze: every parameter is frozen"));
  const JobConfig thawed = tuned();
  const std::string refused =
      error_of([&] { train(thawed, {.kind = ResumeChoice::Kind::Path, .path = saved(job, 3)}); });
  EXPECT_NE(refused.find("\n  train.freeze: ["), std::string::npos) << refused;
}

TEST_F(Finetuning, GroupsHaveTheirOwnRate) {
  const JobConfig job = tuned({"optimizer.groups=[{match: ['*'], learning_rate_scale: 0.5}]"});
  JobConfig half = tuned({}, "half");
  half.schedule.learning_rate /= 2;
  train(job), train(half);
  EXPECT_EQ(tensor_hashes(saved(job, 6)), tensor_hashes(saved(half, 6)));
  const JobConfig wrong = tuned({"optimizer.groups=[{match: [encoder.*]}]"}, "wrong");
  EXPECT_TRUE(error_of([&] { train(wrong); }).starts_with("optimizer.groups.match: 'encoder.*' matches no parameter"));
}

double loss_of(const fs::path& checkpoint, const JobConfig& job) {
  Context context(Device{}, 1);
  Mesh mesh = Mesh::single();
  const LoadedModel loaded = load_model(context, mesh, checkpoint);
  const auto split = std::make_shared<const Dataset>(Dataset::open(job.data.directory, DataSplit::Valid));
  return evaluate_loss(*loaded.model, split, {.context_length = 8}, 0).mean_nll();
}

TEST_F(Finetuning, AdaptersAloneLearnResumeAndMerge) {
  const std::vector<std::string> overrides = {"lora={rank: 4, alpha: 8, dropout: 0.1, targets: [attention.*, ffn.*]}"};
  const JobConfig job = tuned(overrides);
  train(job);
  const auto before = hashes_by_name(initial(), "master"), after = hashes_by_name(saved(job, 6), "master");
  for (const auto& [name, hash] : before) EXPECT_EQ(after.at(name), hash) << name;
  for (const auto& [name, hash] : hashes_by_name(saved(job, 6), "moment1")) EXPECT_TRUE(is_adapter(name)) << name;
  EXPECT_EQ(after.size(), before.size() + 8);
  EXPECT_LT(loss_of(saved(job, 6), job), loss_of(initial(), job));

  const auto straight = tensor_hashes(saved(job, 6));
  train(job, {.kind = ResumeChoice::Kind::Path, .path = saved(job, 3)});
  EXPECT_EQ(tensor_hashes(saved(job, 6)), straight);

  const fs::path merged = scratch_ / "merged";
  merge_adapters(saved(job, 6), merged);
  EXPECT_NEAR(loss_of(merged, job), loss_of(saved(job, 6), job), 1e-6);
  EXPECT_EQ(hashes_by_name(merged, "master").size(), before.size());
  EXPECT_EQ(read_checkpoint_manifest(merged).provenance["merged_from"], saved(job, 6).string());
  const std::string from = "train.init_from=";
  EXPECT_NO_THROW(tuned({from + merged.string()}, "from-merged"));
  EXPECT_NE(error_of([&] { tuned({from + saved(job, 6).string()}, "from-adapters"); }).find("not merged"),
            std::string::npos);
  EXPECT_NE(error_of([&] { merge_adapters(initial(), scratch_ / "none"); }).find("no adapters"), std::string::npos);
  EXPECT_EQ(error_of([&] { merge_adapters(saved(job, 6), merged); }), merged.string() + ": exists already");
}

TEST_F(Finetuning, StopsOnceTheHeldOutLossRises) {
  // At this rate the loss only gets worse: the first evaluation stays the best one.
  const JobConfig job = tuned({"schedule.learning_rate=2", "train.max_steps=100", "train.clip_norm=0",
                               "evaluation={every_steps: 2, patience: 3}", "checkpoint.every_steps=50"});
  const TrainResult result = train(job);
  std::vector<double> losses;
  for (const Json& line : read_metrics(job.run_directory(), "eval")) losses.push_back(line["loss"]);
  const auto best = std::ranges::min_element(losses) - losses.begin();
  EXPECT_LT(result.step, 100);
  EXPECT_EQ(static_cast<int64_t>(losses.size()), best + 4) << "three evaluations after the best one";
  EXPECT_EQ(result.step, 2 * static_cast<int64_t>(losses.size()));
  EXPECT_TRUE(fs::exists(saved(job, 2 * (best + 1)))) << "the best checkpoint is kept";
  EXPECT_EQ(train(job).step, result.step) << "run again, it has ended";
}

}  // namespace
}  // namespace weft
