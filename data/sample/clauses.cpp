// SPDX-License-Identifier: Apache-2.0
#include "data/sample/clauses.h"

#include "base/enum_table.h"

namespace weft::sample {
namespace {

struct VerbGroup {
  std::string auxiliary;  // has; empty if "do" has to help, and in Norwegian
  std::string finite;     // buys, wants
  std::string bare;       // buy, want: after "do"
  std::string tail;       // bought (after has), to buy (after wants)
};

// Tenses from Future on: a verb before the infinitive.
struct Modal {
  const char *base, *third, *norwegian;
  bool with_to;  // "wants to", which takes "do"; an auxiliary otherwise
  const char* norwegian_to;
};
const Modal& modal_of(Tense tense) {
  static constexpr auto kModals = std::to_array<Modal>({{"will", "will", "skal", false, ""},
                                                        {"can", "can", "kan", false, ""},
                                                        {"must", "must", "må", false, ""},
                                                        {"should", "should", "bør", false, ""},
                                                        {"want", "wants", "vil", true, ""},
                                                        {"try", "tries", "prøver", true, "å"},
                                                        {"like", "likes", "liker", true, "å"}});
  constexpr auto kFirst = static_cast<size_t>(Tense::Future);
  static_assert(kModals.size() == enum_size<Tense>() - kFirst);
  return kModals.at(static_cast<size_t>(tense) - kFirst);
}

const char* be_form(const NounPhrase& subject, bool past) {
  if (past) return subject.plural || subject.person == 2 ? "were" : "was";
  if (subject.plural || subject.person == 2) return "are";
  return subject.person == 1 ? "am" : "is";
}

VerbGroup english_verbs(const Clause& clause) {
  const Verb& verb = *clause.verb;
  const NounPhrase& subject = clause.subject;
  const bool be = &verb == &lexicon().be;
  const bool past = clause.tense == Tense::Past || clause.tense == Tense::PastProgressive;
  if (clause.tense == Tense::Present || clause.tense == Tense::Past) {
    if (be) return {.auxiliary = be_form(subject, past)};
    return {.finite = past ? verb.past : subject.third_singular() ? verb.third : verb.base, .bare = verb.base};
  }
  if (clause.tense == Tense::Progressive || clause.tense == Tense::PastProgressive) {
    return {.auxiliary = be_form(subject, past), .tail = verb.progressive};
  }
  if (clause.tense == Tense::Perfect) {
    return {.auxiliary = subject.third_singular() ? "has" : "have", .tail = verb.participle};
  }
  const Modal& modal = modal_of(clause.tense);
  if (!modal.with_to) return {.auxiliary = modal.base, .tail = verb.base};
  return {.finite = subject.third_singular() ? modal.third : modal.base,
          .bare = modal.base,
          .tail = join({"to", verb.base})};
}

const char* do_form(const Clause& clause) {
  if (clause.tense == Tense::Past) return "did";
  return clause.subject.third_singular() ? "does" : "do";
}

std::string english_end(const Clause& clause) {
  return join({clause.verb->preposition, clause.object.english, clause.place.english});
}

VerbGroup norwegian_verbs(const Clause& clause) {
  using enum Tense;
  const Verb& verb = *clause.verb;
  if (clause.tense == Present || clause.tense == Progressive) return {.finite = verb.present};
  if (clause.tense == Past || clause.tense == PastProgressive) return {.finite = verb.preterite};
  if (clause.tense == Perfect) return {.finite = "har", .tail = verb.supine};
  const Modal& modal = modal_of(clause.tense);
  return {.finite = modal.norwegian, .tail = join({modal.norwegian_to, verb.infinitive})};
}

std::string norwegian_end(const Clause& clause, const VerbGroup& verbs) {
  return join({verbs.tail, clause.verb->particle, clause.object.norwegian, clause.place.norwegian});
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
  const VerbGroup verbs = norwegian_verbs(clause);
  const std::string& subject = clause.subject.norwegian;
  const bool inverted = front == Front::Time;
  const Phrase words{english_statement(clause),
                     join({inverted ? verbs.finite : subject, inverted ? subject : verbs.finite, norwegian_not(clause),
                           clause.adverb.norwegian, norwegian_end(clause, verbs)})};
  return inverted ? clause.time + words : words + clause.time;
}

Phrase question(const Clause& clause, const Phrase& asked) {
  const VerbGroup english = english_verbs(clause);
  const bool with_do = english.auxiliary.empty();
  const VerbGroup norwegian = norwegian_verbs(clause);
  const Phrase words{
      join({with_do ? do_form(clause) : english.auxiliary, clause.subject.english, clause.negated ? "not" : "",
            clause.adverb.english, with_do ? english.bare : "", english.tail, english_end(clause)}),
      join({norwegian.finite, clause.subject.norwegian, norwegian_not(clause), clause.adverb.norwegian,
            norwegian_end(clause, norwegian)})};
  return asked + words + clause.time;
}

Phrase subordinate(const Clause& clause) {
  const VerbGroup verbs = norwegian_verbs(clause);
  return Phrase{english_statement(clause),
                join({clause.subject.norwegian, norwegian_not(clause), clause.adverb.norwegian, verbs.finite,
                      norwegian_end(clause, verbs)})} +
         clause.time;
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
  using enum Tense;
  // Each as often as it stands here.
  constexpr Tense kTenses[] = {Present, Present, Present, Present, Progressive, Progressive, PastProgressive, Past,
                               Past,    Past,    Past,    Perfect, Perfect,     Perfect,     Future,          Future,
                               Future,  Can,     Must,    Should,  Want,        Try,         LikeTo};
  if (verb.traits & kPresentOnly) return Tense::Present;
  Tense tense = draw.pick(kTenses);
  if (verb.traits & kStative) {
    if (tense == Tense::Progressive || tense == Tense::Try || tense == Tense::LikeTo) tense = Tense::Present;
    if (tense == Tense::PastProgressive) tense = Tense::Past;
  }
  const bool simple = tense == Tense::Present || tense == Tense::Past;
  if ((verb.traits & kSameEnglishPast) && simple && !subject.third_singular()) tense = Tense::Perfect;
  return tense;
}

Phrase draw_time(Draw& draw, Tense tense, const Verb& verb) {
  using enum Tense;
  if (tense == Perfect || tense == Try) return {};
  if (tense == Progressive) return draw.pick(lexicon().moments);
  if (tense == Past || tense == PastProgressive) return draw.pick(lexicon().past_times);
  if (tense != Present && tense != LikeTo) return draw.pick(lexicon().future_times);
  return verb.traits & kStative ? Phrase{} : draw.pick(lexicon().habits);
}

Phrase draw_adverb(Draw& draw, Tense tense) {
  if (tense != Tense::Present && tense != Tense::Perfect) return {};
  return draw.pick(tense == Tense::Present ? lexicon().present_adverbs : lexicon().perfect_adverbs);
}

Owners owners_beside(const NounPhrase& subject) { return subject.person == 3 ? Owners::NotThird : Owners::All; }

}  // namespace weft::sample
