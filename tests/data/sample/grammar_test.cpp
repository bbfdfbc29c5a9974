// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "data/sample/frames.h"

// Sentences whose Norwegian was checked by hand, for every construction of the sample grammar.
namespace weft::sample {
namespace {

using enum Determiner;

template <class T>
const T& named(const std::vector<T>& values, std::string_view english) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const T& v) { return v.english == english; });
  if (found == values.end()) throw std::runtime_error("no word " + std::string(english));
  return *found;
}

const Adjective& adjective(std::string_view english) { return named(lexicon().adjectives, english); }

NounPhrase noun(std::string_view english, Determiner determiner, std::string_view with = "", int owner = 0) {
  return noun_phrase({.noun = named(lexicon().nouns, english),
                      .determiner = determiner,
                      .adjective = with.empty() ? nullptr : &adjective(with),
                      .owner = owner,
                      .name = "Anna",
                      .count = 3});
}

const Verb& verb(std::string_view base) {
  for (const auto* verbs : {&lexicon().transitive, &lexicon().intransitive, &lexicon().giving, &lexicon().scheduled}) {
    for (const Verb& candidate : *verbs) {
      if (candidate.base == base) return candidate;
    }
  }
  return figure_verb(base);
}

NounPhrase pronoun(std::string_view english) {
  for (int i = 0; i < 6; ++i) {
    if (pronoun_subject(i).english == english) return pronoun_subject(i);
  }
  throw std::runtime_error("no pronoun");
}

Clause is(const NounPhrase& subject, std::string_view predicate, Tense tense = Tense::Present) {
  return {
      .subject = subject,
      .verb = &lexicon().be,
      .tense = tense,
      .object = {std::string(predicate), std::string(agreeing(adjective(predicate), subject.plural, subject.gender))}};
}

void expect(const Phrase& phrase, const char* english, const char* norwegian) {
  EXPECT_EQ(phrase.english, english);
  EXPECT_EQ(phrase.norwegian, norwegian);
}

void expect_noun(const NounPhrase& phrase, const char* english, const char* norwegian) {
  expect(phrase, english, norwegian);
}

TEST(SampleGrammar, NounPhrases) {
  expect_noun(noun("book", Indefinite), "a book", "ei bok");
  expect_noun(noun("house", Indefinite, "old"), "an old house", "et gammelt hus");
  expect_noun(noun("cabin", Indefinite, "small"), "a small cabin", "ei lita hytte");
  expect_noun(noun("car", Indefinite, "small"), "a small car", "en liten bil");
  expect_noun(noun("umbrella", Indefinite), "an umbrella", "en paraply");
  expect_noun(noun("book", Indefinite, "useful"), "a useful book", "ei nyttig bok");
  expect_noun(noun("child", Definite), "the child", "barnet");
  expect_noun(noun("book", Definite, "red" /* of books too */), "the red book", "den røde boka");
  expect_noun(noun("house", Definite, "small"), "the small house", "det lille huset");
  expect_noun(noun("mouse", DefinitePlural, "small"), "the small mice", "de små musene");
  expect_noun(noun("man", DefinitePlural), "the men", "mennene");
  expect_noun(noun("knife", IndefinitePlural, "dirty"), "dirty knives", "skitne kniver");
  expect_noun(noun("letter", Counted, "long"), "three long letters", "tre lange brev");
  expect_noun(noun("brother", Many), "many brothers", "mange brødre");
  expect_noun(noun("farmer", Several), "several farmers", "flere bønder");
  expect_noun(noun("carrot", All), "all the carrots", "alle gulrøttene");
  expect_noun(noun("carrot", All, "fresh"), "all the fresh carrots", "alle de ferske gulrøttene");
  expect_noun(noun("table", This), "this table", "dette bordet");
  expect_noun(noun("table", That, "brown"), "that brown table", "det brune bordet");
  expect_noun(noun("lamp", These, "beautiful"), "these beautiful lamps", "disse vakre lampene");
  expect_noun(noun("girl", Those), "those girls", "de jentene");
  expect_noun(noun("car", Possessive), "my car", "bilen min");
  expect_noun(noun("car", Possessive, "new"), "my new car", "den nye bilen min");
  expect_noun(noun("bag", Possessive), "my bag", "veska mi");
  expect_noun(noun("house", Possessive, "", 1), "your house", "huset ditt");
  expect_noun(noun("house", Possessive, "", 4), "our house", "huset vårt");
  expect_noun(noun("friend", PossessivePlural, "", 4), "our friends", "vennene våre");
  expect_noun(noun("shoe", PossessivePlural, "black"), "my black shoes", "de svarte skoene mine");
  expect_noun(noun("book", Possessive, "", 3), "her book", "boka hennes");
  expect_noun(noun("dog", Possessive, "", 5), "their dog", "hunden deres");
  expect_noun(noun("boat", Genitive, "small"), "Anna's small boat", "Annas lille båt");
  expect_noun(noun("picture", GenitivePlural, "small"), "Anna's small pictures", "Annas små bilder");
}

