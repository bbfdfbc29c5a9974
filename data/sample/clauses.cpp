#include "data/sample/clauses.h"

#include <array>

#include "base/error.h"

namespace weft::sample {
namespace {

struct VerbGroup {
  std::string auxiliary;  // has; empty where "do" has to help
  std::string finite;     // buys, wants
  std::string bare;       // buy, want: after "do"
  std::string tail;       // bought (after has), to buy (after wants)
};

const char* be_form(const NounPhrase& subject, bool past) {
  if (past) return subject.plural || subject.person == 2 ? "were" : "was";
  if (subject.plural || subject.person == 2) return "are";
  return subject.person == 1 ? "am" : "is";
}

VerbGroup infinitive_after(const char* base, const char* third, const NounPhrase& subject, const Verb& verb) {
  return {.finite = subject.third_singular() ? third : base, .bare = base, .tail = join({"to", verb.base})};
}

VerbGroup english_verbs(const Clause& clause) {
  const Verb& verb = *clause.verb;
  const NounPhrase& subject = clause.subject;
  const bool be = &verb == &to_be();
  switch (clause.tense) {
    case Tense::Present:
      if (be) return {.auxiliary = be_form(subject, false)};
      return {.finite = subject.third_singular() ? verb.third : verb.base, .bare = verb.base};
    case Tense::Past:
      if (be) return {.auxiliary = be_form(subject, true)};
      return {.finite = verb.past, .bare = verb.base};
    case Tense::Progressive:
      return {.auxiliary = be_form(subject, false), .tail = verb.progressive};
    case Tense::PastProgressive:
      return {.auxiliary = be_form(subject, true), .tail = verb.progressive};
    case Tense::Perfect:
      return {.auxiliary = subject.third_singular() ? "has" : "have", .tail = verb.participle};
    case Tense::Future:
      return {.auxiliary = "will", .tail = verb.base};
    case Tense::Can:
      return {.auxiliary = "can", .tail = verb.base};
    case Tense::Must:
      return {.auxiliary = "must", .tail = verb.base};
    case Tense::Should:
      return {.auxiliary = "should", .tail = verb.base};
    case Tense::Want:
      return infinitive_after("want", "wants", subject, verb);
    case Tense::Try:
      return infinitive_after("try", "tries", subject, verb);
    case Tense::LikeTo:
      return infinitive_after("like", "likes", subject, verb);
  }
  throw InternalError("a case of the sample grammar is missing");
}

const char* do_form(const Clause& clause) {
  if (clause.tense == Tense::Past) return "did";
  return clause.subject.third_singular() ? "does" : "do";
}

std::string english_end(const Clause& clause) {
  return join({clause.verb->preposition, clause.object.english, clause.place.english});
}

struct NorwegianVerbs {
  std::string finite;
  std::string tail;
};

NorwegianVerbs norwegian_verbs(const Clause& clause) {
  const Verb& verb = *clause.verb;
  switch (clause.tense) {
    case Tense::Present:
    case Tense::Progressive:
      return {.finite = verb.present};
    case Tense::Past:
    case Tense::PastProgressive:
      return {.finite = verb.preterite};
    case Tense::Perfect:
      return {.finite = "har", .tail = verb.supine};
    case Tense::Future:
      return {.finite = "skal", .tail = verb.infinitive};
    case Tense::Can:
      return {.finite = "kan", .tail = verb.infinitive};
    case Tense::Must:
      return {.finite = "må", .tail = verb.infinitive};
    case Tense::Should:
      return {.finite = "bør", .tail = verb.infinitive};
    case Tense::Want:
      return {.finite = "vil", .tail = verb.infinitive};
    case Tense::Try:
      return {.finite = "prøver", .tail = join({"å", verb.infinitive})};
    case Tense::LikeTo:
      return {.finite = "liker", .tail = join({"å", verb.infinitive})};
  }
  throw InternalError("a case of the sample grammar is missing");
}

std::string norwegian_end(const Clause& clause, const NorwegianVerbs& verbs) {
  return join({verbs.tail, clause.verb->norwegian_particle, clause.object.norwegian, clause.place.norwegian});
}

const char* norwegian_not(const Clause& clause) { return clause.negated ? "ikke" : ""; }

std::string english_statement(const Clause& clause) {
  const VerbGroup verbs = english_verbs(clause);
  const std::string& subject = clause.subject.english;
  const std::string end = english_end(clause);
  if (!verbs.auxiliary.empty()) {
    if (clause.negated && verbs.auxiliary == "can") return join({subject, "cannot", verbs.tail, end});
    return join({subject, verbs.auxiliary, clause.negated ? "not" : "", clause.adverb.english, verbs.tail, end});
  }
  if (clause.negated) return join({subject, do_form(clause), "not", verbs.bare, verbs.tail, end});
  return join({subject, clause.adverb.english, verbs.finite, verbs.tail, end});
}

}  // namespace

Phrase statement(const Clause& clause, Front front) {
  const NorwegianVerbs verbs = norwegian_verbs(clause);
  const std::string end = norwegian_end(clause, verbs);
  if (front == Front::Time) {
    return {join({clause.time.english, english_statement(clause)}),
            join({clause.time.norwegian, verbs.finite, clause.subject.norwegian, norwegian_not(clause),
                  clause.adverb.norwegian, end})};
  }
  return {join({english_statement(clause), clause.time.english}),
          join({clause.subject.norwegian, verbs.finite, norwegian_not(clause), clause.adverb.norwegian, end,
                clause.time.norwegian})};
}

Phrase question(const Clause& clause, const Phrase& asked) {
  const VerbGroup english = english_verbs(clause);
  const std::string_view helper = english.auxiliary.empty() ? do_form(clause) : std::string_view(english.auxiliary);
  const NorwegianVerbs norwegian = norwegian_verbs(clause);
  return {join({asked.english, helper, clause.subject.english, clause.negated ? "not" : "", clause.adverb.english,
                english.auxiliary.empty() ? english.bare : "", english.tail, english_end(clause), clause.time.english}),
          join({asked.norwegian, norwegian.finite, clause.subject.norwegian, norwegian_not(clause),
                clause.adverb.norwegian, norwegian_end(clause, norwegian), clause.time.norwegian})};
}

Phrase subordinate(const Clause& clause) {
  const NorwegianVerbs verbs = norwegian_verbs(clause);
  return {join({english_statement(clause), clause.time.english}),
          join({clause.subject.norwegian, norwegian_not(clause), clause.adverb.norwegian, verbs.finite,
                norwegian_end(clause, verbs), clause.time.norwegian})};
}

std::string capitalised(std::string text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first >= 'a' && first <= 'z') text[0] = static_cast<char>(first - 0x20);
  // æ, ø, å: U+00E0 to U+00FE, whose capitals lie 0x20 below, in the second byte of UTF-8.
  if (first == 0xC3 && static_cast<unsigned char>(text[1]) >= 0xA0) text[1] = static_cast<char>(text[1] - 0x20);
  return text;
}

