// SPDX-License-Identifier: Apache-2.0
#include "data/sample/phrases.h"

#include "base/hash.h"
#include "data/sample/numbers.h"

namespace weft::sample {
namespace {

constexpr int kWithheldPercent = 10;

using enum Determiner;

struct Owner {
  const char *english, *common, *feminine, *neuter, *plural;
};
constexpr Owner kOwners[] = {{"my", "min", "mi", "mitt", "mine"},     {"your", "din", "di", "ditt", "dine"},
                             {"his", "hans", "hans", "hans", "hans"}, {"her", "hennes", "hennes", "hennes", "hennes"},
                             {"our", "vår", "vår", "vårt", "våre"},   {"their", "deres", "deres", "deres", "deres"}};

struct Pronoun {
  const char *english, *english_object, *norwegian, *norwegian_object;
  int person;
  bool plural;
};
constexpr Pronoun kPronouns[] = {{"I", "me", "jeg", "meg", 1, false},   {"you", "you", "du", "deg", 2, false},
                                 {"he", "him", "han", "ham", 3, false}, {"she", "her", "hun", "henne", 3, false},
                                 {"we", "us", "vi", "oss", 1, true},    {"they", "them", "de", "dem", 3, true}};

std::string_view owner_form(const Owner& owner, bool plural, Gender gender) {
  if (plural) return owner.plural;
  return gender == Gender::Feminine ? owner.feminine : gender == Gender::Neuter ? owner.neuter : owner.common;
}

std::string norwegian_article(Gender gender) {
  return gender == Gender::Masculine ? "en" : gender == Gender::Feminine ? "ei" : "et";
}

std::string english_article(std::string_view next) {
  const bool vowel = std::string_view("aeiou").find(next.front()) != std::string_view::npos;
  return vowel && !next.starts_with("use") ? "an" : "a";  // "an old book", "a useful book"
}

bool is_possessive(Determiner determiner) { return determiner == Possessive || determiner == PossessivePlural; }
// Before the definite adjective and the indefinite noun: "Annas lille båt".
bool is_genitive(Determiner determiner) { return determiner == Genitive || determiner == GenitivePlural; }
// Before the indefinite adjective and noun.
bool is_indefinite(Determiner determiner) {
  return determiner == Indefinite || (determiner >= IndefinitePlural && determiner <= Several);
}

// What stands before the adjective and the noun. The Norwegian definite noun takes an article only before an
// adjective: "boka", "den røde boka".
Phrase words_before(const NounPhraseArgs& args, bool plural) {
  const bool neuter = args.noun.gender == Gender::Neuter;
  const char* article = plural ? "de" : neuter ? "det" : "den";
  const char* before_adjective = args.adjective ? article : "";
  const Determiner determiner = args.determiner;
  if (determiner == Definite || determiner == DefinitePlural) return {"the", before_adjective};
  if (determiner == This) return {"this", neuter ? "dette" : "denne"};
  if (determiner == These) return {"these", "disse"};
  if (determiner == That) return {"that", article};
  if (determiner == Those) return {"those", article};
  if (determiner == Many) return {"many", "mange"};
  if (determiner == Several) return {"several", "flere"};
  if (determiner == All) return {"all the", join({"alle", before_adjective})};
  if (determiner == Counted) return {english_number(args.count), norwegian_number(args.count)};
  if (is_possessive(determiner)) return {kOwners[args.owner].english, before_adjective};
  if (is_genitive(determiner)) return {fmt::format("{}'s", args.name), fmt::format("{}s", args.name)};
  if (determiner == IndefinitePlural) return {};
  return {english_article(args.adjective ? args.adjective->english : args.noun.english),
          norwegian_article(args.noun.gender)};
}

NounPhrase draw_determined(Draw& draw, const Noun& noun, Determiner determiner, Owners owners) {
  constexpr int kFirstAndSecond[] = {0, 1, 4};
  NounPhraseArgs args{.noun = noun, .determiner = determiner};
  // More adjectives where they show their gender.
  if (draw.chance(determiner == Indefinite ? 55 : 32)) args.adjective = &draw.adjective_with(noun);
  args.owner = static_cast<int>(owners == Owners::All ? draw.below(6) : kFirstAndSecond[draw.below(3)]);
  args.name = draw.pick(lexicon().names).english;
  args.count = static_cast<int>(draw.between(2, 12));
  return noun_phrase(args);
}

}  // namespace

int64_t Draw::below(int64_t n) {
  const Philox::Counter bits = philox_({static_cast<uint32_t>(drawn_), static_cast<uint32_t>(drawn_ >> 32), 0, 0});
  ++drawn_;
  const uint64_t wide = uint64_t{bits[0]} << 32 | bits[1];
  return static_cast<int64_t>(wide % static_cast<uint64_t>(n));  // the bias, n / 2^64, is beyond notice
}

const Noun& Draw::noun(uint32_t kinds, bool neuter) {
  std::vector<const Noun*> fitting;
  for (const Noun& noun : lexicon().nouns) {
    if ((noun.kinds & kinds) && (!neuter || noun.gender == Gender::Neuter)) fitting.push_back(&noun);
  }
  return *pick(fitting);
}

const Noun& Draw::noun_with(std::string_view partner, uint32_t kinds) {
  const Noun& drawn = noun(kinds);
  combine(partner, drawn.english);
  return drawn;
}

const Adjective& Draw::adjective(uint32_t kinds, bool compared) {
  std::vector<const Adjective*> fitting;
  for (const Adjective& adjective : lexicon().adjectives) {
    if ((adjective.kinds & kinds) && (!compared || !adjective.comparative.empty())) fitting.push_back(&adjective);
  }
  return *pick(fitting);
}

const Adjective& Draw::adjective_with(const Noun& noun) {
  const Adjective& drawn = adjective(noun.kinds);
  combine(drawn.english, noun.english);
  return drawn;
}

int64_t Draw::number(int64_t n) {
  if (n >= 100) combinations_.push_back(number_range(n));
  return n;
}

std::string number_range(int64_t n) {
  if (n < 100) return {};
  return n < 10'000 ? fmt::format("number {}xx", n / 100) : fmt::format("number {}xxx", n / 1000);
}

bool is_withheld(std::string_view combination) {
  constexpr std::string_view kNumber = "number ";
  if (combination.starts_with(kNumber)) return std::stoll(std::string(combination.substr(kNumber.size()))) % 7 == 3;
  return hash64(combination) % 100 < kWithheldPercent;
}

std::string join(std::initializer_list<std::string_view> words) {
  std::string joined;
  for (const std::string_view word : words) {
    if (word.empty()) continue;
    if (!joined.empty()) joined += ' ';
    joined += word;
  }
  return joined;
}

Phrase operator+(const Phrase& a, const Phrase& b) {
  return {join({a.english, b.english}), join({a.norwegian, b.norwegian})};
}

std::string_view agreeing(const Adjective& adjective, bool plural, Gender gender) {
  if (plural) return adjective.plural;
  return gender == Gender::Neuter     ? adjective.neuter
         : gender == Gender::Feminine ? adjective.feminine
                                      : adjective.common;
}

NounPhrase noun_phrase(const NounPhraseArgs& args) {
  const auto [noun, determiner, adjective, owner, name, count] = args;
  const bool plural = determiner >= IndefinitePlural;
  const bool indefinite = is_indefinite(determiner);
  const bool definite_noun = !indefinite && !is_genitive(determiner);
  Phrase described{plural ? noun.english_plural : noun.english,
                   definite_noun ? (plural ? noun.plural_definite : noun.singular_definite)
                                 : (plural ? noun.plural : noun.singular)};
  if (adjective) {
    const bool definite_singular = !indefinite && !plural;
    const std::string_view form = definite_singular ? adjective->definite : agreeing(*adjective, plural, noun.gender);
    described = Phrase{adjective->english, std::string(form)} + described;
  }
  described = words_before(args, plural) + described;
  if (is_possessive(determiner)) {
    described.norwegian = join({described.norwegian, owner_form(kOwners[owner], plural, noun.gender)});
  }
  return {described, plural, noun.gender};
}

NounPhrase draw_noun_phrase(Draw& draw, const Noun& noun, Owners owners) {
  // Each as often as it stands here.
  constexpr Determiner kDeterminers[] = {
      Indefinite,       Indefinite, Indefinite,     Definite, Definite, Definite,   DefinitePlural,
      DefinitePlural,   This,       That,           These,    Those,    Possessive, Possessive,
      PossessivePlural, Genitive,   GenitivePlural, Counted,  Counted,  Many,       Several,
      IndefinitePlural, All};
  return draw_determined(draw, noun, draw.pick(kDeterminers), owners);
}

NounPhrase draw_definite_phrase(Draw& draw, const Noun& noun, Owners owners) {
  constexpr Determiner kDeterminers[] = {Definite, Definite, Definite, Definite,   DefinitePlural, DefinitePlural,
                                         This,     That,     These,    Possessive, Possessive,     PossessivePlural};
  return draw_determined(draw, noun, draw.pick(kDeterminers), owners);
}

NounPhrase pronoun_subject(int index) {
  const Pronoun& pronoun = kPronouns[index];
  return {{pronoun.english, pronoun.norwegian}, pronoun.plural, Gender::Masculine, pronoun.person};
}

NounPhrase draw_subject(Draw& draw, uint32_t kinds, const Noun** head) {
  if (head) *head = nullptr;
  const int64_t choice = kinds & kPerson ? draw.below(100) : 100;
  if (choice < 30) return pronoun_subject(static_cast<int>(draw.below(6)));
  if (choice < 45) return {draw.pick(lexicon().names)};
  const Noun& noun = draw.noun(kinds);
  if (head) *head = &noun;
  return draw_definite_phrase(draw, noun, Owners::All);
}

Phrase draw_object_pronoun(Draw& draw, const NounPhrase& subject) {
  const Pronoun* pronoun = nullptr;
  do {
    pronoun = &draw.pick(kPronouns);
  } while (pronoun->person == subject.person);
  return {pronoun->english_object, pronoun->norwegian_object};
}

Phrase draw_person(Draw& draw, Owners owners) {
  if (draw.chance(40)) return draw.pick(lexicon().names);
  return draw_definite_phrase(draw, draw.noun(kPerson), owners);
}

}  // namespace weft::sample
