// SPDX-License-Identifier: Apache-2.0
#include "data/sample/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "data/sample/baselines.h"
#include "data/sample/frames.h"

namespace weft {
namespace {

constexpr size_t kShortest = 3, kLongest = 14;  // words of a sentence, in each language
constexpr int64_t kSentencesPerDocument = 5;
constexpr int64_t kMostDraws = 40;  // for each pair wanted; more means that the grammar is exhausted

struct Counts {
  std::unordered_map<std::string, int64_t> english, norwegian;
};

Counts count_words(const std::vector<SamplePair>& pairs) {
  Counts counts;
  for (const SamplePair& pair : pairs) {
    for (const std::string& word : sample_words(pair.english)) ++counts.english[word];
    for (const std::string& word : sample_words(pair.norwegian)) ++counts.norwegian[word];
  }
  return counts;
}

bool all_known(const std::unordered_map<std::string, int64_t>& counts, const std::string& text) {
  const std::vector<std::string> words = sample_words(text);
  return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
    const auto found = counts.find(word);
    return found != counts.end() && found->second >= SampleCorpus::kLeastUses;
  });
}

bool fits(const std::string& text) {
  const size_t words = sample_words(text).size();
  return words >= kShortest && words <= kLongest;
}

// Draws different sentences, and watches that none has two translations.
class Source {
 public:
  explicit Source(uint64_t seed) : draw_(seed) {}

  // The next sentence that is new, of a fitting length, and withheld or not as asked.
  SamplePair next(bool withheld) {
    for (int64_t draws = 0; draws < 10'000; ++draws) {
      const sample::Phrase phrase = sample::draw_sentence(draw_);
      if (!fits(phrase.english) || !fits(phrase.norwegian)) continue;
      const auto& combinations = draw_.combinations();
      if (std::any_of(combinations.begin(), combinations.end(), sample::is_withheld) != withheld) continue;
      const auto [known, fresh] = translations_.emplace(phrase.english, phrase.norwegian);
      require<InternalError>(known->second == phrase.norwegian, "the sample grammar translates \"{}\" in two ways",
                             phrase.english);
      if (fresh) return {phrase.english, phrase.norwegian, draw_.frame(), combinations};
    }
    throw ConfigError("the sample grammar has no more sentences", "ask for fewer pairs");
  }
  sample::Draw& draw() { return draw_; }

 private:
  sample::Draw draw_;
  std::unordered_map<std::string, std::string> translations_;
};

std::vector<SamplePair> held_out(Source& source, const Counts& known, int64_t wanted, int64_t train_pairs) {
  std::vector<SamplePair> pairs;
  for (int64_t draws = 0; static_cast<int64_t>(pairs.size()) < wanted; ++draws) {
    require<ConfigError>(draws < kMostDraws * (wanted + 100),
                         "only {} of {} held-out pairs use words that {} training pairs know well: ask for more "
                         "training pairs",
                         pairs.size(), wanted, train_pairs);
    SamplePair pair = source.next(true);
    if (all_known(known.english, pair.english) && all_known(known.norwegian, pair.norwegian)) {
      pairs.push_back(std::move(pair));
    }
  }
  return pairs;
}

// Sentences of one language about one matter (frame) together, the documents themselves shuffled.
std::vector<std::string> make_documents(const std::vector<SamplePair>& pairs, sample::Draw& draw) {
  std::vector<const SamplePair*> sorted;
  for (const SamplePair& pair : pairs) sorted.push_back(&pair);
  std::stable_sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->frame < b->frame; });
  std::vector<std::string> documents;
  for (size_t first = 0; first < sorted.size(); first += kSentencesPerDocument) {
    const size_t last = std::min(sorted.size(), first + kSentencesPerDocument);
    const bool norwegian = documents.size() % 2 == 0;
    std::string& document = documents.emplace_back();
    for (size_t i = first; i < last; ++i) document += (norwegian ? sorted[i]->norwegian : sorted[i]->english) + '\n';
  }
  for (int64_t i = std::ssize(documents); i > 1; --i) std::swap(documents[i - 1], documents[draw.below(i)]);
  return documents;
}

