// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "base/config/reader.h"
#include "base/config/writer.h"
#include "job/job.h"
#include "launch/shipped/jobs.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"
#include "tests/support/source_dir.h"

// The jobs under configs/ as `weft jobs` lists and copies them.
namespace weft {
namespace {

using namespace test;

fs::path configs() { return source_dir() / "configs"; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST(ShippedJobs, EveryJobHasAPurposeOfOneLine) {
  const std::vector<ShippedJob> jobs = shipped_jobs(configs());
  EXPECT_GE(jobs.size(), 23U);
  for (const ShippedJob& job : jobs) {
    EXPECT_TRUE(job.purpose.size() >= 20 && job.purpose.size() <= 112 && job.purpose.ends_with('.'))
        << job.file
        << ": begin it with a comment of one line, \"# \" and a sentence of at most 112 characters that says "
        << "what the job is; its first line is: " << job.purpose;
  }
}

TEST(ShippedJobs, NamesAreThePathsAndPartsOfJobsHaveNone) {
  const std::vector<ShippedJob> jobs = shipped_jobs(configs());
  EXPECT_TRUE(std::ranges::is_sorted(jobs, {}, &ShippedJob::name));
  EXPECT_EQ(std::ranges::adjacent_find(jobs, {}, &ShippedJob::name), jobs.end()) << "two jobs have one name";
  EXPECT_EQ(find_shipped_job(configs(), "sample-translation").file, configs() / "sample/translation.yaml");
  EXPECT_EQ(find_shipped_job(configs(), "gpt3-1.3b").file, configs() / "gpt3/1.3b.yaml");
  EXPECT_EQ(std::ranges::count_if(jobs, [](const ShippedJob& job) { return job.name.starts_with("shared"); }), 0);
}

TEST(ShippedJobs, UnknownNamesAreErrorsThatNameTheNearest) {
  EXPECT_NE(error_of<ConfigError>([] {
              find_shipped_job(configs(), "sample-translatoin");
            }).find("did you mean 'sample-translation'?"),
            std::string::npos);
  EXPECT_NE(error_of<ConfigError>([] { find_shipped_job(configs(), "xyz"); }).find("weft jobs lists them"),
            std::string::npos);
}

TEST(ShippedJobs, CopiesMeanTheSameInAnyFolderAndKeepTheirComments) {
  const Scratch scratch;
  for (const ShippedJob& job : shipped_jobs(configs())) {
    const std::string original = read_file(job.file), copy = copy_of(job, configs());
    EXPECT_EQ(std::ranges::count(copy, '\n'), std::ranges::count(original, '\n')) << job.name;
    EXPECT_EQ(std::ranges::count(copy, '#'), std::ranges::count(original, '#')) << job.name;
    EXPECT_EQ(copy.substr(0, copy.find('\n')), "# " + job.purpose);
    const std::string there = to_yaml(read_config<JobConfig>(scratch.write(job.name + ".yaml", copy)));
    EXPECT_EQ(replaced(there, configs().string(), "configs"), to_yaml(read_config<JobConfig>(job.file.string())))
        << job.name;
  }
}

TEST(ShippedJobs, CopiesNameTheSampleCorpusByAbsolutePaths) {
  const std::string copy = copy_of(find_shipped_job(configs(), "sample-translation"), configs());
  EXPECT_NE(copy.find("files: [" + (configs() / "sample/train.tsv.gz").string() + "]"), std::string::npos) << copy;
  EXPECT_NE(copy.find("extends: " + (configs() / "shared/translation.yaml").string() + " "), std::string::npos);
  EXPECT_NE(copy.find("directory: corpora/prepared/sample-translation"), std::string::npos) << "outputs stay relative";
}

TEST(ShippedJobs, CommandsInCommentsWorkInAnyFolder) {
  const std::string copy = copy_of(find_shipped_job(configs(), "gpt-gpt2-124m"), configs());
  EXPECT_NE(copy.find("weft prepare " + (configs() / "gpt/gpt2-124m.yaml").string() + " --set"), std::string::npos);
  EXPECT_NE(copy.find("[my-text/*.jsonl.gz]"), std::string::npos) << "what does not come with weft stays";
}

TEST(ShippedJobs, FoldersWhosePathsYamlReadsInItsOwnWayAreRefused) {
  const Scratch scratch;
  const fs::path odd = scratch / "a, b";
  fs::create_directory(odd);
  write_file_atomically(odd / "x.yaml", "# A job.\nname: x\n");
  EXPECT_NE(error_of<ConfigError>([&] { copy_of(find_shipped_job(odd, "x"), odd); }).find("a, b"), std::string::npos);
}

TEST(ShippedConfigs, BuildsHaveThemBesideTheProgramAndInstallationsInShare) {
  const Scratch scratch;
  const fs::path program = scratch / "bin/weft";
  fs::create_directory(program.parent_path());
  EXPECT_NE(error_of<DataError>([&] { shipped_configs(program); }).find("cmake --install"), std::string::npos);
  fs::create_directories(scratch / "share/weft/configs");
  EXPECT_EQ(shipped_configs(program), fs::canonical(scratch / "share/weft/configs"));
  fs::create_directories(scratch / "bin/share/weft/configs");
  EXPECT_EQ(shipped_configs(program), fs::canonical(scratch / "bin/share/weft/configs"));
}

}  // namespace
}  // namespace weft