TEST(SampleGrammar, AgreementOfPredicates) {
  expect(statement(is(noun("house", Definite), "big")), "the house is big", "huset er stort");
  expect(statement(is(noun("house", DefinitePlural), "big")), "the houses are big", "husene er store");
  expect(statement(is(noun("cabin", Definite), "small")), "the cabin is small", "hytta er lita");
  expect(statement(is(noun("cabin", DefinitePlural), "small")), "the cabins are small", "hyttene er små");
  expect(statement(is(noun("egg", Definite), "cheap")), "the egg is cheap", "egget er billig");
  expect(statement(is(noun("child", Definite), "happy", Tense::Past)), "the child was happy", "barnet var glad");
  expect(statement(is(noun("child", Definite), "tired")), "the child is tired", "barnet er trøtt");
  expect(statement(is(noun("picture", Definite), "blue")), "the picture is blue", "bildet er blått");
  expect(statement(is(pronoun("we"), "hungry", Tense::Past)), "we were hungry", "vi var sultne");
  expect(statement(is(pronoun("I"), "sick")), "I am sick", "jeg er syk");
  expect(question(is(pronoun("you"), "angry")), "are you angry", "er du sint");
}

TEST(SampleGrammar, TensesOfAStatement) {
  Clause clause{.subject = noun("teacher", Definite), .verb = &verb("buy"), .object = noun("book", Indefinite)};
  const auto in = [&](Tense tense) {
    clause.tense = tense;
    return statement(clause);
  };
  expect(in(Tense::Present), "the teacher buys a book", "læreren kjøper ei bok");
  expect(in(Tense::Progressive), "the teacher is buying a book", "læreren kjøper ei bok");
  expect(in(Tense::Past), "the teacher bought a book", "læreren kjøpte ei bok");
  expect(in(Tense::PastProgressive), "the teacher was buying a book", "læreren kjøpte ei bok");
  expect(in(Tense::Perfect), "the teacher has bought a book", "læreren har kjøpt ei bok");
  expect(in(Tense::Future), "the teacher will buy a book", "læreren skal kjøpe ei bok");
  expect(in(Tense::Can), "the teacher can buy a book", "læreren kan kjøpe ei bok");
  expect(in(Tense::Must), "the teacher must buy a book", "læreren må kjøpe ei bok");
  expect(in(Tense::Should), "the teacher should buy a book", "læreren bør kjøpe ei bok");
  expect(in(Tense::Want), "the teacher wants to buy a book", "læreren vil kjøpe ei bok");
  expect(in(Tense::Try), "the teacher tries to buy a book", "læreren prøver å kjøpe ei bok");
  expect(in(Tense::LikeTo), "the teacher likes to buy a book", "læreren liker å kjøpe ei bok");
}

TEST(SampleGrammar, NegationAndAdverbs) {
  Clause clause{.subject = pronoun("he"), .verb = &verb("find"), .negated = true, .object = noun("key", Definite)};
  expect(statement(clause), "he does not find the key", "han finner ikke nøkkelen");
  clause.tense = Tense::Past;
  expect(statement(clause), "he did not find the key", "han fant ikke nøkkelen");
  clause.tense = Tense::Perfect;
  expect(statement(clause), "he has not found the key", "han har ikke funnet nøkkelen");
  clause.tense = Tense::Can;
  expect(statement(clause), "he cannot find the key", "han kan ikke finne nøkkelen");
  clause.tense = Tense::Want;
  expect(statement(clause), "he does not want to find the key", "han vil ikke finne nøkkelen");
  clause.negated = false;
  clause.tense = Tense::Perfect;
  clause.adverb = named(lexicon().perfect_adverbs, "already");
  expect(statement(clause), "he has already found the key", "han har allerede funnet nøkkelen");
  clause.tense = Tense::Present;
  clause.adverb = named(lexicon().present_adverbs, "often");
  expect(statement(clause), "he often finds the key", "han finner ofte nøkkelen");
}

