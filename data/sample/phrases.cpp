#include "data/sample/phrases.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "base/hash.h"
#include "data/sample/numbers.h"

namespace weft::sample {
namespace {

constexpr int kWithheldPercent = 10;

struct Owner {
  const char* english;
  const char* common;
  const char* feminine;
  const char* neuter;
  const char* plural;
};
constexpr auto kOwners = std::to_array<Owner>({{"my", "min", "mi", "mitt", "mine"},
                                               {"your", "din", "di", "ditt", "dine"},
                                               {"his", "hans", "hans", "hans", "hans"},
                                               {"her", "hennes", "hennes", "hennes", "hennes"},
                                               {"our", "vår", "vår", "vårt", "våre"},
                                               {"their", "deres", "deres", "deres", "deres"}});

struct Pronoun {
  const char* english;
  const char* english_object;
  const char* norwegian;
  const char* norwegian_object;
  int person;
  bool plural;
};
constexpr auto kPronouns = std::to_array<Pronoun>({{"I", "me", "jeg", "meg", 1, false},
                                                   {"you", "you", "du", "deg", 2, false},
                                                   {"he", "him", "han", "ham", 3, false},
                                                   {"she", "her", "hun", "henne", 3, false},
                                                   {"we", "us", "vi", "oss", 1, true},
                                                   {"they", "them", "de", "dem", 3, true}});

bool is_plural(Determiner determiner) { return determiner >= Determiner::IndefinitePlural; }

std::string_view owner_form(const Owner& owner, bool plural, Gender gender) {
  if (plural) return owner.plural;
  return gender == Gender::Feminine ? owner.feminine : gender == Gender::Neuter ? owner.neuter : owner.common;
}

std::string english_phrase(const NounPhraseArgs& args, bool plural) {
  const std::string noun =
      join({args.adjective ? args.adjective->english : "", plural ? args.noun.english_plural : args.noun.english});
  switch (args.determiner) {
    case Determiner::Indefinite:
      return with_article(noun);
    case Determiner::Definite:
    case Determiner::DefinitePlural:
      return join({"the", noun});
    case Determiner::This:
      return join({"this", noun});
    case Determiner::That:
      return join({"that", noun});
    case Determiner::These:
      return join({"these", noun});
    case Determiner::Those:
      return join({"those", noun});
    case Determiner::Possessive:
    case Determiner::PossessivePlural:
      return join({kOwners[args.owner].english, noun});
    case Determiner::Genitive:
    case Determiner::GenitivePlural:
      return fmt::format("{}'s {}", args.name, noun);
    case Determiner::Counted:
      return join({english_number(args.count), noun});
    case Determiner::Many:
      return join({"many", noun});
    case Determiner::Several:
      return join({"several", noun});
    case Determiner::All:
      return join({"all the", noun});
    case Determiner::IndefinitePlural:
      return noun;
  }
  throw InternalError("a case of the sample grammar is missing");
}

// "den røde boka", "boka", "de små husene": the adjective takes an article before it, the noun keeps its own.
std::string norwegian_definite(const NounPhraseArgs& args, bool plural, std::string_view article) {
  const char* noun = plural ? args.noun.plural_definite : args.noun.singular_definite;
  if (!args.adjective) return noun;
  return join({article, plural ? args.adjective->plural : args.adjective->definite, noun});
}

std::string norwegian_indefinite(const NounPhraseArgs& args, bool plural, std::string_view determiner) {
  return join({determiner, args.adjective ? agreeing(*args.adjective, plural, args.noun.gender) : "",
               plural ? args.noun.plural : args.noun.singular});
}

std::string norwegian_phrase(const NounPhraseArgs& args, bool plural) {
  const Noun& noun = args.noun;
  const bool neuter = noun.gender == Gender::Neuter;
  const std::string_view article = plural ? "de" : neuter ? "det" : "den";
  const char* definite_adjective = !args.adjective ? "" : plural ? args.adjective->plural : args.adjective->definite;
  const char* definite_noun = plural ? noun.plural_definite : noun.singular_definite;
  switch (args.determiner) {
    case Determiner::Indefinite:
      return norwegian_indefinite(args, plural, norwegian_article(noun.gender));
    case Determiner::Definite:
    case Determiner::DefinitePlural:
      return norwegian_definite(args, plural, article);
    case Determiner::This:
      return join({neuter ? "dette" : "denne", definite_adjective, definite_noun});
    case Determiner::These:
      return join({"disse", definite_adjective, definite_noun});
    case Determiner::That:
    case Determiner::Those:
      return join({article, definite_adjective, definite_noun});
    case Determiner::Possessive:
    case Determiner::PossessivePlural:
      return join({norwegian_definite(args, plural, article), owner_form(kOwners[args.owner], plural, noun.gender)});
    case Determiner::Genitive:
    case Determiner::GenitivePlural:  // the definite form of the adjective, the indefinite one of the noun
      return fmt::format("{}s {}", args.name, join({definite_adjective, plural ? noun.plural : noun.singular}));
    case Determiner::Counted:
      return norwegian_indefinite(args, plural, norwegian_number(args.count));
    case Determiner::Many:
      return norwegian_indefinite(args, plural, "mange");
    case Determiner::Several:
      return norwegian_indefinite(args, plural, "flere");
    case Determiner::All:
      return join({"alle", args.adjective ? article : "", definite_adjective, definite_noun});
    case Determiner::IndefinitePlural:
      return norwegian_indefinite(args, plural, "");
  }
  throw InternalError("a case of the sample grammar is missing");
}

NounPhrase draw_determined(Draw& draw, const Noun& noun, Determiner determiner, Owners owners) {
  constexpr std::array<int, 3> kFirstAndSecond = {0, 1, 4};
  NounPhraseArgs args{.noun = noun, .determiner = determiner};
  // More adjectives where they show their gender.
  if (draw.chance(determiner == Determiner::Indefinite ? 55 : 32)) {
    args.adjective = &draw.adjective(noun.kinds);
    draw.combine(args.adjective->english, noun.english);
  }
  args.owner = static_cast<int>(owners == Owners::All ? draw.below(6) : kFirstAndSecond[draw.below(3)]);
  args.name = draw.pick(names()).english;
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
  for (const Noun& noun : nouns()) {
    if ((noun.kinds & kinds) && (!neuter || noun.gender == Gender::Neuter)) fitting.push_back(&noun);
  }
  return *pick(std::span<const Noun* const>(fitting));
}

const Adjective& Draw::adjective(uint32_t kinds, bool compared) {
  std::vector<const Adjective*> fitting;
  for (const Adjective& adjective : adjectives()) {
    if ((adjective.kinds & kinds) && (!compared || adjective.comparative)) fitting.push_back(&adjective);
  }
  return *pick(std::span<const Adjective* const>(fitting));
}

void Draw::combine(std::string_view a, std::string_view b) { combinations_.push_back(fmt::format("{} + {}", a, b)); }

int64_t Draw::number(int64_t n) {
  if (n >= 100) combinations_.push_back(number_range(n));
  return n;
}

void Draw::start() {
  frame_.clear();
  combinations_.clear();
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

std::string with_article(std::string_view english) {
  const bool vowel = std::string_view("aeiou").find(english.front()) != std::string_view::npos;
  return fmt::format("{} {}", vowel && !english.starts_with("use") ? "an" : "a", english);
}

std::string_view norwegian_article(Gender gender) {
  return gender == Gender::Masculine ? "en" : gender == Gender::Feminine ? "ei" : "et";
}

std::string_view agreeing(const Adjective& adjective, bool plural, Gender gender) {
  if (plural) return adjective.plural;
  return gender == Gender::Neuter     ? adjective.neuter
         : gender == Gender::Feminine ? adjective.feminine
                                      : adjective.common;
}

NounPhrase noun_phrase(const NounPhraseArgs& args) {
  NounPhrase phrase;
  phrase.plural = is_plural(args.determiner);
  phrase.gender = args.noun.gender;
  phrase.english = english_phrase(args, phrase.plural);
  phrase.norwegian = norwegian_phrase(args, phrase.plural);
  return phrase;
}

NounPhrase draw_noun_phrase(Draw& draw, const Noun& noun, Owners owners) {
  // Each as often as it stands here.
  constexpr auto kDeterminers = std::to_array<Determiner>({Determiner::Indefinite,
                                                           Determiner::Indefinite,
                                                           Determiner::Indefinite,
                                                           Determiner::Definite,
                                                           Determiner::Definite,
                                                           Determiner::Definite,
                                                           Determiner::DefinitePlural,
                                                           Determiner::DefinitePlural,
                                                           Determiner::This,
                                                           Determiner::That,
                                                           Determiner::These,
                                                           Determiner::Those,
                                                           Determiner::Possessive,
                                                           Determiner::Possessive,
                                                           Determiner::PossessivePlural,
                                                           Determiner::Genitive,
                                                           Determiner::GenitivePlural,
                                                           Determiner::Counted,
                                                           Determiner::Counted,
                                                           Determiner::Many,
                                                           Determiner::Several,
                                                           Determiner::IndefinitePlural,
                                                           Determiner::All});
  return draw_determined(draw, noun, draw.pick(std::span<const Determiner>(kDeterminers)), owners);
}

NounPhrase draw_definite_phrase(Draw& draw, const Noun& noun, Owners owners) {
  constexpr auto kDeterminers = std::to_array<Determiner>(
      {Determiner::Definite, Determiner::Definite, Determiner::Definite, Determiner::Definite,
       Determiner::DefinitePlural, Determiner::DefinitePlural, Determiner::This, Determiner::That, Determiner::These,
       Determiner::Possessive, Determiner::Possessive, Determiner::PossessivePlural});
  return draw_determined(draw, noun, draw.pick(std::span<const Determiner>(kDeterminers)), owners);
}

NounPhrase fixed_phrase(std::string_view english, std::string_view norwegian) {
  NounPhrase phrase;
  phrase.english = english;
  phrase.norwegian = norwegian;
  return phrase;
}

NounPhrase pronoun_subject(int index) {
  const Pronoun& pronoun = kPronouns[index];
  NounPhrase phrase;
  phrase.english = pronoun.english;
  phrase.norwegian = pronoun.norwegian;
  phrase.person = pronoun.person;
  phrase.plural = pronoun.plural;
  return phrase;
}

NounPhrase draw_subject(Draw& draw, uint32_t kinds, const Noun** head) {
  if (head) *head = nullptr;
  const int64_t choice = kinds & kPerson ? draw.below(100) : 100;
  if (choice < 30) return pronoun_subject(static_cast<int>(draw.below(6)));
  if (choice < 45) {
    const Pair& name = draw.pick(names());
    return fixed_phrase(name.english, name.norwegian);
  }
  const Noun& noun = draw.noun(kinds);
  if (head) *head = &noun;
  return draw_definite_phrase(draw, noun, Owners::All);
}

Phrase draw_object_pronoun(Draw& draw, const NounPhrase& subject) {
  const Pronoun* pronoun = nullptr;
  do {
    pronoun = &kPronouns[draw.below(6)];
  } while (pronoun->person == subject.person);
  return {pronoun->english_object, pronoun->norwegian_object};
}

NounPhrase draw_person(Draw& draw, Owners owners) {
  if (draw.chance(40)) {
    const Pair& name = draw.pick(names());
    return fixed_phrase(name.english, name.norwegian);
  }
  return draw_definite_phrase(draw, draw.noun(kPerson), owners);
}

}  // namespace weft::sample
