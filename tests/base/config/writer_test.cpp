// SPDX-License-Identifier: Apache-2.0
#include "base/config/writer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/base/config/fixture.h"

namespace weft {
namespace {

using namespace test;

Tree full_tree() {
  Tree tree;
  tree.name = "two: words #\"quoted\"\n\ttab\x01 \\ æøå";
  tree.seed = std::numeric_limits<int64_t>::min();
  tree.epsilon = 0.1 + 0.2;
  tree.branch.width = 1;
  tree.branch.rate = 1e-300;
  tree.branch.bias = false;
  tree.branch.fruit = Fruit::None;
  tree.limit = 3;
  tree.best = {.path = "", .copies = 2};
  tree.words = {"", "null", "3", "1e5", "true", "yes", "-", "a b", "{", "~", "plain", "0x1", "a: b", "no"};
  tree.rates = {0, 1, 0.1};
  tree.flags = {true, false};
  tree.fruits = {Fruit::Pear};
  tree.leaves = {{.path = "x"}, {.path = "- y", .copies = 9}};
  return tree;
}

// An enum's value that has no name could not be read back.
TEST(ConfigWriter, AValueWithoutANameIsAnError) {
  Tree tree;
  tree.branch.fruit = Fruit{7};
  EXPECT_THROW(to_yaml(tree), InternalError);
}

TEST(ConfigWriter, YamlAndJsonReadBackTheSame) {
  for (const Tree& tree : {Tree{}, full_tree()}) {
    const std::string yaml = to_yaml(tree);
    const Tree from_yaml = parse_config<Tree>(yaml, "resolved.yaml");
    EXPECT_EQ(to_yaml(from_yaml), yaml);
    EXPECT_EQ(from_yaml.name, tree.name);
    EXPECT_EQ(from_yaml.words, tree.words);
    EXPECT_EQ(from_yaml.epsilon, tree.epsilon);
    EXPECT_EQ(from_yaml.branch.rate, tree.branch.rate);
    EXPECT_EQ(from_yaml.seed, tree.seed);
    const std::string json = to_json(tree).dump(2);
    EXPECT_EQ(to_yaml(parse_config<Tree>(json, "resolved.json")), yaml);
  }
}

TEST(ConfigWriter, YamlIsReadable) {
  Tree tree;
  tree.leaves = {{.path = "data/x.txt"}};
  EXPECT_EQ(to_yaml(tree),
            "name: tree\n"
            "seed: 1\n"
            "epsilon: 1e-09\n"
            "branch:\n"
            "  width: 128\n"
            "  rate: 0.1\n"
            "  bias: true\n"
            "  fruit: apple\n"
            "limit: null\n"
            "best: null\n"
            "words: [\"a b\", \"no\"]\n"
            "rates: []\n"
            "flags: []\n"
            "fruits: []\n"
            "leaves:\n"
            "  - {path: data/x.txt, copies: 1}\n");
}

TEST(ConfigWriter, JsonHasTheTypesOfTheFields) {
  const nlohmann::ordered_json json = to_json(Tree{});
  EXPECT_TRUE(json["seed"].is_number_integer());
  EXPECT_TRUE(json["epsilon"].is_number_float());
  EXPECT_TRUE(json["branch"]["bias"].is_boolean());
  EXPECT_EQ(json["branch"]["fruit"], "apple");
  EXPECT_TRUE(json["limit"].is_null());
  EXPECT_TRUE(json["words"].is_array());
}

TEST(ConfigWriter, ChangesAreListedOldToNew) {
  Tree before;
  Tree after;
  EXPECT_TRUE(config_changes(before, after).empty());
  after.branch.rate = 0.2;
  after.words = {"a"};
  after.best = {.path = "p"};
  const auto changes = config_changes(before, after);
  ASSERT_EQ(changes.size(), 5u);
  EXPECT_EQ(changes[0].key, "branch.rate");
  EXPECT_EQ(changes[0].before, "0.1");
  EXPECT_EQ(changes[0].after, "0.2");
  EXPECT_EQ(changes[1].key, "best");
  EXPECT_EQ(changes[1].after, "(absent)");
  EXPECT_EQ(changes[2].before, "[\"a b\", \"no\"]");
  EXPECT_EQ(changes[3].key, "best.path");
  EXPECT_EQ(changes[3].after, "p");
}

TEST(ConfigWriter, DocsTableHasEveryField) {
  const std::string table = docs_table(config_docs<Tree>());
  EXPECT_NE(table.find("| `seed` | `1` | an integer | Seed. |"), std::string::npos) << table;
  EXPECT_NE(table.find("| **`branch`** |  | a section | A section. |"), std::string::npos) << table;
  EXPECT_NE(table.find("| `branch.rate` | `0.1` | a number from 0 to 1 | A probability. |"), std::string::npos);
  EXPECT_NE(table.find("| `branch.bias` | `true` | true or false | Biases \\| none. |"), std::string::npos);
  EXPECT_NE(table.find("| `branch.fruit` | `apple` | one of apple, pear, none | Which fruit. |"), std::string::npos);
  EXPECT_NE(table.find("| `limit` | `null` | an integer >= 0, or null | At most. |"), std::string::npos);
  EXPECT_NE(table.find("| `leaves[].copies` | `1` | an integer from 1 to 9 | How often it is read. |"),
            std::string::npos);
}

}  // namespace
}  // namespace weft
