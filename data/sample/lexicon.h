// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The words of the sample corpus with the forms that English and Norwegian Bokmål grammar need.
namespace weft::sample {

struct Phrase {
  std::string english;
  std::string norwegian;
};

enum class Gender { Masculine, Feminine, Neuter };

// What a noun names; verbs and adjectives have a mask of the kinds they go with.
enum Kind : uint32_t {
  kPerson = 1,
  kAnimal = 2,
  kText = 4,  // what one reads
  kFood = 8,
  kThing = 16,
  kPlace = 32,
  kTransport = 64,
  kEvent = 128,
  kOpening = 256,  // doors and windows
  kService = 512,  // leaves and arrives by the clock
  kOpens = 1024,   // opens and closes by the clock
};

struct Noun {
  std::string english, english_plural;
  Gender gender;
  std::string singular, singular_definite, plural, plural_definite;  // (ei) bok, boka, bøker, bøkene
  uint32_t kinds;
};

// Empty comparatives and superlatives: not compared in the corpus.
struct Adjective {
  std::string english, english_comparative, english_superlative;
  std::string common, feminine, neuter;  // en stor, ei stor, et stort
  std::string plural, definite;          // store, den store (små, den lille)
  std::string comparative, superlative;  // større, største (definite)
  uint32_t kinds;
};

enum VerbTrait : uint32_t {
  kStative = 1,          // never in the progressive
  kSameEnglishPast = 2,  // "read": past and present are written alike outside the third person singular
  kMotion = 4,           // goes with "quickly"
  kPresentOnly = 8,      // "cost": only its present is used
};

struct Verb {
  std::string base, third, past, participle, progressive, preposition;  // wait, ..., and "for" or nothing
  std::string infinitive, present, preterite, supine, particle;         // vente, ..., and "på" or nothing
  uint32_t subjects;
  uint32_t objects;  // 0: intransitive
  uint32_t traits;
};

struct Lexicon {
  std::vector<Noun> nouns;
  std::vector<Noun> containers;  // of drinks: "a cup of tea"
  std::vector<Adjective> adjectives;
  std::vector<Verb> transitive, intransitive;
  std::vector<Verb> giving;     // with a person and a thing: "gives Anna a book"
  std::vector<Verb> drinking;   // with "a cup of tea"
  std::vector<Verb> scheduled;  // what trains, concerts and shops do at an hour
  std::vector<Verb> figures;    // pay, earn, cost, have, drive, count
  Verb be;
  std::vector<Phrase> names, drinks, months, weekdays;
  std::vector<Phrase> places, towns;                              // with their preposition: "in the kitchen"
  std::vector<Phrase> conditions, before_numbers;                 // "if it rains"; "the number is"
  std::vector<Phrase> weathers, manners;                          // "is raining"; "quickly"
  std::vector<Phrase> habits, moments, past_times, future_times;  // "every day", "now", "yesterday", "tomorrow"
  std::vector<Phrase> present_adverbs, perfect_adverbs;           // between subject and verb: "often", "already"
};

const Lexicon& lexicon();  // read from words.inc
const Verb& figure_verb(std::string_view base);

}  // namespace weft::sample