Phrase sentence(const Phrase& words, char mark) {
  return {capitalised(words.english) + mark, capitalised(words.norwegian) + mark};
}

Tense draw_tense(Draw& draw, const Verb& verb, const NounPhrase& subject) {
  constexpr auto kTenses = std::to_array<Tense>({Tense::Present,
                                                 Tense::Present,
                                                 Tense::Present,
                                                 Tense::Present,
                                                 Tense::Progressive,
                                                 Tense::Progressive,
                                                 Tense::PastProgressive,
                                                 Tense::Past,
                                                 Tense::Past,
                                                 Tense::Past,
                                                 Tense::Past,
                                                 Tense::Perfect,
                                                 Tense::Perfect,
                                                 Tense::Perfect,
                                                 Tense::Future,
                                                 Tense::Future,
                                                 Tense::Future,
                                                 Tense::Can,
                                                 Tense::Must,
                                                 Tense::Should,
                                                 Tense::Want,
                                                 Tense::Try,
                                                 Tense::LikeTo});
  if (verb.traits & kPresentOnly) return Tense::Present;
  Tense tense = draw.pick(std::span<const Tense>(kTenses));
  if (verb.traits & kStative) {
    if (tense == Tense::Progressive || tense == Tense::Try || tense == Tense::LikeTo) tense = Tense::Present;
    if (tense == Tense::PastProgressive) tense = Tense::Past;
  }
  const bool simple = tense == Tense::Present || tense == Tense::Past;
  if ((verb.traits & kSameEnglishPast) && simple && !subject.third_singular()) tense = Tense::Perfect;
  return tense;
}

Phrase draw_time(Draw& draw, Tense tense, const Verb& verb) {
  const auto pick = [&](std::span<const Pair> times) {
    const Pair& time = draw.pick(times);
    return Phrase{time.english, time.norwegian};
  };
  switch (tense) {
    case Tense::Present:
    case Tense::LikeTo:
      return verb.traits & kStative ? Phrase{} : pick(habits());
    case Tense::Progressive:
      return pick(moments());
    case Tense::Past:
    case Tense::PastProgressive:
      return pick(past_times());
    case Tense::Perfect:
    case Tense::Try:
      return {};
    case Tense::Future:
    case Tense::Can:
    case Tense::Must:
    case Tense::Should:
    case Tense::Want:
      return pick(future_times());
  }
  throw InternalError("a case of the sample grammar is missing");
}

Phrase draw_adverb(Draw& draw, Tense tense) {
  if (tense != Tense::Present && tense != Tense::Perfect) return {};
  const Pair& adverb = draw.pick(tense == Tense::Present ? present_adverbs() : perfect_adverbs());
  return {adverb.english, adverb.norwegian};
}

bool is_third_person(const NounPhrase& subject) { return subject.person == 3; }

Owners owners_beside(const NounPhrase& subject) { return is_third_person(subject) ? Owners::NotThird : Owners::All; }

}  // namespace weft::sample
