// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "base/config/writer.h"
#include "base/error.h"
#include "tests/base/config/fixture.h"

// Whatever bytes a configuration holds, reading it ends in a value or in a ConfigError.
namespace weft {
namespace {

using namespace test;

const char* const kSeedText = R"(# a comment
name: "oak"
seed: 3
epsilon: 1e-3
branch: &b
  width: 256
  rate: .5
  bias: true
  fruit: pear
limit: ~
best: {path: here, copies: 2}
words: [no, "3", 'yes', plain text]
rates:
  - 0.5
  - 1
leaves:
  - path: a
  - path: |
      block
    copies: 2
)";

std::string mutate(std::string text, std::mt19937& random) {
  static constexpr std::string_view kPieces[] = {":",  "- ",   "[",      "]",    "{",    "}",   "&a ", "*a",  "|",
                                                 ">",  "\"",   "'",      "\n",   "\t",   "#",   "%",   "---", "...",
                                                 "? ", "!!x ", "<<: *b", "\\u0", "\xc3", "\0x", "~",   ",",   "1e9"};
  const auto below = [&](size_t n) { return n == 0 ? 0 : random() % n; };
  for (size_t edits = 1 + below(6); edits > 0; --edits) {
    const size_t at = below(text.size());
    switch (below(5)) {
      case 0:
        text.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      case 1:
        text.erase(at, 1 + below(8));
        break;
      case 2:
        text[at] = static_cast<char>(below(256));
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), below(40)));
        break;
      default:
        text.resize(at);
    }
    if (text.empty()) text.push_back('a');
  }
  return text;
}

void read_anything(const std::string& text) {
  try {
    const Tree tree = parse_config<Tree>(text, "fuzz.yaml");
    const std::string yaml = to_yaml(tree);
    EXPECT_EQ(to_yaml(parse_config<Tree>(yaml, "again.yaml")), yaml) << text;
  } catch (const ConfigError&) {
  }
}

TEST(ConfigFuzz, MutatedYamlIsReadOrRefused) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) read_anything(mutate(kSeedText, random));
}

TEST(ConfigFuzz, RandomBytesAreReadOrRefused) {
  std::mt19937 random(8);
  for (int i = 0; i < 5000; ++i) {
    std::string text(random() % 64, '\0');
    for (char& c : text)
      c = static_cast<char>(random() % 3 == 0 ? random() : " \n:-[]{}\"'&*!|>%@`#,?a1"[random() % 24]);
    read_anything(text);
  }
}

TEST(ConfigFuzz, MutatedOverridesAreReadOrRefused) {
  std::mt19937 random(9);
  for (int i = 0; i < 5000; ++i) {
    try {
      parse_config<Tree>(kSeedText, "fuzz.yaml", {mutate("branch.width=12", random)});
    } catch (const ConfigError&) {
    }
  }
}

}  // namespace
}  // namespace weft
