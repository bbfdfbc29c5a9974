// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "base/config/writer.h"
#include "base/error.h"
#include "base/files.h"
#include "job/job.h"
#include "job/named_jobs.h"
#include "tests/support/source_dir.h"

// Every file under configs/ is a job that passes its checks, or (shared/) a part of one that can be read.
namespace weft {
namespace {

using namespace test;

std::vector<fs::path> config_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(source_dir() / "configs")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

JobConfig shipped(const std::string& name) { return load_job(source_dir().string() + "/configs/" + name); }

TEST(Configs, EveryFileLoadsAndPassesItsChecks) {
  int jobs = 0;
  for (const fs::path& file : config_files()) {
    const bool part = file.parent_path().filename() == "shared";
    if (part) {
      EXPECT_NO_THROW(read_config<JobConfig>(file.string())) << file;
      continue;
    }
    ++jobs;
    if (file.parent_path().filename() == "finetune") {  // no checkpoint exists yet to give what the file leaves out
      EXPECT_NO_THROW(read_config<JobConfig>(file.string())) << file;
      EXPECT_THROW(load_job(file.string()), DataError) << file;
      continue;
    }
    try {
      const JobConfig job = load_job(file.string());
      EXPECT_EQ(
          job.name == file.stem() || job.name == file.parent_path().filename().string() + "-" + file.stem().string(),
          true)
          << file << " calls itself " << job.name;
      const std::string resolved = to_yaml(job);
      EXPECT_EQ(to_yaml(parse_config<JobConfig>(resolved, "resolved")), resolved) << file;
    } catch (const ConfigError& error) {
      ADD_FAILURE() << file << "\n" << error.what();
    }
  }
  EXPECT_EQ(jobs, 40);
}

TEST(Configs, TheNamedTransformerTinyIsThatOfItsRecipe) {
  const TransformerConfig recipe = shipped("translation/multi30k-en-de-tiny.yaml").model;
  EXPECT_EQ(to_yaml(find_bench_job("transformer-tiny").job.model), to_yaml(recipe));
}

TEST(Configs, NamedLlamasAreThoseOfTheirJobs) {
  for (const std::string size : {"124m", "350m"}) {
    EXPECT_EQ(to_yaml(find_bench_job("llama-" + size).job.model), to_yaml(shipped("llama/" + size + ".yaml").model))
        << size;
  }
}

// Of a job and the one that it extends, the lines of the resolved job that differ, without what is in the model
// section.
std::vector<std::string> differences_beside_the_model(JobConfig job, JobConfig older) {
  job.model = older.model = {};
  std::istringstream a(to_yaml(job)), b(to_yaml(older));
  std::vector<std::string> found;
  for (std::string line, other; std::getline(a, line) && std::getline(b, other);) {
    if (line != other) found.push_back(line);
  }
  return found;
}

TEST(Configs, JobsOfTodaysBlocksDifferFromTheOlderInTheirModelAlone) {
  const std::pair<const char*, const char*> pairs[] = {
      {"gpt/shakespeare-char-modern", "gpt/shakespeare-char-cpu"},
      {"translation/multi30k-en-de-modern", "translation/multi30k-en-de-tiny"},
      {"translation/transformer-modern", "translation/transformer-base"},
      {"llama/124m", "gpt/gpt2-124m"},
      {"llama/350m", "gpt/gpt2-355m"}};
  for (const auto& [name, older] : pairs) {
    const JobConfig job = shipped(std::string(name) + ".yaml"), other = shipped(std::string(older) + ".yaml");
    EXPECT_EQ(differences_beside_the_model(job, other), std::vector{"name: " + job.name});
    EXPECT_EQ(job.model.norm_kind, NormKind::Rms) << name;
    EXPECT_EQ(job.model.positions, Positions::Rotary) << name;
    EXPECT_TRUE(job.model.gated && job.model.activation == Activation::Silu) << name;
    EXPECT_FALSE(job.model.bias || job.model.norm_bias || job.model.qkv_bias || job.model.output_bias) << name;
    EXPECT_EQ(job.model.width, other.model.width) << name;
    EXPECT_EQ(to_yaml(job.model.dropout), to_yaml(other.model.dropout)) << name;
  }
}

TEST(Configs, CharacterModelIsNanoGptsRecipe) {
  const JobConfig job = shipped("gpt/shakespeare-char-cpu.yaml");
  EXPECT_EQ(job.model.layers, 4);
  EXPECT_EQ(job.model.heads, 4);
  EXPECT_EQ(job.model.width, 128);
  EXPECT_EQ(job.batch.context_length, 64);
  EXPECT_EQ(job.batch.sequences, 12);
  EXPECT_EQ(job.model.dropout.residual, 0);
  EXPECT_EQ(job.schedule.learning_rate, 1e-3);
  EXPECT_EQ(job.schedule.final_learning_rate, 1e-4);
  EXPECT_EQ(job.schedule.warmup_steps, 100);
  EXPECT_EQ(job.optimizer.beta2, 0.99);
  EXPECT_EQ(job.optimizer.weight_decay, 0.1);
  EXPECT_FALSE(job.model.bias || job.model.norm_bias || job.model.output_bias);
  EXPECT_EQ(job.model.tying, Tying::Output);
  EXPECT_EQ(job.train.max_steps, 2000);
}

TEST(Configs, Multi30kIsThePublishedRecipe) {
  const JobConfig job = shipped("translation/multi30k-en-de-tiny.yaml");
  EXPECT_EQ(job.model.encoder_layers, 4);
  EXPECT_EQ(job.model.layers, 4);
  EXPECT_EQ(job.model.ffn, 256);
  EXPECT_EQ(job.model.tying, Tying::All);
  EXPECT_EQ(job.model.dropout.attention, 0);
  EXPECT_EQ(job.tokenizer.merges, 10000);
  EXPECT_EQ(job.batch.tokens / job.batch.buckets_per_step, 4096);
  EXPECT_EQ(learning_rate(job.schedule, 2000, job.train.max_steps), 5e-3);
  EXPECT_EQ(job.evaluation.patience, 10);
  EXPECT_EQ(job.checkpoint.keep_epochs, 10);
}

TEST(Configs, MutatedJobsAreReadOrRefused) {
  std::mt19937 random(11);
  for (const fs::path& file : config_files()) {
    const std::string text = read_file(file);
    for (int i = 0; i < 100; ++i) {
      std::string mutated = text;
      for (size_t edits = 1 + random() % 4; edits > 0; --edits) {
        const size_t at = random() % mutated.size();
        if (random() % 2 == 0) {
          mutated[at] = static_cast<char>(random() % 256);
        } else {
          mutated.insert(at, mutated.substr(random() % mutated.size(), random() % 20));
        }
      }
      try {
        check_job(parse_config<JobConfig>(mutated, "mutated.yaml"));
      } catch (const ConfigError&) {
      }
    }
  }
}

}  // namespace
}  // namespace weft
