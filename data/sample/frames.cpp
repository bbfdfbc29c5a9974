#include "data/sample/frames.h"

#include <fmt/format.h>

#include <array>

#include "data/sample/numbers.h"

namespace weft::sample {
namespace {

constexpr auto kFamilies = std::to_array<Family>({{"transitive", 22, transitive_statement},
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
                                                  {"clock", 6, clock_sentence}});

// The name of a frame: its kind and its verb.
std::string frame_name(const char* kind, const Verb& verb) { return fmt::format("{}: {}", kind, verb_phrase(verb)); }

}  // namespace

std::span<const Family> families() { return kFamilies; }

Phrase draw_sentence(Draw& draw, const Family** family) {
  int64_t total = 0;
  for (const Family& each : kFamilies) total += each.weight;
  int64_t choice = draw.below(total);
  const Family* chosen = kFamilies.data();
  while (choice >= chosen->weight) choice -= (chosen++)->weight;
  if (family) *family = chosen;
  draw.start();
  return chosen->make(draw);
}

std::string verb_phrase(const Verb& verb) { return join({verb.base, verb.preposition}); }

Clause draw_clause(Draw& draw, std::span<const Verb> verbs) {
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
  if (draw.chance(18)) {
    clause.negated = true;
  } else if (draw.chance(40)) {
    clause.adverb = draw_adverb(draw, clause.tense);
  }
}

void draw_object(Draw& draw, Clause& clause, bool pronouns) {
  // A pronoun would stand before "ikke" and other adverbs: such sentences are left out.
  const bool plain = !clause.negated && clause.adverb.english.empty();
  if (pronouns && plain && (clause.verb->objects & kPerson) && draw.chance(15)) {
    clause.object = draw_object_pronoun(draw, clause.subject);
    return;
  }
  const Noun& noun = draw.noun(clause.verb->objects);
  draw.combine(verb_phrase(*clause.verb), noun.english);
  clause.object = draw_noun_phrase(draw, noun, owners_beside(clause.subject));
}

void draw_place(Draw& draw, Clause& clause) {
  const Pair& place = draw.pick(places());
  draw.combine(verb_phrase(*clause.verb), place.english);
  clause.place = {place.english, place.norwegian};
}

Phrase stated(Draw& draw, Clause& clause) {
  clause.time = {};
  if (clause.adverb.english.empty() && draw.chance(65)) clause.time = draw_time(draw, clause.tense, *clause.verb);
  const bool front = !clause.time.english.empty() && draw.chance(55);
  return statement(clause, front ? Front::Time : Front::Nothing);
}

Phrase transitive_statement(Draw& draw) {
  Clause clause = draw_clause(draw, transitive_verbs());
  draw_polarity(draw, clause);
  draw_object(draw, clause);
  draw.frame(frame_name(clause.negated ? "negated" : "statement", *clause.verb));
  if (draw.chance(20)) draw_place(draw, clause);
  return sentence(stated(draw, clause), '.');
}

Phrase transitive_question(Draw& draw) {
  Clause clause = draw_clause(draw, transitive_verbs());
  draw_object(draw, clause);
  draw.frame(frame_name("question", *clause.verb));
  if (draw.chance(50)) clause.time = draw_time(draw, clause.tense, *clause.verb);
  return sentence(question(clause), '?');
}

// "Who has invited the teacher?"
static Phrase who_question(Draw& draw) {
  Clause clause{.subject = fixed_phrase("who", "hvem"), .verb = &draw.pick(transitive_verbs())};
  clause.tense = draw_tense(draw, *clause.verb, clause.subject);
  // "Who read the book?" is past, "Who reads the book?" present: both are plain.
  draw_object(draw, clause);
  draw.frame(frame_name("who", *clause.verb));
  if (draw.chance(50)) clause.time = draw_time(draw, clause.tense, *clause.verb);
  return sentence(statement(clause), '?');
}

Phrase asking_question(Draw& draw) {
  constexpr auto kWords = std::to_array<Pair>({{"where", "hvor"}, {"when", "når"}, {"why", "hvorfor"}});
  const int64_t kind = draw.below(100);
  if (kind < 15) return who_question(draw);
  Clause clause = draw_clause(draw, transitive_verbs());
  if (kind < 70) {
    draw_object(draw, clause);
    const Pair& word = draw.pick(std::span<const Pair>(kWords));
    draw.frame(frame_name(word.english, *clause.verb));
    return sentence(question(clause, {word.english, word.norwegian}), '?');
  }
  if (draw.chance(50)) clause.time = draw_time(draw, clause.tense, *clause.verb);
  if (kind < 82) {
    draw.frame(frame_name("what", *clause.verb));
    return sentence(question(clause, {"what", "hva"}), '?');
  }
  draw.frame(frame_name("how many", *clause.verb));
  const Noun& noun = draw.noun(clause.verb->objects);
  draw.combine(verb_phrase(*clause.verb), noun.english);
  return sentence(question(clause, {join({"how many", noun.english_plural}), join({"hvor mange", noun.plural})}), '?');
}

Phrase intransitive_sentence(Draw& draw) {
  Clause clause = draw_clause(draw, intransitive_verbs());
  if ((clause.verb->traits & kMotion) && draw.chance(40)) {
    const Pair& manner = draw.pick(manners());
    clause.object = {manner.english, manner.norwegian};
  }
  if (draw.chance(70)) draw_place(draw, clause);
  if (draw.chance(25)) {
    draw.frame(frame_name("question", *clause.verb));
    clause.time = draw_time(draw, clause.tense, *clause.verb);
    return sentence(question(clause), '?');
  }
  draw_polarity(draw, clause);
  draw.frame(frame_name(clause.negated ? "negated" : "statement", *clause.verb));
  return sentence(stated(draw, clause), '.');
}

Phrase giving_sentence(Draw& draw) {
  Clause clause = draw_clause(draw, giving_verbs());
  const Owners owners = owners_beside(clause.subject);
  const Phrase receiver =
      draw.chance(45) ? draw_object_pronoun(draw, clause.subject) : Phrase(draw_person(draw, owners));
  const Noun& noun = draw.noun(clause.verb->objects);
  draw.combine(clause.verb->base, noun.english);
  const NounPhrase gift = draw_noun_phrase(draw, noun, Owners::NotThird);
  clause.object = {join({receiver.english, gift.english}), join({receiver.norwegian, gift.norwegian})};
  draw.frame(frame_name("giving", *clause.verb));
  if (draw.chance(25)) return sentence(question(clause), '?');
  return sentence(stated(draw, clause), '.');
}

Phrase drinking_sentence(Draw& draw) {
  Clause clause = draw_clause(draw, drinking_verbs());
  const Container& container = draw.pick(containers());
  const Pair& drink = draw.pick(drinks());
  draw.combine(clause.verb->base, join({container.english, drink.english}));
  const int64_t count = draw.chance(60) ? 1 : draw.between(2, 6);
  clause.object = {join({count == 1 ? "a" : english_number(count),
                         count == 1 ? container.english : container.english_plural, "of", drink.english}),
                   join({count == 1 ? container.article : norwegian_number(count),
                         count == 1 ? container.singular : container.plural, drink.norwegian})};
  draw.frame(frame_name("drinking", *clause.verb));
  draw_polarity(draw, clause);
  return sentence(stated(draw, clause), '.');
}

}  // namespace weft::sample
