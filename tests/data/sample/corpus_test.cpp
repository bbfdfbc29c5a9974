// SPDX-License-Identifier: Apache-2.0
#include "data/sample/corpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/hash.h"
#include "data/sample/frames.h"
#include "data/sample/numbers.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

const SampleCorpus& corpus() {
  static const SampleCorpus made = make_sample_corpus(1);
  return made;
}

std::vector<const SamplePair*> held_out() {
  std::vector<const SamplePair*> pairs;
  for (const auto* part : {&corpus().valid, &corpus().test}) {
    for (const SamplePair& pair : *part) pairs.push_back(&pair);
  }
  return pairs;
}

TEST(SampleCorpus, HasTheSizesAskedFor) {
  EXPECT_GE(corpus().train.size(), 30'000u);
  EXPECT_EQ(corpus().valid.size(), 500u);
  EXPECT_EQ(corpus().test.size(), 1'000u);
  const SampleCorpus small = make_sample_corpus(5, {.train_pairs = 20'000, .valid_pairs = 7, .test_pairs = 9});
  EXPECT_EQ(small.train.size(), 20'000u);
  EXPECT_EQ(small.valid.size(), 7u);
  EXPECT_EQ(small.test.size(), 9u);
}

TEST(SampleCorpus, EverySentenceOnceWithOneTranslation) {
  std::map<std::string, std::string> translations;
  for (const auto* part : {&corpus().train, &corpus().valid, &corpus().test}) {
    for (const SamplePair& pair : *part) {
      EXPECT_TRUE(translations.emplace(pair.english, pair.norwegian).second) << pair.english;
    }
  }
}

TEST(SampleCorpus, SentencesAreShort) {
  for (const auto* part : {&corpus().train, &corpus().valid, &corpus().test}) {
    for (const SamplePair& pair : *part) {
      for (const std::string& text : {pair.english, pair.norwegian}) {
        const size_t words = sample_words(text).size();
        ASSERT_TRUE(words >= 3 && words <= 14) << text;
      }
    }
  }
}

TEST(SampleCorpus, HeldOutCombinationsAreUnseen) {
  std::set<std::string> trained;
  for (const SamplePair& pair : corpus().train) trained.insert(pair.combinations.begin(), pair.combinations.end());
  for (const std::string& combination : trained) ASSERT_FALSE(sample::is_withheld(combination)) << combination;
  for (const SamplePair* pair : held_out()) {
    ASSERT_TRUE(std::any_of(pair->combinations.begin(), pair->combinations.end(), [&](const std::string& combination) {
      return !trained.contains(combination);
    })) << pair->english;
  }
}

TEST(SampleCorpus, NoWithheldAdjectiveStandsBeforeItsNounInTraining) {
  std::map<std::string, std::string> singular;
  for (const sample::Noun& noun : sample::lexicon().nouns) {
    singular[noun.english] = noun.english;
    singular[noun.english_plural] = noun.english;
  }
  std::set<std::string> adjectives;
  for (const sample::Adjective& adjective : sample::lexicon().adjectives) adjectives.insert(adjective.english);
  int64_t found = 0;
  for (const SamplePair& pair : corpus().train) {
    const std::vector<std::string> words = sample_words(pair.english);
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      if (!adjectives.contains(words[i]) || !singular.contains(words[i + 1])) continue;
      ++found;
      ASSERT_FALSE(sample::is_withheld(words[i] + " + " + singular[words[i + 1]])) << pair.english;
    }
  }
  EXPECT_GT(found, 10'000);
}

// Every number of 100 or more that a sentence says, found by trying the words of each.
std::set<int64_t> said_numbers(const std::vector<std::string>& sentences) {
  std::map<std::string, int64_t> words;
  for (int64_t n = 100; n <= 9'999; ++n) words[sample::english_number(n)] = n;
  std::set<int64_t> said;
  for (const std::string& sentence : sentences) {
    const std::vector<std::string> parts = sample_words(sentence);
    if (std::find(parts.begin(), parts.end(), "million") != parts.end()) continue;
    for (size_t first = 0; first < parts.size(); ++first) {
      int64_t longest = 0;  // "two hundred and one" and not "two hundred"
      std::string text;
      size_t end = first;
      for (size_t last = first; last < parts.size(); ++last) {
        text += (last > first ? " " : "") + parts[last];
        if (const auto found = words.find(text); found != words.end()) {
          longest = found->second;
          end = last;
        }
      }
      if (longest == 0) continue;
      const bool goes_on = end + 1 < parts.size() && parts[end + 1] == "thousand";
      if (!goes_on) said.insert(longest);
      first = end;
    }
  }
  return said;
}

TEST(SampleCorpus, WithheldRangesOfNumbersAreUnseen) {
  std::vector<std::string> trained, tested;
  for (const SamplePair& pair : corpus().train) trained.push_back(pair.english);
  for (const SamplePair* pair : held_out()) tested.push_back(pair->english);
  const auto withheld = [](int64_t n) { return n / 100 % 7 == 3; };
  const std::set<int64_t> in_training = said_numbers(trained), in_test = said_numbers(tested);
  EXPECT_GT(in_training.size(), 1'000u);
  // Not below 1,000: the end of "twelve thousand three hundred and two" reads as 302 here.
  for (const int64_t n : in_training) EXPECT_FALSE(n >= 1'000 && withheld(n)) << n;
  EXPECT_GT(std::count_if(in_test.begin(), in_test.end(), withheld), 20);
  EXPECT_TRUE(sample::is_withheld("number 3xx"));
  EXPECT_TRUE(sample::is_withheld(sample::number_range(1'099)));
  EXPECT_FALSE(sample::is_withheld(sample::number_range(1'100)));
  EXPECT_TRUE(sample::is_withheld(sample::number_range(17'500)));
  EXPECT_EQ(sample::number_range(99), "");
}

TEST(SampleCorpus, EveryHeldOutWordIsTrained) {
  std::map<std::string, int64_t> english, norwegian;
  for (const SamplePair& pair : corpus().train) {
    for (const std::string& word : sample_words(pair.english)) ++english[word];
    for (const std::string& word : sample_words(pair.norwegian)) ++norwegian[word];
  }
  for (const SamplePair* pair : held_out()) {
    for (const std::string& word : sample_words(pair->english))
      ASSERT_GE(english[word], SampleCorpus::kLeastUses) << word;
    for (const std::string& word : sample_words(pair->norwegian)) {
      ASSERT_GE(norwegian[word], SampleCorpus::kLeastUses) << word;
    }
  }
}

TEST(SampleCorpus, EveryFamilyAndHundredsOfFrames) {
  std::set<std::string> frames, tested;
  for (const SamplePair& pair : corpus().train) frames.insert(pair.frame);
  for (const SamplePair& pair : corpus().test) tested.insert(pair.frame);
  EXPECT_GT(frames.size(), 500u);
  EXPECT_GT(tested.size(), 200u);
  for (const char* frame : {"number", "the price", "it is", "today", "born", "how much"}) {
    EXPECT_TRUE(frames.contains(frame)) << frame;
  }
}

TEST(SampleCorpus, SameSeedSameBytes) {
  const Scratch scratch;
  const fs::path first = scratch / "first", second = scratch / "second";
  const SampleReport report = write_sample_corpus(first, 1);
  write_sample_corpus(second, 1);
  for (const char* file : {"train.tsv", "valid.tsv", "test.tsv", "text.txt", "README.txt"}) {
    EXPECT_EQ(read_file(first / file), read_file(second / file)) << file;
  }
  const fs::path third = scratch / "third";
  write_sample_corpus(third, 2);
  EXPECT_NE(read_file(first / "train.tsv"), read_file(third / "train.tsv"));
  EXPECT_EQ(report.train_pairs, 40'000);
  EXPECT_EQ(report.test_pairs, 1'000);
  EXPECT_GT(report.norwegian_running_words, 250'000);
  EXPECT_GT(report.frames, 500);
}

TEST(SampleCorpus, FilesHaveTheirForms) {
  const Scratch scratch;
  const fs::path directory = scratch / "sample";
  const SampleReport report =
      write_sample_corpus(directory, 3, {.train_pairs = 20'000, .valid_pairs = 50, .test_pairs = 60});
  const auto count_lines = [&](const char* file) {
    std::istringstream stream(read_file(directory / file));
    int64_t lines = 0;
    for (std::string line; std::getline(stream, line); ++lines) {
      EXPECT_EQ(std::count(line.begin(), line.end(), '\t'), 1) << line;
      EXPECT_EQ(line.find('\r'), std::string::npos);
    }
    return lines;
  };
  EXPECT_EQ(count_lines("train.tsv"), 20'000);
  EXPECT_EQ(count_lines("valid.tsv"), 50);
  EXPECT_EQ(count_lines("test.tsv"), 60);
  const std::string text = read_file(directory / "text.txt");
  EXPECT_TRUE(text.ends_with('\n'));
  EXPECT_EQ(text.find("\n\n\n"), std::string::npos);
  int64_t breaks = 0;
  for (size_t at = text.find("\n\n"); at != std::string::npos; at = text.find("\n\n", at + 2)) ++breaks;
  EXPECT_EQ(breaks + 1, report.documents);
  EXPECT_NE(read_file(directory / "README.txt").find("20000 pairs"), std::string::npos);
  for (const auto& entry : fs::directory_iterator(directory)) EXPECT_NE(entry.path().extension(), ".tmp");
}

TEST(SampleCorpus, RefusesWhatItCannotMake) {
  EXPECT_THROW(make_sample_corpus(1, {.train_pairs = 0}), ConfigError);
  EXPECT_THROW(make_sample_corpus(1, {.train_pairs = 30, .valid_pairs = 10, .test_pairs = 10}), ConfigError);
  const Scratch scratch;
  const fs::path file = scratch.write("file", "x");
  EXPECT_THROW(write_sample_corpus(file / "inside", 1, {.train_pairs = 20'000, .valid_pairs = 5, .test_pairs = 5}),
               DataError);
}

TEST(SampleCorpus, WordsLoseTheirMarks) {
  EXPECT_EQ(sample_words("If it rains, he is sick."),
            (std::vector<std::string>{"If", "it", "rains", "he", "is", "sick"}));
  EXPECT_TRUE(sample_words("").empty());
}

}  // namespace
}  // namespace weft
