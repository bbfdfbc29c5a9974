// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/config/reader.h"
#include "base/error.h"
#include "tests/base/config/fixture.h"

namespace weft {
namespace {

using namespace test;

std::string problems_of(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  try {
    parse_config<Tree>(yaml, "job.yaml", overrides);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no problem";
}

TEST(Config, EmptyTextGivesTheDefaults) {
  for (const char* yaml : {"", "\n\n", "# only a comment\n", "{}", "---\n"}) {
    const Tree tree = parse_config<Tree>(yaml, "job.yaml");
    EXPECT_EQ(tree.name, "tree") << yaml;
    EXPECT_EQ(tree.branch.width, 128) << yaml;
  }
}

TEST(Config, ReadsEveryType) {
  const Tree tree = parse_config<Tree>(R"(
name: oak
seed: 0x1f
epsilon: 1e-3
branch:
  width: +256
  rate: 1
  bias: false
  fruit: pear
limit: 7
best: {path: here}
words: [no, "3", 'yes', ~tilde]
rates: [.5, 2, 1.]
flags: [true, False]
fruits: [none, apple]
leaves:
  - path: a
  - {path: b, copies: 9}
)",
                                       "job.yaml");
  EXPECT_EQ(tree.name, "oak");
  EXPECT_EQ(tree.seed, 31);
  EXPECT_EQ(tree.epsilon, 1e-3);
  EXPECT_EQ(tree.branch.width, 256);
  EXPECT_EQ(tree.branch.rate, 1.0);
  EXPECT_FALSE(tree.branch.bias);
  EXPECT_EQ(tree.branch.fruit, Fruit::Pear);
  EXPECT_EQ(tree.limit, 7);
  ASSERT_TRUE(tree.best.has_value());
  EXPECT_EQ(tree.best->path, "here");
  EXPECT_EQ(tree.words, (std::vector<std::string>{"no", "3", "yes", "~tilde"}));
  EXPECT_EQ(tree.rates, (std::vector<double>{0.5, 2, 1}));
  EXPECT_EQ(tree.flags, (std::vector<bool>{true, false}));
  EXPECT_EQ(tree.fruits, (std::vector<Fruit>{Fruit::None, Fruit::Apple}));
  ASSERT_EQ(tree.leaves.size(), 2u);
  EXPECT_EQ(tree.leaves[0].copies, 1);
  EXPECT_EQ(tree.leaves[1].copies, 9);
}

TEST(Config, NullUnsetsAnOptional) {
  EXPECT_FALSE(parse_config<Tree>("limit: null\nbest:", "job.yaml").limit.has_value());
  EXPECT_FALSE(parse_config<Tree>("limit: 3", "job.yaml", {"limit=null"}).limit.has_value());
}

struct Mistake {
  const char* yaml;
  const char* message;
};

const Mistake kMistakes[] = {
    {"branch:\n  widht: 3\n",
     "job.yaml:2:3: branch.widht: unknown key; did you mean 'width'? (known: width, rate, bias, fruit)"},
    {"width: 3\n", "job.yaml:1:1: width: unknown key; did you mean 'branch.width'?"},
    {"zzzzzz: 3\n", "job.yaml:1:1: zzzzzz: unknown key (known: name, seed"},
    {"name: a\nseed: 1\nname: b\n", "job.yaml:3:1: name: duplicate key, first given at job.yaml:1:1"},
    {"branch: {width: 1, width: 2}\n", "job.yaml:1:20: branch.width: duplicate key, first given at job.yaml:1:10"},
    {"leaves: [{path: a, path: b}]\n", "job.yaml:1:20: leaves.0.path: duplicate key"},
    {"seed: 1e3\n", "job.yaml:1:7: seed: expected an integer, got 1e3 (a number)"},
    {"seed: 3.0\n", "seed: expected an integer, got 3.0 (a number)"},
    {"seed: \"3\"\n", "seed: expected an integer, got '3' (text)"},
    {"seed: 1_000\n", "seed: expected an integer, got '1_000' (text)"},
    {"seed: true\n", "seed: expected an integer, got true (true or false)"},
    {"seed:\n", "seed: expected an integer, got nothing (null)"},
    {"seed: 9223372036854775808\n", "got 9223372036854775808 (an integer), which does not fit 64 bits"},
    {"seed: [1]\n", "seed: expected an integer, got a list of 1"},
    {"branch: {width: 0}\n", "branch.width: expected an integer >= 1, got 0 (an integer)"},
    {"branch: {rate: 1.5}\n", "branch.rate: expected a number from 0 to 1, got 1.5 (a number)"},
    {"branch: {rate: .nan}\n", "branch.rate: expected a number from 0 to 1, got .nan"},
    {"epsilon: .inf\n", "epsilon: expected a number, got .inf"},
    {"epsilon: 1e999\n", "epsilon: expected a number, got 1e999"},
    {"epsilon: half\n", "epsilon: expected a number, got 'half' (text)"},
    {"branch: {bias: yes}\n", "branch.bias: expected true or false, got 'yes' (text)"},
    {"branch: {bias: 1}\n", "branch.bias: expected true or false, got 1 (an integer)"},
    {"branch: {bias: \"true\"}\n", "branch.bias: expected true or false, got 'true' (text)"},
    {"branch: {fruit: peer}\n",
     "branch.fruit: expected one of apple, pear, none, got 'peer' (text); did you mean 'pear'?"},
    {"name: 2024\n", "name: expected text, got 2024 (an integer); quote it: \"2024\""},
    {"name:\n", "name: expected text, got nothing (null); the empty text is \"\""},
    {"branch: 3\n", "job.yaml:1:9: branch: expected a section (keys with values), got 3 (an integer)"},
    {"branch:\n", "branch: expected a section (keys with values), got nothing"},
    {"name: {a: 1}\n", "name: expected text, got a section (a)"},
    {"words: a\n", "words: expected a list, each text, got 'a' (text)"},
    {"rates: [1, 3]\n", "job.yaml:1:12: rates.1: expected a number from 0 to 2, got 3 (an integer)"},
    {"leaves: [{copies: 10}]\n", "leaves.0.copies: expected an integer from 1 to 9, got 10"},
    {"- a\n", "the configuration: expected a section"},
    {"name: [a\n", "job.yaml:2:1: not valid YAML"},
    {"name: \"a\n", "not valid YAML"},
    {"name: a\n---\nname: b\n", "a second document"},
    {"seed: !!int 3\n", "job.yaml:1:7: the tag 'tag:yaml.org,2002:int' has no meaning here"},
    {"[a, b]: 3\n", "a key must be one word"},
    {"branch: &x {width: *x}\n", "an alias (*) inside the value"},
    {"name: *nobody\n", "not valid YAML"},
    {"<<: {name: a}\n", "<<: unknown key"},
    {"name: \xff\xfe\n", "job.yaml: byte 6 is not UTF-8 text"},
    {R"(name: "a\Nb")", R"(job.yaml:1:7: an escape that cannot be read: \0 is no text; for \N and \_ write \u0085)"},
    {R"(name: "a\0b")", "job.yaml:1:7: an escape that cannot be read"}};

// A message names the place, the key, what was expected, what was found, and the nearest key.
TEST(Config, MistakesAreNamedWithTheirPlace) {
  for (const Mistake& mistake : kMistakes) {
    const std::string found = problems_of(mistake.yaml);
    EXPECT_NE(found.find(mistake.message), std::string::npos)
        << "found: " << found << "\nexpected: " << mistake.message;
  }
}

TEST(Config, AllProblemsAreListedInTheOrderOfTheFile) {
  const std::string found = problems_of("branch:\n  fruit: plum\n  widht: 3\nseed: x\nname: 1\n");
  EXPECT_EQ(found,
            "job.yaml:2:10: branch.fruit: expected one of apple, pear, none, got 'plum' (text)\n"
            "job.yaml:3:3: branch.widht: unknown key; did you mean 'width'? (known: width, rate, bias, fruit)\n"
            "job.yaml:4:7: seed: expected an integer, got 'x' (text)\n"
            "job.yaml:5:7: name: expected text, got 1 (an integer); quote it: \"1\"");
}

TEST(Config, ManyProblemsAreCutShort) {
  std::string yaml;
  for (int i = 0; i < 80; ++i) yaml += "unknown" + std::to_string(i) + ": 1\n";
  const std::string found = problems_of(yaml);
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 50);
  EXPECT_NE(found.find("and 30 more"), std::string::npos);
}

TEST(Config, AnchorsAndAliasesCopyValues) {
  const Tree tree = parse_config<Tree>("leaves: [&a {path: x, copies: 2}, *a]", "job.yaml");
  ASSERT_EQ(tree.leaves.size(), 2u);
  EXPECT_EQ(tree.leaves[1].path, "x");
  EXPECT_EQ(tree.leaves[1].copies, 2);
}

TEST(Config, AliasBombsAndDeepNestingEndQuickly) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 20; ++i) {
    bomb += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  }
  EXPECT_NE(problems_of(bomb).find("more than 20000 values"), std::string::npos);
  EXPECT_NE(problems_of(std::string(100000, '[')).find("nested deeper than 64 levels"), std::string::npos);
  std::string deep;
  for (int i = 0; i < 400; ++i) deep += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  EXPECT_NE(problems_of(deep).find("nested deeper than 64 levels"), std::string::npos);
  EXPECT_NE(problems_of(std::string(100000, '{')), "no problem");
  EXPECT_NE(problems_of(std::string(2 << 20, '#')).find("more than the 1048576"), std::string::npos);
}

TEST(Config, WholeRangesOfIntegersAreExact) {
  const Tree low = parse_config<Tree>("seed: -9223372036854775808", "job.yaml");
  EXPECT_EQ(low.seed, std::numeric_limits<int64_t>::min());
  const Tree high = parse_config<Tree>("seed: 9223372036854775807", "job.yaml");
  EXPECT_EQ(high.seed, std::numeric_limits<int64_t>::max());
}

TEST(Config, NearestNameNeedsANearOne) {
  EXPECT_EQ(nearest_name("widht", {"width", "heads"}), "width");
  EXPECT_EQ(nearest_name("warm_up", {"warmup", "peak"}), "warmup");
  EXPECT_EQ(nearest_name("qqq", {"width", "heads"}), "");
  EXPECT_EQ(nearest_name("", {"width"}), "");
}

}  // namespace
}  // namespace weft
