// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"

// The sample corpus: short English sentences and their Norwegian Bokmål translations, from a grammar
// (data/sample/frames.h). It needs no download, is the same for the same seed on any machine, and its held-out parts
// can be translated only by one who has learned words and grammar, not by one who remembers sentences.
namespace weft {

struct SampleOptions {
  int64_t train_pairs = 40'000;
  int64_t valid_pairs = 500;
  int64_t test_pairs = 1'000;
};

struct SamplePair {
  std::string english;
  std::string norwegian;
  std::string frame;                      // the kind of sentence and its verb: "question: buy"
  std::vector<std::string> combinations;  // "buy + book", "old + house", "number 17xxx": what may be withheld
};

// English sentences are all different, within a part and between parts, and have one translation each. Training pairs
// use no withheld combination; pairs of valid and test use at least one, but only words (with their capital or small
// first letter) that training uses kLeastUses times or more, in both languages.
struct SampleCorpus {
  static constexpr int64_t kLeastUses = 10;
  std::vector<SamplePair> train, valid, test;
  std::vector<std::string> documents;  // for language models: a few training sentences each, of one language
};

struct SampleReport {
  int64_t train_pairs = 0, valid_pairs = 0, test_pairs = 0, documents = 0;
  int64_t frames = 0;                              // different ones in training
  int64_t english_words = 0, norwegian_words = 0;  // different ones in training
  int64_t norwegian_running_words = 0;             // all of training, marks not counted
};

// Throws ConfigError for sizes that are not positive or that the grammar cannot fill.
SampleCorpus make_sample_corpus(uint64_t seed, const SampleOptions& options = {});

// Writes train.tsv, valid.tsv, test.tsv (English, a tab, Norwegian, a line feed), text.txt (documents, one sentence a
// line, a blank line between documents) and README.txt into `directory`, which is made if there is none; each file
// atomically, README.txt last. Throws DataError if the directory cannot be written.
SampleReport write_sample_corpus(const fs::path& directory, uint64_t seed, const SampleOptions& options = {});

// Words of a sentence, split at blanks, without the marks . , ? at their ends.
std::vector<std::string> sample_words(std::string_view sentence);

}  // namespace weft
