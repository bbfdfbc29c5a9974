// SPDX-License-Identifier: Apache-2.0
#include "data/sample/frames.h"

namespace weft::sample {
namespace {

constexpr Family kFamilies[] = {{"transitive", 22, transitive_statement},
                                {"yes-no question", 8, transitive_question},
                                {"question", 8, asking_question},
                                {"intransitive", 9, intransitive_sentence},
                                {"giving", 6, giving_sentence},
                                {"drinking", 2, drinking_sentence},
                                {"predicate", 14, predicate_sentence},
                                {"comparing", 8, comparing_sentence},
                                {"existence", 3, existence_sentence},
                                {"nested", 8, nested_sentence},
                                {"relative", 5, relative_sentence},
                                {"weather", 1, weather_sentence},
                                {"number", 6, number_sentence},
                                {"price", 5, price_sentence},
                                {"date", 5, date_sentence},
                                {"clock", 6, clock_sentence}};

void name_frame(Draw& draw, std::string_view kind, const Clause& clause) {
  draw.frame("{}: {}", kind, verb_phrase(*clause.verb));
}

void draw_time_in(Draw& draw, Clause& clause, int percent) {
  if (draw.chance(percent)) clause.time = draw_time(draw, clause.tense, *clause.verb);
}

void draw_place_in(Draw& draw, Clause& clause) {
  clause.place = draw.pick(lexicon().places);
  draw.combine(verb_phrase(*clause.verb), clause.place.english);
}

}  // namespace

std::span<const Family> families() { return kFamilies; }

Phrase draw_sentence(Draw& draw, const Family** family) {
  int64_t total = 0;
  for (const Family& each : kFamilies) total += each.weight;
  int64_t choice = draw.below(total);
  const Family* chosen = kFamilies;
  while (choice >= chosen->weight) choice -= (chosen++)->weight;
  if (family) *family = chosen;
  draw.start();
  return chosen->make(draw);
}

std::string verb_phrase(const Verb& verb) { return join({verb.base, verb.preposition}); }

Clause draw_clause(Draw& draw, const std::vector<Verb>& verbs) {
  Clause clause;
  clause.verb = &draw.pick(verbs);
  const Noun* head = nullptr;
  clause.subject = draw_subject(draw, clause.verb->subjects, &head);
  // The pair that matters is verb and object; without an object, verb and subject.
  if (head && clause.verb->objects == 0) draw.combine(verb_phrase(*clause.verb), head->english);
  clause.tense = draw_tense(draw, *clause.verb, clause.subject);
  return clause;
}

void draw_polarity(Draw& draw, Clause& clause) {
  clause.negated = draw.chance(18);
  if (!clause.negated && draw.chance(40)) clause.adverb = draw_adverb(draw, clause.tense);
}

void draw_object(Draw& draw, Clause& clause, bool pronouns) {
  // A pronoun would stand before "ikke" and other adverbs: such sentences are left out.
  const bool plain = !clause.negated && clause.adverb.english.empty();
  if (pronouns && plain && (clause.verb->objects & kPerson) && draw.chance(15)) {
    clause.object = draw_object_pronoun(draw, clause.subject);
    return;
  }
  const Noun& noun = draw.noun_with(verb_phrase(*clause.verb), clause.verb->objects);
  clause.object = draw_noun_phrase(draw, noun, owners_beside(clause.subject));
}

Phrase asked_or_said(Draw& draw, Clause& clause, int asked, int negated) {
  if (draw.chance(asked)) return sentence(question(clause), '?');
  clause.negated = negated > 0 && draw.chance(negated);
  return sentence(statement(clause), '.');
}

Phrase stated(Draw& draw, Clause& clause) {
  clause.time = {};
  if (clause.adverb.english.empty()) draw_time_in(draw, clause, 65);
  const bool front = !clause.time.english.empty() && draw.chance(55);
  return statement(clause, front ? Front::Time : Front::Nothing);
}

Phrase transitive_statement(Draw& draw) {
  Clause clause = draw_clause(draw, lexicon().transitive);
  draw_polarity(draw, clause);
  draw_object(draw, clause);
  name_frame(draw, clause.negated ? "negated" : "statement", clause);
  if (draw.chance(20)) draw_place_in(draw, clause);
  return sentence(stated(draw, clause), '.');
}

Phrase transitive_question(Draw& draw) {
  Clause clause = draw_clause(draw, lexicon().transitive);
  draw_object(draw, clause);
  name_frame(draw, "question", clause);
  draw_time_in(draw, clause, 50);
  return sentence(question(clause), '?');
}

// "Who has invited the teacher?"
static Phrase who_question(Draw& draw) {
  Clause clause{.subject = {{"who", "hvem"}}, .verb = &draw.pick(lexicon().transitive)};
  clause.tense = draw_tense(draw, *clause.verb, clause.subject);
  // "Who read the book?" is past, "Who reads the book?" present: both are plain.
  draw_object(draw, clause);
  name_frame(draw, "who", clause);
  draw_time_in(draw, clause, 50);
  return sentence(statement(clause), '?');
}

Phrase asking_question(Draw& draw) {
  const Phrase words[] = {{"where", "hvor"}, {"when", "når"}, {"why", "hvorfor"}};
  const int64_t kind = draw.below(100);
  if (kind < 15) return who_question(draw);
  Clause clause = draw_clause(draw, lexicon().transitive);
  Phrase asked = {"what", "hva"};
  if (kind < 70) {
    draw_object(draw, clause);
    asked = draw.pick(words);
  } else {
    draw_time_in(draw, clause, 50);
  }
  name_frame(draw, kind < 82 ? asked.english : "how many", clause);
  if (kind >= 82) {
    const Noun& noun = draw.noun_with(verb_phrase(*clause.verb), clause.verb->objects);
    asked = Phrase{"how many", "hvor mange"} + Phrase{noun.english_plural, noun.plural};
  }
  return sentence(question(clause, asked), '?');
}

Phrase intransitive_sentence(Draw& draw) {
  Clause clause = draw_clause(draw, lexicon().intransitive);
  if ((clause.verb->traits & kMotion) && draw.chance(40)) clause.object = draw.pick(lexicon().manners);
  if (draw.chance(70)) draw_place_in(draw, clause);
  if (draw.chance(25)) {
    name_frame(draw, "question", clause);
    clause.time = draw_time(draw, clause.tense, *clause.verb);
    return sentence(question(clause), '?');
  }
  draw_polarity(draw, clause);
  name_frame(draw, clause.negated ? "negated" : "statement", clause);
  return sentence(stated(draw, clause), '.');
}

Phrase giving_sentence(Draw& draw) {
  Clause clause = draw_clause(draw, lexicon().giving);
  const Owners owners = owners_beside(clause.subject);
  const Phrase receiver = draw.chance(45) ? draw_object_pronoun(draw, clause.subject) : draw_person(draw, owners);
  const Noun& noun = draw.noun_with(clause.verb->base, clause.verb->objects);
  clause.object = receiver + draw_noun_phrase(draw, noun, Owners::NotThird);
  name_frame(draw, "giving", clause);
  if (draw.chance(25)) return sentence(question(clause), '?');
  return sentence(stated(draw, clause), '.');
}

Phrase drinking_sentence(Draw& draw) {
  Clause clause = draw_clause(draw, lexicon().drinking);
  const Noun& container = draw.pick(lexicon().containers);
  const Phrase& drink = draw.pick(lexicon().drinks);
  draw.combine(clause.verb->base, join({container.english, drink.english}));
  const bool one = draw.chance(60);
  const auto count = static_cast<int>(one ? 1 : draw.between(2, 6));
  const NounPhrase held = noun_phrase(
      {.noun = container, .determiner = one ? Determiner::Indefinite : Determiner::Counted, .count = count});
  clause.object = held + Phrase{"of", ""} + drink;
  name_frame(draw, "drinking", clause);
  draw_polarity(draw, clause);
  return sentence(stated(draw, clause), '.');
}

}  // namespace weft::sample
