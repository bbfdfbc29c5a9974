// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "data/sample/clauses.h"

// The kinds of sentences of the sample corpus. Each draws one pair, capitalised and with its mark, and notes in `draw`
// its frame (what kind, which verb) and its combinations.
namespace weft::sample {

struct Family {
  const char* name;
  int weight;  // relative share of the draws
  Phrase (*make)(Draw&);
};

std::span<const Family> families();
Phrase draw_sentence(Draw& draw, const Family** family = nullptr);

// frames.cpp: a verb and its object
Phrase transitive_statement(Draw& draw);
Phrase transitive_question(Draw& draw);
Phrase asking_question(Draw& draw);
Phrase intransitive_sentence(Draw& draw);
Phrase giving_sentence(Draw& draw);
Phrase drinking_sentence(Draw& draw);

// predicates.cpp: predicates, existence, sentences within sentences
Phrase predicate_sentence(Draw& draw);
Phrase comparing_sentence(Draw& draw);
Phrase existence_sentence(Draw& draw);
Phrase nested_sentence(Draw& draw);
Phrase relative_sentence(Draw& draw);
Phrase weather_sentence(Draw& draw);

// figures.cpp: numbers, prices, dates and the clock
Phrase number_sentence(Draw& draw);
Phrase price_sentence(Draw& draw);
Phrase date_sentence(Draw& draw);
Phrase clock_sentence(Draw& draw);
Phrase clock_time(int hour, int minute);           // 1..12, a multiple of 5: "half past three" - "halv fire"
Phrase date_phrase(int day, const Phrase& month);  // "the third of May" - "den tredje mai"

// Clauses in parts, so that nothing is drawn and noted that the sentence does not hold.
Clause draw_clause(Draw& draw, const std::vector<Verb>& verbs);  // verb, subject and tense
void draw_polarity(Draw& draw, Clause& clause);                  // not, an adverb, or neither
void draw_object(Draw& draw, Clause& clause, bool pronouns = true);
std::string verb_phrase(const Verb& verb);  // "wait for"
// The sentence asked in `asked` percent of the draws, else said, and negated in `negated` percent of these.
Phrase asked_or_said(Draw& draw, Clause& clause, int asked, int negated);
// The words of a statement with a time in front or behind, or without.
Phrase stated(Draw& draw, Clause& clause);

}  // namespace weft::sample
