// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/philox.h"
#include "data/sample/lexicon.h"

// Noun phrases of the sample corpus in English and Norwegian side by side, and the drawing of their parts.
namespace weft::sample {

// What verbs and predicates agree with.
struct NounPhrase : Phrase {
  bool plural = false;
  Gender gender = Gender::Masculine;
  int person = 3;
  bool third_singular() const { return person == 3 && !plural; }
};

// The sentence under construction: its random numbers, and the combinations of words (verb and noun, adjective and
// noun, day and month, a range of numbers) that it uses. Combinations decide whether a sentence may be trained on.
class Draw {
 public:
  explicit Draw(uint64_t seed) : philox_(seed) {}

  int64_t below(int64_t n);  // uniform in 0..n-1
  int64_t between(int64_t first, int64_t last) { return first + below(last - first + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class Values>
  const auto& pick(const Values& values) {
    return std::data(values)[below(static_cast<int64_t>(std::size(values)))];
  }
  const Noun& noun(uint32_t kinds, bool neuter = false);  // neuter: of these only
  const Noun& noun_with(std::string_view partner, uint32_t kinds);
  const Adjective& adjective(uint32_t kinds, bool compared = false);
  const Adjective& adjective_with(const Noun& noun);

  template <class... Args>
  void frame(fmt::format_string<Args...> format, Args&&... args) {
    frame_ = fmt::format(format, std::forward<Args>(args)...);
  }
  void combine(std::string_view a, std::string_view b) { combinations_.push_back(fmt::format("{} + {}", a, b)); }
  int64_t number(int64_t n);  // notes the range of n, returns n
  const std::string& frame() const { return frame_; }
  const std::vector<std::string>& combinations() const { return combinations_; }
  void start() { frame_.clear(), combinations_.clear(); }  // a new sentence

 private:
  Philox philox_;
  uint64_t drawn_ = 0;
  std::string frame_;
  std::vector<std::string> combinations_;
};

// True for the combinations that no training sentence holds: a tenth of the pairs of words, by hash, whatever the
// seed; and of the numbers every seventh hundred between 300 and 9,999 (300-399, 1000-1099, ...) and every seventh
// thousand from 10,000 on (10,000-10,999, 17,000-17,999, ...).
bool is_withheld(std::string_view combination);
std::string number_range(int64_t n);  // "number 3xx", "number 17xxx"; empty below 100

// The words that are not empty, with one space between them; of phrases in each language.
std::string join(std::initializer_list<std::string_view> words);
Phrase operator+(const Phrase& a, const Phrase& b);
std::string_view agreeing(const Adjective& adjective, bool plural, Gender gender);  // as a predicate, or indefinite

// Of one from Indefinite to Genitive, of several from IndefinitePlural on.
enum class Determiner {
  Indefinite,
  Definite,
  This,
  That,
  Possessive,
  Genitive,
  IndefinitePlural,
  Counted,
  Many,
  Several,
  DefinitePlural,
  These,
  Those,
  All,
  PossessivePlural,
  GenitivePlural,
};

struct NounPhraseArgs {
  const Noun& noun;
  Determiner determiner;
  const Adjective* adjective = nullptr;
  int owner = 0;               // of Possessive: 0..5, my your his her our their
  std::string_view name = {};  // of Genitive
  int count = 2;               // of Counted
};
NounPhrase noun_phrase(const NounPhraseArgs& args);

// Who owns what: third-person owners of an object would be ambiguous beside a third-person subject ("sin" or "hans").
enum class Owners { All, NotThird };

NounPhrase draw_noun_phrase(Draw& draw, const Noun& noun, Owners owners);          // any determiner, as an object
NounPhrase draw_definite_phrase(Draw& draw, const Noun& noun, Owners owners);      // known to both, as a subject
NounPhrase draw_subject(Draw& draw, uint32_t kinds, const Noun** head = nullptr);  // also pronouns and names
NounPhrase pronoun_subject(int index);                                             // 0..5: I you he she we they
Phrase draw_object_pronoun(Draw& draw, const NounPhrase& subject);                 // never reflexive
Phrase draw_person(Draw& draw, Owners owners);  // a name or a definite person, as an object

}  // namespace weft::sample
