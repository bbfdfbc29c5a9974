// SPDX-License-Identifier: Apache-2.0
#include "data/sample/frames.h"

namespace weft::sample {
namespace {

constexpr uint32_t kVisible = kPerson | kAnimal | kText | kFood | kThing | kPlace | kTransport | kEvent | kOpening;

Phrase agreeing_predicate(const Adjective& adjective, const NounPhrase& subject) {
  return {adjective.english, std::string(agreeing(adjective, subject.plural, subject.gender))};
}

// "The house is old". A third are neuter by choice: their form of the adjective would be rare otherwise.
Clause draw_state(Draw& draw, uint32_t kinds) {
  Clause clause{.verb = &lexicon().be};
  const Noun* head = nullptr;
  if (draw.chance(35)) {
    head = &draw.noun(kinds, true);
    clause.subject = draw_definite_phrase(draw, *head, Owners::All);
  } else {
    clause.subject = draw_subject(draw, kinds, &head);
  }
  const Adjective& adjective = head ? draw.adjective_with(*head) : draw.adjective(kPerson);
  clause.tense = draw.chance(60) ? Tense::Present : Tense::Past;
  clause.object = agreeing_predicate(adjective, clause.subject);
  draw.frame("predicate: {}", adjective.english);
  return clause;
}

// "This is the biggest house in Norway."
Phrase superlative_sentence(Draw& draw, const Noun& noun, const Adjective& adjective) {
  const Phrase& town = draw.pick(lexicon().towns);
  draw.frame("superlative: {}", adjective.english);
  const Phrase biggest{
      join({"the", adjective.english_superlative, noun.english}),
      join({noun.gender == Gender::Neuter ? "det" : "den", adjective.superlative, noun.singular_definite})};
  const Clause clause{.subject = {{"this", "dette"}},
                      .verb = &lexicon().be,
                      .tense = draw.chance(70) ? Tense::Present : Tense::Past,
                      .object = biggest + town};
  return sentence(statement(clause), '.');
}

Clause draw_inner_clause(Draw& draw) {
  if (draw.chance(40)) return draw_state(draw, kPerson | kAnimal);
  Clause clause = draw_clause(draw, lexicon().transitive);
  draw_polarity(draw, clause);
  draw_object(draw, clause);
  return clause;
}

// "She thinks that the boy has not found the book."
Phrase that_sentence(Draw& draw) {
  struct Saying {
    const char *base, *third, *norwegian;
  };
  constexpr Saying kSayings[] = {
      {"think", "thinks", "tror"}, {"know", "knows", "vet"}, {"say", "says", "sier"}, {"hope", "hopes", "håper"}};
  const Saying& saying = draw.pick(kSayings);
  NounPhrase speaker = pronoun_subject(static_cast<int>(draw.below(6)));
  if (draw.chance(30)) speaker = {draw.pick(lexicon().names)};
  draw.frame("{} that", saying.base);
  const Phrase says{speaker.third_singular() ? saying.third : saying.base, saying.norwegian};
  return speaker + says + Phrase{"that", "at"} + subordinate(draw_inner_clause(draw));
}

// "He is sleeping because the man is tired."
Phrase because_sentence(Draw& draw) {
  Clause outer = draw_clause(draw, lexicon().intransitive);
  draw_polarity(draw, outer);
  draw.frame("because: {}", outer.verb->base);
  return statement(outer) + Phrase{"because", "fordi"} + subordinate(draw_inner_clause(draw));
}

// "If it rains, the boy will not sell the book."
Phrase conditional_sentence(Draw& draw) {
  constexpr Tense kTenses[] = {Tense::Future, Tense::Can, Tense::Must, Tense::Want};
  const Phrase& condition = draw.pick(lexicon().conditions);
  Clause clause = draw_clause(draw, lexicon().transitive);
  clause.tense = draw.pick(kTenses);
  clause.negated = draw.chance(20);
  draw_object(draw, clause);
  clause.time = {condition.english + ",", condition.norwegian + ","};
  draw.frame("{}", condition.english);
  return statement(clause, Front::Time);
}

// A noun phrase with a relative clause, and what it is: "The book that Anna bought is expensive." Norwegian closes the
// clause with a comma.
Phrase described(Draw& draw, const Noun& head, const NounPhrase& phrase, const Phrase& clause) {
  const Adjective& adjective = draw.adjective_with(head);
  NounPhrase subject = phrase;
  static_cast<Phrase&>(subject) = phrase + clause;
  subject.norwegian += ",";
  return statement({.subject = subject, .verb = &lexicon().be, .object = agreeing_predicate(adjective, phrase)});
}

NounPhrase draw_head(Draw& draw, const Noun& head) {
  return noun_phrase({.noun = head, .determiner = draw.chance(70) ? Determiner::Definite : Determiner::DefinitePlural});
}

// "The man who bought the car is old."
Phrase subject_relative(Draw& draw) {
  const Noun& head = draw.noun(kPerson);
  const NounPhrase phrase = draw_head(draw, head);
  Clause clause{.subject = phrase, .verb = &draw.pick(lexicon().transitive)};
  static_cast<Phrase&>(clause.subject) = {"who", "som"};
  clause.tense = draw_tense(draw, *clause.verb, clause.subject);
  clause.negated = draw.chance(15);
  draw_object(draw, clause, false);
  draw.frame("who: {}", clause.verb->base);
  return described(draw, head, phrase, subordinate(clause));
}

// "The book that Anna bought is expensive."
Phrase object_relative(Draw& draw) {
  Clause clause = draw_clause(draw, lexicon().transitive);
  clause.negated = draw.chance(15);
  const Noun& head = draw.noun_with(verb_phrase(*clause.verb), clause.verb->objects);
  draw.frame("that: {}", clause.verb->base);
  const NounPhrase phrase = draw_head(draw, head);
  return described(draw, head, phrase, Phrase{"that", "som"} + subordinate(clause));
}

}  // namespace

Phrase predicate_sentence(Draw& draw) {
  Clause clause = draw_state(draw, draw.chance(50) ? kPerson | kAnimal : kVisible & ~uint32_t{kPerson});
  if (clause.tense == Tense::Past && draw.chance(40)) clause.time = draw.pick(lexicon().past_times);
  if (draw.chance(22)) return sentence(question(clause), '?');
  clause.negated = draw.chance(20);
  if (!clause.negated && clause.tense == Tense::Present && draw.chance(20)) {
    clause.adverb = draw_adverb(draw, Tense::Present);
  }
  const bool front = !clause.time.english.empty() && draw.chance(50);
  return sentence(statement(clause, front ? Front::Time : Front::Nothing), '.');
}

Phrase comparing_sentence(Draw& draw) {
  constexpr uint32_t kAmong[] = {kPerson, kAnimal, kText, kFood, kThing, kPlace, kTransport, kEvent};
  const uint32_t kind = draw.pick(kAmong);
  const Noun& noun = draw.noun(kind);
  const Adjective& adjective = draw.adjective(kind, true);
  draw.combine(adjective.english, noun.english);
  if (draw.chance(35)) return superlative_sentence(draw, noun, adjective);
  draw.frame("comparative: {}", adjective.english);
  const Phrase standard = draw_definite_phrase(draw, draw.noun(kind), Owners::NotThird);
  Clause clause{.subject = draw_definite_phrase(draw, noun, Owners::All),
                .verb = &lexicon().be,
                .tense = draw.chance(70) ? Tense::Present : Tense::Past,
                .object = Phrase{adjective.english_comparative + " than", adjective.comparative + " enn"} + standard};
  return asked_or_said(draw, clause, 25, 15);
}

Phrase existence_sentence(Draw& draw) {
  const Noun& noun = draw.noun(kPerson | kAnimal | kThing | kFood);
  const Phrase& place = draw.pick(lexicon().places);
  draw.combine(place.english, noun.english);
  const Adjective* adjective = draw.chance(35) ? &draw.adjective_with(noun) : nullptr;
  using enum Determiner;
  constexpr Determiner kDeterminers[] = {Indefinite, Counted, Many, Several};
  const NounPhrase thing = noun_phrase({.noun = noun,
                                        .determiner = draw.pick(kDeterminers),
                                        .adjective = adjective,
                                        .count = static_cast<int>(draw.between(2, 12))});
  Clause clause{.subject = {{"there", "det"}, thing.plural},
                .verb = &lexicon().be,
                .tense = draw.chance(60) ? Tense::Present : Tense::Past,
                .object = thing,
                .place = place};
  draw.frame("existence: {}", place.english);
  return asked_or_said(draw, clause, 30, thing.plural ? 0 : 15);
}

Phrase nested_sentence(Draw& draw) {
  const int64_t kind = draw.below(100);
  if (kind < 50) return sentence(that_sentence(draw), '.');
  return sentence(kind < 75 ? because_sentence(draw) : conditional_sentence(draw), '.');
}

Phrase relative_sentence(Draw& draw) {
  return sentence(draw.chance(55) ? subject_relative(draw) : object_relative(draw), '.');
}

Phrase weather_sentence(Draw& draw) {
  const Phrase& weather = draw.pick(lexicon().weathers);
  const Phrase& place = draw.pick(draw.chance(50) ? lexicon().towns : lexicon().places);
  draw.frame("weather: {}", weather.english);
  draw.combine(weather.english, place.english);
  // "er kaldt": the subject "det" may stand between the two words.
  std::string inverted = weather.norwegian + " ";
  inverted.insert(inverted.find(' '), " det");
  inverted = join({inverted.substr(0, inverted.size() - 1), place.norwegian});
  const std::string english = join({weather.english, place.english});  // is raining in Oslo
  const int64_t form = draw.below(3);
  if (form == 0) return sentence(Phrase{"it", "det"} + weather + place, '.');
  if (form == 1) return sentence(draw.pick(lexicon().moments) + Phrase{"it " + english, inverted}, '.');
  return sentence({"is it" + english.substr(2), inverted}, '?');
}

}  // namespace weft::sample
