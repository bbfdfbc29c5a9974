// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <sstream>

#include "base/error.h"
#include "data/tokenizer/bpe/learn.h"
#include "data/tokenizer/bpe/merge.h"
#include "data/tokenizer/tokenizer.h"
#include "tests/support/shared_data.h"

namespace weft {
namespace {

using namespace test;

std::vector<CountedPretoken> count_pretokens(std::string_view text, const std::string& pattern, int threads = 1) {
  PretokenCounter counter(Pretokenizer(pattern), threads);
  counter.add(text);
  return counter.finish();
}

// The definition, word by word: recount everything after each merge, in the order of the text.
std::vector<BpeMerge> learn_by_recounting(const std::vector<std::string>& pretokens, size_t max_merges, int64_t least) {
  std::vector<std::vector<int32_t>> text;
  for (const std::string& pretoken : pretokens) {
    std::vector<int32_t> symbols;
    for (char c : pretoken) symbols.push_back(static_cast<unsigned char>(c));
    text.push_back(symbols);
  }
  std::vector<BpeMerge> merges;
  while (merges.size() < max_merges) {
    std::map<std::pair<int32_t, int32_t>, std::pair<int64_t, int64_t>> counts;  // count, minus the first place
    int64_t place = 0;
    for (const auto& pretoken : text) {
      for (size_t i = 0; i + 1 < pretoken.size(); ++i) {
        const auto entry = counts.try_emplace({pretoken[i], pretoken[i + 1]}, 0, -place++).first;
        ++entry->second.first;
      }
    }
    const auto best = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == counts.end() || best->second.first < least) break;
    const auto [left, right] = best->first;
    const auto id = static_cast<int32_t>(256 + merges.size());
    merges.push_back({left, right, id});
    for (auto& pretoken : text) {
      std::vector<int32_t> joined;
      for (size_t i = 0; i < pretoken.size(); ++i) {
        const bool match = i + 1 < pretoken.size() && pretoken[i] == left && pretoken[i + 1] == right;
        joined.push_back(match ? id : pretoken[i]);
        i += match;
      }
      pretoken = joined;
    }
  }
  return merges;
}

std::string show(const std::vector<BpeMerge>& merges) {
  std::ostringstream out;
  for (const BpeMerge& m : merges) out << "(" << m.left << " " << m.right << " " << m.id << ")";
  return out.str();
}

// Worked by hand. The pretokens are "low", " low", " lower", " lot". (l o) occurs 4 times, (o w) only 3 times. Then
// (lo w) and (space lo) occur 3 times each, and (lo w) is seen first. Then (space low) occurs twice, (space lo) once.
TEST(BpeLearn, FollowsTheWorkedExample) {
  const auto pretokens = count_pretokens("low low lower lot", "gpt2");
  ASSERT_EQ(pretokens.size(), 4u);
  const auto merges = learn_merges({.pretokens = pretokens, .max_merges = 3});
  EXPECT_EQ(show(merges), show({{'l', 'o', 256}, {256, 'w', 257}, {' ', 257, 258}}));
}

TEST(BpeLearn, GivesTiesToThePairSeenFirst) {
  const auto pretokens =
      count_pretokens("zy ba zy ba", "gpt2");  // " zy" occurs once, "zy" once: (z y) and (b a) twice each
  const auto merges = learn_merges({.pretokens = pretokens, .max_merges = 2});
  EXPECT_EQ(show(merges), show({{'z', 'y', 256}, {' ', 'b', 257}}));
}

TEST(BpeLearn, NeverCrossesPretokens) {
  const auto pretokens = count_pretokens("ab12ab12ab12", "gpt2");  // (b 1) and (2 a) occur often, but in no pretoken
  const auto merges = learn_merges({.pretokens = pretokens, .max_merges = 10});
  EXPECT_EQ(show(merges), show({{'a', 'b', 256}, {'1', '2', 257}}));
}

TEST(BpeLearn, StopsAtTheLeastFrequency) {
  const auto pretokens = count_pretokens("aab aab", "none");
  EXPECT_EQ(learn_merges({.pretokens = pretokens, .max_merges = 10, .min_frequency = 3}).size(), 0u);
  EXPECT_EQ(learn_merges({.pretokens = pretokens, .max_merges = 10, .min_frequency = 2}).size(), 2u);
  EXPECT_EQ(learn_merges({.pretokens = {}, .max_merges = 10}).size(), 0u);
}

TEST(BpeLearn, GivesIdsFromTheOneAskedFor) {
  const auto pretokens = count_pretokens("aaaa", "none");
  EXPECT_EQ(show(learn_merges({.pretokens = pretokens, .max_merges = 9, .first_id = 300})),
            show({{'a', 'a', 300}, {300, 300, 301}}));
}

TEST(BpeLearn, EqualsRecountingOnRandomTexts) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const int letters = 1 + static_cast<int>(random() % 4);
    std::string text;
    const size_t size = 1 + random() % 200;
    while (text.size() < size) text += random() % 6 == 0 ? ' ' : static_cast<char>('a' + random() % letters);
    const char* pattern = round % 2 == 0 ? "gpt4" : "none";
    std::vector<std::string> all;
    Pretokenizer(pattern).for_each(text, [&](std::string_view pretoken) { all.emplace_back(pretoken); });
    const int64_t least = 1 + round % 3;
    const auto expected = learn_by_recounting(all, 60, least);
    const auto pretokens = count_pretokens(text, pattern);
    const auto merges = learn_merges({.pretokens = pretokens, .max_merges = 60, .min_frequency = least});
    ASSERT_EQ(show(merges), show(expected)) << "\"" << text << "\" " << pattern;
  }
}

