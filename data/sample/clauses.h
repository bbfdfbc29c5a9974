// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "data/sample/phrases.h"

// Clauses of the sample corpus: a subject, a verb in a tense and what follows it, put in the word order of English and
// Norwegian. Norwegian keeps its finite verb second ("I dag kjøper jeg ei bok"), and its adverbs after the finite
// verb in a main clause but before it in a subordinate one ("at jeg ikke kjøper boka").
namespace weft::sample {

enum class Tense { Present, Progressive, Past, PastProgressive, Perfect, Future, Can, Must, Should, Want, Try, LikeTo };

struct Clause {
  NounPhrase subject;
  const Verb* verb = nullptr;
  Tense tense = Tense::Present;
  bool negated = false;
  Phrase adverb = {};  // between subject and verb: often, already
  Phrase object = {};  // or predicate
  Phrase place = {};   // or manner
  Phrase time = {};
};

enum class Front { Nothing, Time };

Phrase statement(const Clause& clause, Front front = Front::Nothing);
// A yes-no question, or one that begins with `asked` ("where", "how many books").
Phrase question(const Clause& clause, const Phrase& asked = {});
// After "that", "because", or with "who" as its subject.
Phrase subordinate(const Clause& clause);

// "Anna sees the dog.": a capital letter in front, the mark behind.
Phrase sentence(const Phrase& words, char mark);
std::string capitalised(std::string text);

// A tense, and a time that fits it, or none.
Tense draw_tense(Draw& draw, const Verb& verb, const NounPhrase& subject);
Phrase draw_time(Draw& draw, Tense tense, const Verb& verb);
Phrase draw_adverb(Draw& draw, Tense tense);  // empty for tenses that take none
Owners owners_beside(const NounPhrase& subject);

}  // namespace weft::sample
