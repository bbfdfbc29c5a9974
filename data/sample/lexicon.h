#pragma once
#include <cstdint>
#include <span>
#include <string_view>

// The words of the sample corpus with the forms that English and Norwegian Bokmål grammar need.
namespace weft::sample {

enum class Gender { Masculine, Feminine, Neuter };

// What a noun names; verbs and adjectives say by a mask of these what they go with.
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
  const char* english;
  const char* english_plural;
  Gender gender;
  const char* singular;           // (ei) bok
  const char* singular_definite;  // boka
  const char* plural;             // bøker
  const char* plural_definite;    // bøkene
  uint32_t kinds;
};

struct Adjective {
  const char* english;
  const char* english_comparative;  // nullptr: not compared in the corpus
  const char* english_superlative;
  const char* common;       // en stor
  const char* feminine;     // ei stor, ei lita
  const char* neuter;       // et stort
  const char* plural;       // store
  const char* definite;     // den store, den lille
  const char* comparative;  // større
  const char* superlative;  // største (definite)
  uint32_t kinds;
};

enum VerbTrait : uint32_t {
  kStative = 1,          // never in the progressive
  kSameEnglishPast = 2,  // "read": past and present are written alike outside the third person singular
  kMotion = 4,           // goes with "quickly"
  kPresentOnly = 8,      // "cost": only its present is used
};

struct Verb {
  const char* base;  // buy
  const char* third;
  const char* past;
  const char* participle;
  const char* progressive;
  const char* preposition;  // "for" in "wait for"; empty where there is none
  const char* infinitive;   // kjøpe
  const char* present;
  const char* preterite;
  const char* supine;              // (har) kjøpt
  const char* norwegian_particle;  // "på" in "vente på"
  uint32_t subjects;
  uint32_t objects;  // 0: intransitive
  uint32_t traits;
};

struct Pair {
  const char* english;
  const char* norwegian;
};

struct Container {
  const char* english;  // cup
  const char* english_plural;
  const char* article;  // en, ei, et
  const char* singular;
  const char* plural;
};

// Any list below; static storage.
std::span<const Noun> nouns();
std::span<const Adjective> adjectives();
std::span<const Verb> transitive_verbs();
std::span<const Verb> intransitive_verbs();
std::span<const Verb> giving_verbs();     // with a person and a thing: "gives Anna a book"
std::span<const Verb> drinking_verbs();   // with "a cup of tea"
std::span<const Verb> scheduled_verbs();  // what trains, concerts and shops do at an hour
std::span<const Verb> figure_verbs();     // pay, earn, cost, have, drive, count
const Verb& to_be();
const Verb& verb_named(std::span<const Verb> verbs, std::string_view base);

std::span<const Pair> names();
std::span<const Pair> places();  // with their preposition: "in the kitchen" - "på kjøkkenet"
std::span<const Pair> towns();
std::span<const Container> containers();
std::span<const Pair> drinks();
std::span<const Pair> weathers();  // "is raining" - "regner"
std::span<const Pair> manners();   // "quickly" - "fort"
std::span<const Pair> months();
std::span<const Pair> weekdays();
std::span<const Pair> habits();           // "every day"
std::span<const Pair> moments();          // "now"
std::span<const Pair> past_times();       // "yesterday"
std::span<const Pair> future_times();     // "tomorrow"
std::span<const Pair> present_adverbs();  // between subject and verb: "often"
std::span<const Pair> perfect_adverbs();  // "already"

}  // namespace weft::sample