void write_pairs(const fs::path& path, const std::vector<SamplePair>& pairs) {
  std::string text;
  for (const SamplePair& pair : pairs) text += fmt::format("{}\t{}\n", pair.english, pair.norwegian);
  write_file_atomically(path, text);
}

SampleReport report_on(const SampleCorpus& corpus) {
  const Counts counts = count_words(corpus.train);
  std::set<std::string> frames;
  for (const SamplePair& pair : corpus.train) frames.insert(pair.frame);
  SampleReport report{.train_pairs = std::ssize(corpus.train),
                      .valid_pairs = std::ssize(corpus.valid),
                      .test_pairs = std::ssize(corpus.test),
                      .documents = std::ssize(corpus.documents),
                      .frames = std::ssize(frames),
                      .english_words = std::ssize(counts.english),
                      .norwegian_words = std::ssize(counts.norwegian)};
  for (const auto& [word, count] : counts.norwegian) report.norwegian_running_words += count;
  return report;
}

std::string describe_corpus(const SampleReport& report, uint64_t seed) {
  return fmt::format(
      "The weft sample corpus, seed {}: English and Norwegian Bokmål sentences made by a grammar.\n"
      "\n"
      "train.tsv  {} pairs: English, a tab, Norwegian\n"
      "valid.tsv  {} pairs\n"
      "test.tsv   {} pairs\n"
      "text.txt   {} documents of up to {} sentences in one language, with a blank line between documents\n"
      "\n"
      "Training has {} frames (kinds of sentences, each with its verb or adjective), {} English and {} Norwegian\n"
      "words. Each pair of valid.tsv and test.tsv holds a combination that no training pair holds: a verb with its\n"
      "noun or place, an adjective with its noun, a day with its month, an hour with what happens then (a tenth of\n"
      "all such pairs), or a number from a withheld range (300-399, 1000-1099, 1700-1799 and so on in steps of 700;\n"
      "from 10,000 on the thousands 10, 17, 24 and so on). Every word of theirs stands in train.tsv at least {}\n"
      "times.\n"
      "\n"
      "Made by `weft sample`; the same seed gives the same bytes.\n",
      seed, report.train_pairs, report.valid_pairs, report.test_pairs, report.documents, kSentencesPerDocument,
      report.frames, report.english_words, report.norwegian_words, SampleCorpus::kLeastUses);
}

}  // namespace

std::vector<std::string> sample_words(std::string_view sentence) {
  std::vector<std::string> words = baseline_words(sentence);
  std::erase_if(words, [](const std::string& word) { return word == "." || word == "," || word == "?"; });
  return words;
}

SampleCorpus make_sample_corpus(uint64_t seed, const SampleOptions& options) {
  require<ConfigError>(options.train_pairs > 0 && options.valid_pairs > 0 && options.test_pairs > 0,
                       "the sample corpus needs at least one pair in each part, not {}, {} and {}", options.train_pairs,
                       options.valid_pairs, options.test_pairs);
  SampleCorpus corpus;
  Source source(seed);
  for (int64_t i = 0; i < options.train_pairs; ++i) corpus.train.push_back(source.next(false));
  const Counts known = count_words(corpus.train);
  corpus.valid = held_out(source, known, options.valid_pairs, std::ssize(corpus.train));
  corpus.test = held_out(source, known, options.test_pairs, std::ssize(corpus.train));
  corpus.documents = make_documents(corpus.train, source.draw());
  return corpus;
}

SampleReport write_sample_corpus(const fs::path& directory, uint64_t seed, const SampleOptions& options) {
  const SampleCorpus corpus = make_sample_corpus(seed, options);
  std::error_code failure;
  fs::create_directories(directory, failure);
  require<DataError>(!failure, "cannot make the directory {}: {}", directory.string(), failure.message());
  write_pairs(directory / "train.tsv", corpus.train);
  write_pairs(directory / "valid.tsv", corpus.valid);
  write_pairs(directory / "test.tsv", corpus.test);
  write_file_atomically(directory / "text.txt", fmt::format("{}", fmt::join(corpus.documents, "\n")));
  const SampleReport report = report_on(corpus);
  write_file_atomically(directory / "README.txt", describe_corpus(report, seed));
  return report;
}

}  // namespace weft