TEST(SampleGrammar, VerbSecondAfterAFrontedTime) {
  Clause clause{.subject = pronoun("I"),
                .verb = &verb("buy"),
                .tense = Tense::Progressive,
                .object = noun("bicycle", Indefinite, "green"),
                .time = named(lexicon().moments, "today")};
  expect(statement(clause, Front::Time), "today I am buying a green bicycle", "i dag kjøper jeg en grønn sykkel");
  expect(statement(clause), "I am buying a green bicycle today", "jeg kjøper en grønn sykkel i dag");
  clause.tense = Tense::Past;
  clause.time = named(lexicon().past_times, "two days ago");
  clause.negated = true;
  expect(statement(clause, Front::Time), "two days ago I did not buy a green bicycle",
         "for to dager siden kjøpte jeg ikke en grønn sykkel");
  clause.tense = Tense::Future;
  clause.time = named(lexicon().future_times, "tomorrow");
  expect(statement(clause, Front::Time), "tomorrow I will not buy a green bicycle",
         "i morgen skal jeg ikke kjøpe en grønn sykkel");
}

TEST(SampleGrammar, Questions) {
  Clause clause{.subject = noun("boy", Definite), .verb = &verb("steal"), .object = noun("apple", DefinitePlural)};
  expect(question(clause), "does the boy steal the apples", "stjeler gutten eplene");
  clause.tense = Tense::Past;
  expect(question(clause, {"why", "hvorfor"}), "why did the boy steal the apples", "hvorfor stjal gutten eplene");
  clause.tense = Tense::Perfect;
  expect(question(clause), "has the boy stolen the apples", "har gutten stjålet eplene");
  clause.tense = Tense::Future;
  expect(question(clause, {"where", "hvor"}), "where will the boy steal the apples", "hvor skal gutten stjele eplene");
  const Clause waiting{.subject = pronoun("she"), .verb = &verb("wait"), .tense = Tense::Progressive};
  expect(question(waiting, {"what", "hva"}), "what is she waiting for", "hva venter hun på");
  const Clause who{
      .subject = {{"who", "hvem"}}, .verb = &verb("write"), .tense = Tense::Past, .object = noun("novel", This)};
  expect(statement(who), "who wrote this novel", "hvem skrev denne romanen");
}

TEST(SampleGrammar, SubordinateClausesPutAdverbsFirst) {
  Clause clause{.subject = pronoun("they"), .verb = &verb("talk"), .negated = true, .object = {"me", "meg"}};
  expect(subordinate(clause), "they do not talk to me", "de ikke snakker med meg");
  clause.tense = Tense::Perfect;
  expect(subordinate(clause), "they have not talked to me", "de ikke har snakket med meg");
  clause.negated = false;
  clause.adverb = named(lexicon().perfect_adverbs, "just");
  expect(subordinate(clause), "they have just talked to me", "de nettopp har snakket med meg");
}

TEST(SampleGrammar, PlacesAndManners) {
  const Clause sleeping{.subject = noun("cat", DefinitePlural),
                        .verb = &verb("sleep"),
                        .tense = Tense::Progressive,
                        .place = named(lexicon().places, "in the kitchen")};
  expect(statement(sleeping), "the cats are sleeping in the kitchen", "kattene sover på kjøkkenet");
  const Clause running{.subject = noun("fox", Definite),
                       .verb = &verb("run"),
                       .tense = Tense::Past,
                       .object = named(lexicon().manners, "quickly"),
                       .place = named(lexicon().places, "in the forest")};
  expect(statement(running), "the fox ran quickly in the forest", "reven løp fort i skogen");
}

