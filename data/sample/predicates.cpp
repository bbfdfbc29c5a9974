#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "data/sample/frames.h"

namespace weft::sample {
namespace {

constexpr uint32_t kVisible = kPerson | kAnimal | kText | kFood | kThing | kPlace | kTransport | kEvent | kOpening;

Phrase agreeing_predicate(const Adjective& adjective, const NounPhrase& subject) {
  return {adjective.english, std::string(agreeing(adjective, subject.plural, subject.gender))};
}

// "The house is old". A third are neuter by choice: their form of the adjective would be rare otherwise.
Clause draw_state(Draw& draw, uint32_t kinds) {
  Clause clause;
  clause.verb = &to_be();
  const Noun* head = nullptr;
  if (draw.chance(35)) {
    head = &draw.noun(kinds, true);
    clause.subject = draw_definite_phrase(draw, *head, Owners::All);
  } else {
    clause.subject = draw_subject(draw, kinds, &head);
  }
  const Adjective& adjective = draw.adjective(head ? head->kinds : kPerson);
  if (head) draw.combine(adjective.english, head->english);
  clause.tense = draw.chance(60) ? Tense::Present : Tense::Past;
  clause.object = agreeing_predicate(adjective, clause.subject);
  draw.frame(fmt::format("predicate: {}", adjective.english));
  return clause;
}

Phrase draw_past_time(Draw& draw) {
  const Pair& time = draw.pick(past_times());
  return {time.english, time.norwegian};
}

}  // namespace

Phrase predicate_sentence(Draw& draw) {
  Clause clause = draw_state(draw, draw.chance(50) ? kPerson | kAnimal : kVisible & ~uint32_t{kPerson});
  if (clause.tense == Tense::Past && draw.chance(40)) clause.time = draw_past_time(draw);
  if (draw.chance(22)) return sentence(question(clause), '?');
  clause.negated = draw.chance(20);
  if (!clause.negated && clause.tense == Tense::Present && draw.chance(20)) {
    clause.adverb = draw_adverb(draw, Tense::Present);
  }
  const bool front = !clause.time.english.empty() && draw.chance(50);
  return sentence(statement(clause, front ? Front::Time : Front::Nothing), '.');
}

// "This is the biggest house in Norway."
static Phrase superlative_sentence(Draw& draw, const Noun& noun, const Adjective& adjective) {
  const Pair& town = draw.pick(towns());
  draw.frame(fmt::format("superlative: {}", adjective.english));
  const Clause clause{.subject = fixed_phrase("this", "dette"),
                      .verb = &to_be(),
                      .tense = draw.chance(70) ? Tense::Present : Tense::Past,
                      .object = {join({"the", adjective.english_superlative, noun.english, town.english}),
                                 join({noun.gender == Gender::Neuter ? "det" : "den", adjective.superlative,
                                       noun.singular_definite, town.norwegian})}};
  return sentence(statement(clause), '.');
}

Phrase comparing_sentence(Draw& draw) {
  constexpr auto kAmong = std::to_array<uint32_t>({kPerson, kAnimal, kText, kFood, kThing, kPlace, kTransport, kEvent});
  const uint32_t kind = draw.pick(std::span<const uint32_t>(kAmong));
  const Noun& noun = draw.noun(kind);
  const Adjective& adjective = draw.adjective(kind, true);
  draw.combine(adjective.english, noun.english);
  if (draw.chance(35)) return superlative_sentence(draw, noun, adjective);
  draw.frame(fmt::format("comparative: {}", adjective.english));
  const NounPhrase standard = draw_definite_phrase(draw, draw.noun(kind), Owners::NotThird);
  Clause clause{.subject = draw_definite_phrase(draw, noun, Owners::All),
                .verb = &to_be(),
                .tense = draw.chance(70) ? Tense::Present : Tense::Past,
                .object = {join({adjective.english_comparative, "than", standard.english}),
                           join({adjective.comparative, "enn", standard.norwegian})}};
  if (draw.chance(25)) return sentence(question(clause), '?');
  clause.negated = draw.chance(15);
  return sentence(statement(clause), '.');
}

Phrase existence_sentence(Draw& draw) {
  const Noun& noun = draw.noun(kPerson | kAnimal | kThing | kFood);
  const Pair& place = draw.pick(places());
  draw.combine(place.english, noun.english);
  const Adjective* adjective = draw.chance(35) ? &draw.adjective(noun.kinds) : nullptr;
  if (adjective) draw.combine(adjective->english, noun.english);
  constexpr auto kDeterminers =
      std::to_array<Determiner>({Determiner::Indefinite, Determiner::Counted, Determiner::Many, Determiner::Several});
  const NounPhrase thing = noun_phrase({.noun = noun,
                                        .determiner = draw.pick(std::span<const Determiner>(kDeterminers)),
                                        .adjective = adjective,
                                        .count = static_cast<int>(draw.between(2, 12))});
  Clause clause{.subject = fixed_phrase("there", "det"), .verb = &to_be()};
  clause.subject.plural = thing.plural;
  clause.tense = draw.chance(60) ? Tense::Present : Tense::Past;
  clause.object = thing;
  clause.place = {place.english, place.norwegian};
  draw.frame(fmt::format("existence: {}", place.english));
  if (draw.chance(30)) return sentence(question(clause), '?');
  clause.negated = thing.plural ? false : draw.chance(15);
  return sentence(statement(clause), '.');
}

namespace {

Clause draw_inner_clause(Draw& draw) {
  if (draw.chance(40)) return draw_state(draw, kPerson | kAnimal);
  Clause clause = draw_clause(draw, transitive_verbs());
  draw_polarity(draw, clause);
  draw_object(draw, clause);
  return clause;
}

// "She thinks that the boy has not found the book."
Phrase that_sentence(Draw& draw) {
  struct Saying {
    const char* base;
    const char* third;
    const char* norwegian;
  };
  constexpr auto kSayings = std::to_array<Saying>(
      {{"think", "thinks", "tror"}, {"know", "knows", "vet"}, {"say", "says", "sier"}, {"hope", "hopes", "håper"}});
  const Saying& saying = draw.pick(std::span<const Saying>(kSayings));
  NounPhrase speaker = pronoun_subject(static_cast<int>(draw.below(6)));
  if (draw.chance(30)) {
    const Pair& name = draw.pick(names());
    speaker = fixed_phrase(name.english, name.norwegian);
  }
  draw.frame(fmt::format("{} that", saying.base));
  const Phrase that = subordinate(draw_inner_clause(draw));
  return {join({speaker.english, speaker.third_singular() ? saying.third : saying.base, "that", that.english}),
          join({speaker.norwegian, saying.norwegian, "at", that.norwegian})};
}

// "He is sleeping because the man is tired."
Phrase because_sentence(Draw& draw) {
  Clause outer = draw_clause(draw, intransitive_verbs());
  draw_polarity(draw, outer);
  draw.frame(fmt::format("because: {}", outer.verb->base));
  const Phrase main = statement(outer);
  const Phrase reason = subordinate(draw_inner_clause(draw));
  return {join({main.english, "because", reason.english}), join({main.norwegian, "fordi", reason.norwegian})};
}

// "If it rains, the boy will not sell the book."
Phrase conditional_sentence(Draw& draw) {
  constexpr auto kConditions = std::to_array<Pair>({{"if it rains", "hvis det regner"},
                                                    {"when it rains", "når det regner"},
                                                    {"if it snows", "hvis det snør"},
                                                    {"when it is cold", "når det er kaldt"},
                                                    {"if it is warm", "hvis det er varmt"}});
  constexpr auto kTenses = std::to_array<Tense>({Tense::Future, Tense::Can, Tense::Must, Tense::Want});
  const Pair& condition = draw.pick(std::span<const Pair>(kConditions));
  Clause clause = draw_clause(draw, transitive_verbs());
  clause.tense = draw.pick(std::span<const Tense>(kTenses));
  clause.negated = draw.chance(20);
  draw_object(draw, clause);
  clause.time = {fmt::format("{},", condition.english), fmt::format("{},", condition.norwegian)};
  draw.frame(condition.english);
  return statement(clause, Front::Time);
}

// A noun phrase with a relative clause, and what it is: "The book that Anna bought is expensive." Norwegian closes the
// clause with a comma.
Phrase described(Draw& draw, const Noun& head, const NounPhrase& phrase, std::string_view relative,
                 const Phrase& clause) {
  const Adjective& adjective = draw.adjective(head.kinds);
  draw.combine(adjective.english, head.english);
  NounPhrase subject = phrase;
  subject.english = join({phrase.english, relative, clause.english});
  subject.norwegian = join({phrase.norwegian, clause.norwegian}) + ",";
  return statement({.subject = subject, .verb = &to_be(), .object = agreeing_predicate(adjective, phrase)});
}

NounPhrase draw_head(Draw& draw, const Noun& head) {
  return noun_phrase({.noun = head, .determiner = draw.chance(70) ? Determiner::Definite : Determiner::DefinitePlural});
}

// "The man who bought the car is old."
Phrase subject_relative(Draw& draw) {
  const Noun& head = draw.noun(kPerson);
  const NounPhrase phrase = draw_head(draw, head);
  Clause clause{.subject = phrase, .verb = &draw.pick(transitive_verbs())};
  clause.subject.english = "who";
  clause.subject.norwegian = "som";
  clause.tense = draw_tense(draw, *clause.verb, clause.subject);
  clause.negated = draw.chance(15);
  draw_object(draw, clause, false);
  draw.frame(fmt::format("who: {}", clause.verb->base));
  return described(draw, head, phrase, "", subordinate(clause));
}

// "The book that Anna bought is expensive."
Phrase object_relative(Draw& draw) {
  Clause clause = draw_clause(draw, transitive_verbs());
  clause.negated = draw.chance(15);
  const Noun& head = draw.noun(clause.verb->objects);
  draw.combine(verb_phrase(*clause.verb), head.english);
  draw.frame(fmt::format("that: {}", clause.verb->base));
  Phrase inner = subordinate(clause);
  inner.norwegian = join({"som", inner.norwegian});
  const NounPhrase phrase = draw_head(draw, head);
  return described(draw, head, phrase, "that", inner);
}

}  // namespace

Phrase nested_sentence(Draw& draw) {
  const int64_t kind = draw.below(100);
  if (kind < 50) return sentence(that_sentence(draw), '.');
  return sentence(kind < 75 ? because_sentence(draw) : conditional_sentence(draw), '.');
}

Phrase relative_sentence(Draw& draw) {
  return sentence(draw.chance(55) ? subject_relative(draw) : object_relative(draw), '.');
}

Phrase weather_sentence(Draw& draw) {
  const Pair& weather = draw.pick(weathers());
  const Pair& place = draw.pick(draw.chance(50) ? towns() : places());
  draw.frame(fmt::format("weather: {}", weather.english));
  draw.combine(weather.english, place.english);
  // "er kaldt": the subject "det" may stand between the two words.
  const std::string_view norwegian = weather.norwegian;
  const size_t gap = std::min(norwegian.find(' '), norwegian.size());
  const std::string_view finite = norwegian.substr(0, gap);
  const std::string_view rest = norwegian.substr(std::min(gap + 1, norwegian.size()));
  const std::string inverted = join({finite, "det", rest, place.norwegian});
  switch (draw.below(3)) {
    case 0:
      return sentence({join({"it", weather.english, place.english}), join({"det", norwegian, place.norwegian})}, '.');
    case 1: {
      const Pair& now = draw.pick(moments());
      return sentence({join({now.english, "it", weather.english, place.english}), join({now.norwegian, inverted})},
                      '.');
    }
    default: {
      const std::string_view english = std::string_view(weather.english).substr(std::string_view("is ").size());
      return sentence({join({"is it", english, place.english}), inverted}, '?');
    }
  }
}

}  // namespace weft::sample