TEST(PretokenCounter, CountsDoNotDependOnThreads) {
  std::mt19937 random(8);
  std::vector<std::string> documents;
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (size_t n = random() % 300; n > 0; --n) text += random() % 5 == 0 ? ' ' : static_cast<char>('a' + random() % 3);
    documents.push_back(text);
  }
  std::string large;
  while (large.size() < (size_t{3} << 20)) large += documents[random() % documents.size()] + " ";
  documents.insert(documents.begin() + 5, large);  // cut into several pieces
  const auto count = [&](int threads) {
    PretokenCounter counter(Pretokenizer("gpt4"), threads);
    for (const std::string& document : documents) counter.add(document);
    return counter.finish();
  };
  const auto one = count(1);
  ASSERT_GT(one.size(), 1000u);
  for (int threads : {2, 3, 8}) {
    const auto many = count(threads);
    ASSERT_EQ(many.size(), one.size());
    for (size_t i = 0; i < one.size(); ++i) {
      ASSERT_EQ(many[i].text, one[i].text) << i;
      ASSERT_EQ(many[i].count, one[i].count) << i;
    }
  }
}

TEST(PretokenCounter, ForgetsTheRarerHalfOfTooManyWhateverTheThreads) {
  std::string text;
  for (int i = 0; i < 500; ++i) {
    for (int n = 0; n <= i; ++n)
      text += fmt::format(" {}x", static_cast<char>('a' + i % 26)) + std::string(i / 26, 'y');
  }
  const auto count = [&](int threads, size_t most) {
    PretokenCounter counter(Pretokenizer("gpt4"), threads, most);
    counter.add(text);
    std::vector<std::pair<std::string, int64_t>> counts;
    for (const CountedPretoken& p : counter.finish()) counts.emplace_back(p.text, p.count);
    return counts;
  };
  const auto all = count(1, 0);
  ASSERT_EQ(all.size(), 500u);
  EXPECT_EQ(count(2, 500), all);
  const std::vector<std::pair<std::string, int64_t>> frequent(all.end() - 200, all.end());  // the most frequent
  for (const int threads : {1, 3}) EXPECT_EQ(count(threads, 400), frequent) << threads;
}

TEST(PretokenCounter, KeepsDocumentsApart) {
  PretokenCounter counter(Pretokenizer("gpt4"), 2);
  counter.add("ab");
  counter.add("");
  counter.add("ab");
  EXPECT_EQ(counter.bytes(), 4u);
  const auto pretokens = counter.finish();
  ASSERT_EQ(pretokens.size(), 1u);
  EXPECT_EQ(pretokens[0].text, "ab");
  EXPECT_EQ(pretokens[0].count, 2);
}

TEST(PretokenCounter, PassesOnWhatAThreadThrows) {
  PretokenCounter counter(Pretokenizer("(a|aa)+[bc]"), 2);  // exponentially many ways, none of which ends
  counter.add(std::string(5000, 'a'));
  counter.add(std::string(5000, 'a'));
  EXPECT_THROW(counter.finish(), DataError);
}

TEST(BpeLearn, ReproducesTheQuixoteModel) {
  if (!has_shared_data("text/quixote.model")) GTEST_SKIP() << needs("text/quixote.model");
  std::istringstream golden(read_file(shared_data("text/quixote.model")));
  std::string pattern, name;
  std::getline(golden, pattern);
  int specials = 0;
  golden >> specials;
  std::vector<std::string> names;
  for (int i = 0, id = 0; i < specials; ++i) {
    golden >> name >> id;
    EXPECT_EQ(id, 256 + i);
    names.push_back(name);
  }
  std::vector<BpeMerge> expected;
  for (int left, right; golden >> left >> right;) {
    expected.push_back({left, right, static_cast<int32_t>(259 + expected.size())});
  }
  ASSERT_EQ(expected.size(), 24281u);
  const std::string text = read_file(shared_data("text/quixote_oneline.txt"));
  const auto pretokens = count_pretokens(text, pattern, 2);
  const auto merges =
      learn_merges({.pretokens = pretokens, .max_merges = static_cast<int64_t>(expected.size()), .first_id = 259});
  ASSERT_EQ(merges.size(), expected.size());
  for (size_t i = 0; i < merges.size(); ++i) ASSERT_EQ(merges[i], expected[i]) << "merge " << i;
}

// A text that nothing cuts (pattern none) may have more positions than 32 bits can count.
TEST(BpeMerge, PretokensBeyond32BitsAreRefused) {
  EXPECT_EQ(positions_of(UINT32_MAX - 1), UINT32_MAX - 1);
  EXPECT_THROW(positions_of(UINT32_MAX), DataError);
  EXPECT_THROW(positions_of((size_t{1} << 32) + 7), DataError);
}

}  // namespace
}  // namespace weft
