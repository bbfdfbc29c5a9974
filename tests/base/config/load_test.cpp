// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/config/reader.h"
#include "base/error.h"
#include "base/files.h"
#include "tests/base/config/fixture.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

class ConfigFiles : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    const fs::path path = directory_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

  static std::string problems_of(const std::string& path, const std::vector<std::string>& overrides = {}) {
    try {
      read_config<Tree>(path, overrides);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no problem";
  }

  const Scratch scratch_;
  const fs::path directory_ = scratch_.path();
};

TEST_F(ConfigFiles, LaterFilesWinKeyByKeyAndListsAreReplaced) {
  write("base/a.yaml", "name: a\nseed: 1\nbranch: {width: 1, rate: 0.5}\nwords: [x, y, z]\n");
  write("base/b.yaml", "extends: a.yaml\nseed: 2\nbranch: {width: 2}\n");
  write("c.yaml", "epsilon: 3\nbranch: {fruit: pear}\n");
  const std::string job = write("job.yaml", "extends: [base/b.yaml, c.yaml]\nwords: [w]\nbranch: {bias: false}\n");
  const Tree tree = read_config<Tree>(job, {"branch.width=9", "limit=4", "words=[p, q]", "branch.width=10"});
  EXPECT_EQ(tree.name, "a");
  EXPECT_EQ(tree.seed, 2);
  EXPECT_EQ(tree.epsilon, 3);
  EXPECT_EQ(tree.branch.width, 10);
  EXPECT_EQ(tree.branch.rate, 0.5);
  EXPECT_FALSE(tree.branch.bias);
  EXPECT_EQ(tree.branch.fruit, weft::test::Fruit::Pear);
  EXPECT_EQ(tree.words, (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ(tree.limit, 4);
}

TEST_F(ConfigFiles, ProblemsNameTheirFile) {
  const std::string base = write("base.yaml", "seed: wrong\n");
  const std::string job = write("job.yaml", "extends: base.yaml\nnaem: x\n");
  const std::string found = problems_of(job, {"branch.rate=7"});
  EXPECT_NE(found.find(base + ":1:7: seed: expected an integer"), std::string::npos) << found;
  EXPECT_NE(found.find(job + ":2:1: naem: unknown key; did you mean 'name'?"), std::string::npos) << found;
  EXPECT_NE(found.find("--set branch.rate=7: branch.rate: expected a number from 0 to 1, got 7"), std::string::npos)
      << found;
}

TEST_F(ConfigFiles, CyclesAreErrors) {
  write("a.yaml", "extends: b.yaml\n");
  write("b.yaml", "extends: a.yaml\n");
  EXPECT_NE(problems_of((directory_ / "a.yaml").string()).find("extends itself: a.yaml -> b.yaml -> a.yaml"),
            std::string::npos);
  const std::string self = write("self.yaml", "extends: ./self.yaml\n");
  EXPECT_NE(problems_of(self).find("extends itself"), std::string::npos);
}

TEST_F(ConfigFiles, DiamondsAreReadOnceAndBombsEndQuickly) {
  write("n0.yaml", "seed: 5\n");
  for (int i = 1; i < 40; ++i) {
    write(fmt::format("n{}.yaml", i), fmt::format("extends: [n{0}.yaml, n{0}.yaml, n{0}.yaml]\n", i - 1));
  }
  EXPECT_EQ(read_config<Tree>((directory_ / "n39.yaml").string()).seed, 5);
  for (int i = 40; i < 80; ++i) write(fmt::format("n{}.yaml", i), fmt::format("extends: n{}.yaml\n", i - 1));
  EXPECT_NE(problems_of((directory_ / "n79.yaml").string()).find("more than 64 files"), std::string::npos);
}

TEST_F(ConfigFiles, MissingAndForeignFiles) {
  EXPECT_NE(problems_of((directory_ / "none.yaml").string()).find("none.yaml: cannot be read"), std::string::npos);
  EXPECT_NE(problems_of(directory_.string()).find("is a directory"), std::string::npos);
  const std::string job = write("job.yaml", "name: x\nextends: none.yaml\n");
  EXPECT_NE(problems_of(job).find(job + ":2:10: cannot be read"), std::string::npos) << problems_of(job);
  const std::string odd = write("odd.yaml", "extends: 3\n");
  EXPECT_NE(problems_of(odd).find("extends: expected the path of a file or a list of them, got 3"), std::string::npos);
  const std::string list = write("list.yaml", "[1, 2]\n");
  EXPECT_NE(problems_of(list).find("expected keys with values, got a list of 2"), std::string::npos);
  EXPECT_EQ(read_config<Tree>(write("empty.yaml", "")).name, "tree");
}

TEST_F(ConfigFiles, PipesAndDevicesAndHugeFilesAreErrors) {
  ASSERT_EQ(mkfifo((directory_ / "pipe.yaml").c_str(), 0600), 0);
  write("huge.yaml", "");
  fs::resize_file(directory_ / "huge.yaml", uint64_t{1} << 40);
  const auto problems_when_extending = [&](const std::string& name) {
    return problems_of(write("job.yaml", "name: x\nextends: " + name + "\n"));
  };
  for (const char* expected : {"job.yaml:2", "pipe.yaml is a pipe, not a file"}) {
    EXPECT_NE(problems_when_extending("pipe.yaml").find(expected), std::string::npos) << expected;
  }
  EXPECT_NE(problems_when_extending("/dev/zero").find("/dev/zero is a device"), std::string::npos);
  EXPECT_NE(problems_when_extending("huge.yaml").find("huge.yaml has 1099511627776 bytes"), std::string::npos);
}

TEST_F(ConfigFiles, OverridesAreChecked) {
  const std::string job = write("job.yaml", "name: x\n");
  for (const char* bad : {"seed", "=3", ".seed=3", "branch.=3", "branch..width=3", ""}) {
    EXPECT_NE(problems_of(job, {bad}).find("expected key=value"), std::string::npos) << bad;
  }
  EXPECT_NE(problems_of(job, {"branch.widht=3"}).find("--set branch.widht=3: branch.widht: unknown key; did you mean"),
            std::string::npos);
  EXPECT_NE(problems_of(job, {"name.x=3"}).find("name: expected text, got a section (x)"), std::string::npos);
  EXPECT_NE(problems_of(job, {"words=[a"}).find("--set words=[a: not valid YAML"), std::string::npos);
  EXPECT_NE(problems_of(job, {"extends=a.yaml"}).find("extends: unknown key"), std::string::npos);
  EXPECT_NE(problems_of(job, {std::string("name=\xff")}).find("not UTF-8"), std::string::npos);
  EXPECT_EQ(read_config<Tree>(job, {"name=a=b"}).name, "a=b");
  EXPECT_EQ(read_config<Tree>(job, {"name=\"\""}).name, "");
}

TEST(ConfigOptions, ChangeTheDefaultsGiven) {
  Tree defaults;
  defaults.name = "given";
  defaults.seed = 7;
  const Tree tree = read_options<Tree>("--tree", {"seed=8", "branch.width=2"}, defaults);
  EXPECT_EQ(tree.name, "given");
  EXPECT_EQ(tree.seed, 8);
  EXPECT_EQ(tree.branch.width, 2);
  try {
    read_options<Tree>("--tree", {"sed=8"});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()).find("--tree sed=8: sed: unknown key; did you mean 'seed'?"), 0u)
        << error.what();
  }
}

}  // namespace
}  // namespace weft
