// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/config/fields.h"

// A struct with every type that a configuration may use.
namespace weft::test {

enum class Fruit { Apple, Pear, None };

struct Leaf {
  std::string path;
  int64_t copies = 1;
  template <class Visitor>
  void fields(Visitor& v) {
    v.field("path", path, "Where it lies.");
    v.field("copies", copies, "How often it is read.", weft::Range{.min = 1, .max = 9});
  }
};

struct Branch {
  int64_t width = 128;
  double rate = 0.1;
  bool bias = true;
  Fruit fruit = Fruit::Apple;
  template <class Visitor>
  void fields(Visitor& v) {
    v.field("width", width, "Features.", weft::Range{.min = 1});
    v.field("rate", rate, "A probability.", weft::Range{.min = 0, .max = 1});
    v.field("bias", bias, "Biases | none.");
    v.field("fruit", fruit, "Which fruit.");
  }
};

struct Tree {
  std::string name = "tree";
  int64_t seed = 1;
  double epsilon = 1e-9;
  Branch branch;
  std::optional<int64_t> limit;
  std::optional<Leaf> best;
  std::vector<std::string> words = {"a b", "no"};
  std::vector<double> rates;
  std::vector<bool> flags;
  std::vector<Fruit> fruits;
  std::vector<Leaf> leaves;
  template <class Visitor>
  void fields(Visitor& v) {
    v.field("name", name, "What it is called.");
    v.field("seed", seed, "Seed.");
    v.field("epsilon", epsilon, "Small.");
    v.field("branch", branch, "A section.");
    v.field("limit", limit, "At most.", weft::Range{.min = 0});
    v.field("best", best, "The best leaf.");
    v.field("words", words, "Words.");
    v.field("rates", rates, "Rates.", weft::Range{.min = 0, .max = 2});
    v.field("flags", flags, "Flags.");
    v.field("fruits", fruits, "Fruits.");
    v.field("leaves", leaves, "Leaves.");
  }
};

}  // namespace weft::test

template <>
struct weft::EnumNames<weft::test::Fruit> {
  static constexpr auto kNames = enum_names<weft::test::Fruit>("apple", "pear", "none");
};