TEST(SampleGrammar, TheClock) {
  const auto at = [](int hour, int minute, const char* english, const char* norwegian) {
    expect(clock_time(hour, minute), english, norwegian);
  };
  at(3, 0, "three o'clock", "tre");
  at(1, 0, "one o'clock", "ett");
  at(3, 5, "five past three", "fem over tre");
  at(3, 10, "ten past three", "ti over tre");
  at(5, 15, "a quarter past five", "kvart over fem");
  at(3, 20, "twenty past three", "ti på halv fire");
  at(3, 25, "twenty-five past three", "fem på halv fire");
  at(3, 30, "half past three", "halv fire");
  at(12, 30, "half past twelve", "halv ett");
  at(3, 35, "twenty-five to four", "fem over halv fire");
  at(3, 40, "twenty to four", "ti over halv fire");
  at(3, 45, "a quarter to four", "kvart på fire");
  at(12, 50, "ten to one", "ti på ett");
  at(11, 55, "five to twelve", "fem på tolv");
  std::set<std::string> english, norwegian;
  for (int hour = 1; hour <= 12; ++hour) {
    for (int minute = 0; minute < 60; minute += 5) {
      EXPECT_TRUE(english.insert(clock_time(hour, minute).english).second);
      EXPECT_TRUE(norwegian.insert(clock_time(hour, minute).norwegian).second);
    }
  }
}

TEST(SampleGrammar, Dates) {
  expect(date_phrase(3, named(lexicon().months, "May")), "the third of May", "den tredje mai");
  expect(date_phrase(31, named(lexicon().months, "December")), "the thirty-first of December",
         "den trettiførste desember");
}

TEST(SampleGrammar, CapitalsAndMarks) {
  expect(sentence({"the island is big", "øya er stor"}, '.'), "The island is big.", "Øya er stor.");
  expect(sentence({"is it small", "er det lite"}, '?'), "Is it small?", "Er det lite?");
  EXPECT_EQ(capitalised("åpner"), "Åpner");
  EXPECT_EQ(capitalised("ærlig"), "Ærlig");
}

TEST(SampleGrammar, EveryFamilyIsDrawnAndEndsAsASentence) {
  Draw draw(7);
  std::set<std::string> seen;
  for (int i = 0; i < 5000; ++i) {
    const Family* family = nullptr;
    const Phrase phrase = draw_sentence(draw, &family);
    seen.insert(family->name);
    for (const std::string& text : {phrase.english, phrase.norwegian}) {
      EXPECT_TRUE(text.ends_with('.') || text.ends_with('?')) << text;
      EXPECT_EQ(text.find("  "), std::string::npos) << text;
      EXPECT_EQ(text.find(" ,"), std::string::npos) << text;
      EXPECT_EQ(text, capitalised(text));
    }
    EXPECT_EQ(phrase.english.back(), phrase.norwegian.back()) << phrase.english;
    EXPECT_FALSE(draw.frame().empty()) << phrase.english;
  }
  EXPECT_EQ(seen.size(), families().size());
}

TEST(SampleGrammar, LexiconHasEveryForm) {
  std::set<std::string> english;
  for (const Noun& noun : lexicon().nouns) {
    EXPECT_TRUE(english.insert(noun.english).second) << noun.english << " twice";
    EXPECT_NE(std::string(noun.english), noun.english_plural) << "its number would be ambiguous";
    const std::string definite = noun.singular_definite;
    const char* ending = noun.gender == Gender::Masculine ? "en" : noun.gender == Gender::Feminine ? "a" : "et";
    EXPECT_TRUE(definite.ends_with(ending)) << definite;
    const std::string plural = noun.plural_definite;
    EXPECT_TRUE(plural.ends_with("ne") || plural.ends_with("na")) << plural;
  }
  EXPECT_GE(lexicon().nouns.size(), 130u);
  for (const Adjective& adjective : lexicon().adjectives) {
    EXPECT_EQ(adjective.comparative.empty(), adjective.english_comparative.empty()) << adjective.english;
    EXPECT_EQ(adjective.comparative.empty(), adjective.superlative.empty()) << adjective.english;
    const std::string superlative = adjective.superlative.empty() ? "ste" : adjective.superlative;
    EXPECT_TRUE(superlative.ends_with("ste")) << adjective.english;
  }
  for (const auto* verbs : {&lexicon().transitive, &lexicon().intransitive, &lexicon().giving, &lexicon().drinking}) {
    for (const Verb& verb : *verbs) {
      EXPECT_TRUE(std::string(verb.progressive).ends_with("ing")) << verb.base;
      EXPECT_TRUE(std::string(verb.present).ends_with("r")) << verb.base;
      EXPECT_NE(std::string(verb.past), verb.third) << verb.base;
      // What is written alike in the English present and past must be marked.
      EXPECT_EQ(std::string(verb.base) == verb.past, (verb.traits & kSameEnglishPast) != 0) << verb.base;
    }
  }
}

}  // namespace
}  // namespace weft::sample
