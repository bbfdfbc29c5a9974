// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "base/hash.h"
#include "generate/search/search.h"
#include "kernels/transfer.h"

namespace weft::test {

// A language whose next-token logits are a hash of everything before, different for every sentence. `steps` > 0 makes
// the logits multiples of 1 / steps, so that ties abound. `end_bias` is added to the end token's logit.
struct ToyLanguage {
  int64_t vocabulary = 5;
  int64_t max_length = 40;
  uint64_t seed = 1;
  double spread = 3;
  int steps = 0;
  int32_t end = 0;
  double end_bias = 0;
  std::map<int32_t, float> forced;  // logits of tokens that do not depend on the text

  std::vector<float> logits(int64_t sentence, const std::vector<int32_t>& history) const {
    std::vector<float> row(vocabulary);
    const uint64_t key = hash64({reinterpret_cast<const char*>(history.data()), history.size() * sizeof(int32_t)},
                                seed * 1000003 + static_cast<uint64_t>(sentence));
    for (int64_t v = 0; v < vocabulary; ++v) {
      const uint64_t bits = hash64({reinterpret_cast<const char*>(&v), sizeof v}, key);
      double x = static_cast<double>(bits >> 11) * 0x1p-53 * spread + (v == end ? end_bias : 0);
      if (steps > 0) x = std::floor(x * steps) / steps;
      row[v] = static_cast<float>(x);
    }
    for (const auto& [token, logit] : forced) row[token] = logit;
    return row;
  }
};

class ToyModel : public NextTokenModel {
 public:
  ToyModel(const ToyLanguage& language, std::span<const int64_t> sentences, int64_t max_rows = 1 << 30)
      : language_(language), max_rows_(max_rows), waiting_(sentences.begin(), sentences.end()) {}
  int64_t vocabulary() const override { return language_.vocabulary; }
  int64_t max_length() const override { return language_.max_length; }
  int64_t num_rows() const override { return static_cast<int64_t>(rows_.size()); }
  int64_t calls() const { return calls_; }

  void admit(int64_t count) override {
    for (int64_t i = 0; i < count; ++i) rows_.push_back({waiting_.at(begun_++), {}});
    EXPECT_LE(static_cast<int64_t>(rows_.size()), max_rows_);
  }

  void advance(std::span<const int32_t> tokens, std::span<const int32_t> offsets) override {
    ++calls_;
    EXPECT_EQ(offsets.size(), rows_.size() + 1);
    EXPECT_EQ(offsets.front(), 0);
    EXPECT_EQ(static_cast<size_t>(offsets.back()), tokens.size());
    logits_.clear();
    for (size_t r = 0; r < rows_.size(); ++r) {
      auto& [sentence, history] = rows_[r];
      EXPECT_LT(offsets[r], offsets[r + 1]);
      history.insert(history.end(), tokens.begin() + offsets[r], tokens.begin() + offsets[r + 1]);
      EXPECT_LE(static_cast<int64_t>(history.size()), language_.max_length);
      const std::vector<float> row = language_.logits(sentence, history);
      logits_.insert(logits_.end(), row.begin(), row.end());
    }
  }
  std::vector<TokenAnswer> choose(std::span<const TokenQuestion> questions, const TokenChoice& choice) override {
    const Tensor logits = to_device(context_, std::span<const float>(logits_)).view({num_rows(), vocabulary()});
    return ask(context_, logits, questions, choice);
  }

  void reorder(std::span<const int32_t> parents) override {
    EXPECT_LE(static_cast<int64_t>(parents.size()), max_rows_);
    std::vector<Row> next;
    for (const int32_t parent : parents) next.push_back(rows_.at(parent));
    rows_ = std::move(next);
  }
  void clear(int32_t row) override { rows_.at(static_cast<size_t>(row)).history.clear(); }

 private:
  struct Row {
    int64_t sentence;
    std::vector<int32_t> history;
  };
  const ToyLanguage& language_;
  int64_t max_rows_;
  std::vector<int64_t> waiting_;
  size_t begun_ = 0;
  std::vector<Row> rows_;
  std::vector<float> logits_;
  Context context_;
  int64_t calls_ = 0;
};

inline ModelFactory toy_factory(const ToyLanguage& language) {
  return [&language](const DecodingBatch& batch) {
    return std::make_unique<ToyModel>(language, batch.sentences, batch.max_rows);
  };
}

inline double log_softmax(const std::vector<float>& logits, int32_t token) {
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x));
  return static_cast<double>(logits[token]) - std::log(sum);
}

// Inputs with ids and prompts [start], source lengths cycling through 1..longest.
inline std::vector<SearchInput> toy_inputs(int64_t count, int64_t longest, int32_t start) {
  std::vector<SearchInput> inputs;
  for (int64_t i = 0; i < count; ++i) {
    inputs.push_back({.id = i, .prompt = {start}, .source_length = 1 + (i * 7 + 3) % longest});
  }
  return inputs;
}

inline void expect_same(const NBest& a, const NBest& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].tokens, b[i].tokens);
    EXPECT_EQ(a[i].log_probability, b[i].log_probability);
    EXPECT_EQ(a[i].score, b[i].score);
    EXPECT_EQ(a[i].ending, b[i].ending);
  }
}

}  // namespace weft::test
