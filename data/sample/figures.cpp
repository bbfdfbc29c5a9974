// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "data/sample/frames.h"
#include "data/sample/numbers.h"

namespace weft::sample {
namespace {

// Of any size up to ten millions, small ones more often; large ones are often round.
int64_t draw_number(Draw& draw, int64_t smallest, int64_t largest) {
  constexpr int64_t kSizes[] = {100, 100, 1000, 1000, 1000, 10'000, 10'000, 100'000, 1'000'000, 2'000'000, 10'000'000};
  const int64_t below = std::min(draw.pick(kSizes), largest + 1);
  int64_t n = draw.between(std::min(smallest, below - 1), below - 1);
  if (below >= 100'000 && draw.chance(25)) {  // tjueett tusen, the rare form
    n = n - n % 100'000 + 1000 * (10 * draw.between(2, 9) + 1) + n % 1000;
  }
  for (const int64_t unit : {100, 1000}) {
    if (n > 10 * unit && draw.chance(30)) n -= n % unit;
  }
  return draw.number(n);
}

Phrase number_words(int64_t n, Counting counting = Counting::Common) {
  return {english_number(n), norwegian_number(n, counting)};
}

Phrase counted(Draw& draw, int64_t largest, const Phrase& unit) {
  return number_words(draw_number(draw, 2, largest)) + unit;
}

Phrase price(Draw& draw, int64_t largest) { return counted(draw, largest, {"kroner", "kroner"}); }

Clause with_verb(Draw& draw, const char* base) {
  Clause clause{.subject = draw_subject(draw, kPerson), .verb = &figure_verb(base)};
  clause.tense = draw_tense(draw, *clause.verb, clause.subject);
  draw.frame("figure: {}", base);
  return clause;
}

// Asked, or said, with a time if it has one.
Phrase asked_or_stated(Draw& draw, Clause& clause) {
  if (draw.chance(20)) return sentence(question(clause), '?');
  clause.negated = draw.chance(10);
  return sentence(stated(draw, clause), '.');
}

// "The mountain is 231 metres high."
Phrase measure_sentence(Draw& draw) {
  const std::pair<Phrase, Phrase> measures[] = {
      {{"the mountain", "fjellet"}, {"high", "høyt"}}, {{"the tower", "tårnet"}, {"high", "høyt"}},
      {{"the wall", "muren"}, {"high", "høy"}},        {{"the bridge", "broen"}, {"long", "lang"}},
      {{"the road", "veien"}, {"long", "lang"}},       {{"the lake", "innsjøen"}, {"deep", "dyp"}},
      {{"the well", "brønnen"}, {"deep", "dyp"}}};
  const auto& [subject, adjective] = draw.pick(measures);
  Clause clause{
      .subject = {subject}, .verb = &lexicon().be, .object = counted(draw, 9'999, {"metres", "meter"}) + adjective};
  draw.frame("measure: {}", adjective.english);
  return asked_or_said(draw, clause, 20, 15);
}

// "The town has 9,400 inhabitants."
Phrase amount_sentence(Draw& draw) {
  const std::pair<Phrase, Phrase> amounts[] = {
      {{"the town", "byen"}, {"inhabitants", "innbyggere"}}, {{"the island", "øya"}, {"inhabitants", "innbyggere"}},
      {{"the school", "skolen"}, {"students", "studenter"}}, {{"the library", "biblioteket"}, {"books", "bøker"}},
      {{"the novel", "romanen"}, {"pages", "sider"}},        {{"the report", "rapporten"}, {"pages", "sider"}},
      {{"the hotel", "hotellet"}, {"guests", "gjester"}},    {{"the farm", "gården"}, {"cows", "kuer"}}};
  const auto& [subject, unit] = draw.pick(amounts);
  Clause clause{.subject = {subject}, .verb = &figure_verb("have"), .object = counted(draw, 9'999'999, unit)};
  draw.frame("amount: {}", unit.english);
  return asked_or_said(draw, clause, 20, 0);
}

// "Anna has counted 21 houses": the numeral agrees with a neuter noun, "tjueett hus".
Phrase counting_sentence(Draw& draw) {
  Clause clause = with_verb(draw, "count");
  const Noun& noun = draw.noun_with("count", kAnimal | kThing | kPlace | kTransport);
  const Counting counting = noun.gender == Gender::Neuter ? Counting::Neuter : Counting::Common;
  clause.object = number_words(draw_number(draw, 2, 99'999), counting) + Phrase{noun.english_plural, noun.plural};
  return asked_or_stated(draw, clause);
}

Phrase plain_number_sentence(Draw& draw) {
  draw.frame("number");
  if (draw.chance(40)) {
    const int64_t n = draw_number(draw, 1, 9'999'999);
    return Phrase{"after", "etter"} + number_words(n) + Phrase{"comes", "kommer"} + number_words(draw.number(n + 1));
  }
  const Phrase& subject = draw.pick(lexicon().before_numbers);
  return subject + number_words(draw_number(draw, 0, 9'999'999));
}

Phrase draw_day(Draw& draw) {
  constexpr int kDays[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const int64_t number = draw.below(12);
  const int day = static_cast<int>(draw.between(1, kDays[number]));
  const Phrase& month = lexicon().months[number];
  draw.combine(english_ordinal(day), month.english);
  return date_phrase(day, month);
}

// "Anna was born on the third of May nineteen eighty-four."
Phrase birth_sentence(Draw& draw) {
  const Noun* head = nullptr;
  const NounPhrase subject = draw_subject(draw, kPerson, &head);
  if (head) draw.combine("born", head->english);
  const int century = static_cast<int>(draw.between(18, 19));
  const int number = 100 * century + static_cast<int>(draw.between(10, 99));
  const Phrase year{english_year(number), norwegian_year(number)};
  const Phrase born{subject.plural || subject.person == 2 ? "were born" : "was born", "ble født"};
  draw.frame("born");
  if (draw.chance(40)) return subject + born + Phrase{"in", "i"} + year;
  return subject + born + Phrase{"on", ""} + draw_day(draw) + year;
}

// A day, a third of the time with its weekday.
Phrase draw_date(Draw& draw) {
  const Phrase date = draw_day(draw);
  return draw.chance(30) ? draw.pick(lexicon().weekdays) + date : date;
}

// "Anna will visit the museum", with room for a date or an hour.
Clause draw_visit(Draw& draw) {
  Clause clause = draw_clause(draw, lexicon().transitive);
  clause.tense = draw.chance(50) && !(clause.verb->traits & kSameEnglishPast) ? Tense::Past : Tense::Future;
  draw_object(draw, clause);
  return clause;
}

Phrase draw_clock(Draw& draw, std::string_view partner) {
  const Phrase time = clock_time(static_cast<int>(draw.between(1, 12)), static_cast<int>(5 * draw.below(12)));
  draw.combine(partner, time.english);
  return time;
}

}  // namespace

Phrase number_sentence(Draw& draw) {
  const int64_t kind = draw.below(100);
  if (kind < 45) return sentence(plain_number_sentence(draw), '.');
  if (kind < 60) return measure_sentence(draw);
  if (kind < 78) return amount_sentence(draw);
  if (kind < 90) return counting_sentence(draw);
  Clause clause = with_verb(draw, "drive");
  clause.object = counted(draw, 9'999, {"kilometres", "kilometer"});
  return asked_or_stated(draw, clause);
}

Phrase price_sentence(Draw& draw) {
  const int64_t kind = draw.below(100);
  if (kind < 35) {  // "The red jacket costs 231 kroner." "How much does the red jacket cost?"
    const Verb& cost = figure_verb("cost");
    const Noun& noun = draw.noun_with("cost", cost.subjects);
    Clause clause{.subject = draw_definite_phrase(draw, noun, Owners::All), .verb = &cost};
    draw.frame("{}", kind < 25 ? "cost" : "how much");
    if (kind >= 25) return sentence(question(clause, {"how much", "hvor mye"}), '?');
    clause.object = price(draw, 99'999);
    return asked_or_said(draw, clause, 25, 15);
  }
  if (kind < 65) {  // "Anna paid 500 kroner for the old book."
    Clause clause = with_verb(draw, "pay");
    const Noun& noun = draw.noun_with("pay", kText | kFood | kThing | kTransport | kPlace);
    const NounPhrase goods = draw_definite_phrase(draw, noun, owners_beside(clause.subject));
    clause.object = price(draw, 9'999'999) + Phrase{"for", "for"} + goods;
    return asked_or_stated(draw, clause);
  }
  if (kind < 80) {
    Clause clause = with_verb(draw, "earn");
    clause.object = price(draw, 9'999'999);
    return asked_or_stated(draw, clause);
  }
  if (kind < 90) {
    Clause clause = with_verb(draw, "have");
    clause.object = Phrase{"only", "bare"} + price(draw, 9'999);
    clause.tense = draw.chance(60) ? Tense::Present : Tense::Past;
    return sentence(stated(draw, clause), '.');
  }
  draw.frame("the price");
  return sentence(Phrase{"the price is", "prisen er"} + price(draw, 9'999'999), '.');
}

Phrase date_phrase(int day, const Phrase& month) {
  return {fmt::format("the {} of {}", english_ordinal(day), month.english),
          fmt::format("den {} {}", norwegian_ordinal(day), month.norwegian)};
}

Phrase date_sentence(Draw& draw) {
  const int64_t kind = draw.below(100);
  if (kind < 30) return sentence(birth_sentence(draw), '.');
  const Phrase date = draw_date(draw);
  if (kind < 38) {
    draw.frame("today");
    return sentence(Phrase{"today is", "i dag er det"} + date, '.');
  }
  const Phrase on_date = Phrase{"on", ""} + date;
  if (kind < 65) {  // "The meeting is on Monday the third of May."
    const Noun& noun = draw.noun_with("on", kEvent);
    draw.frame("on a date");
    Clause clause{.subject = draw_definite_phrase(draw, noun, Owners::All),
                  .verb = &lexicon().be,
                  .tense = draw.chance(60) ? Tense::Present : Tense::Past,
                  .object = on_date};
    return asked_or_said(draw, clause, 25, 15);
  }
  Clause clause = draw_visit(draw);
  clause.time = on_date;
  draw.frame("dated: {}", clause.verb->base);
  return sentence(statement(clause, draw.chance(60) ? Front::Time : Front::Nothing), '.');
}

// Norwegian counts from 20 to 40 minutes by the half of the coming hour.
Phrase clock_time(int hour, int minute) {
  const int next = hour % 12 + 1;
  const auto english = [](int n) { return n == 15 ? "a quarter" : n == 30 ? "half" : english_number(n); };
  const auto norwegian = [](int n) { return n == 15 ? "kvart" : norwegian_number(n, Counting::Neuter); };  // klokka ett
  if (minute == 0) return {english(hour) + " o'clock", norwegian(hour)};
  const std::string in_english =
      minute <= 30 ? english(minute) + " past " + english(hour) : english(60 - minute) + " to " + english(next);
  const std::string half = "halv " + norwegian(next);
  if (minute == 30) return {in_english, half};
  if (minute < 20) return {in_english, norwegian(minute) + " over " + norwegian(hour)};
  if (minute > 40) return {in_english, norwegian(60 - minute) + " på " + norwegian(next)};
  return {in_english, norwegian(std::abs(minute - 30)) + (minute < 30 ? " på " : " over ") + half};
}

Phrase clock_sentence(Draw& draw) {
  const int64_t kind = draw.below(100);
  if (kind < 8) {
    draw.frame("it is");
    return sentence(Phrase{"it is", "klokka er"} + draw_clock(draw, "it is"), '.');
  }
  Clause clause;
  std::string partner;
  if (kind < 60) {  // "The train leaves at half past three."
    clause.verb = &draw.pick(lexicon().scheduled);
    const Noun& noun = draw.noun(clause.verb->subjects);
    clause.subject = draw_definite_phrase(draw, noun, Owners::All);
    clause.tense = draw.chance(55) ? Tense::Present : Tense::Past;
    partner = noun.english;
  } else {  // "At a quarter past five Anna will visit the museum."
    clause = draw_visit(draw);
    partner = clause.verb->base;
  }
  clause.time = Phrase{"at", "klokka"} + draw_clock(draw, partner);
  draw.frame("clock: {}", clause.verb->base);
  if (draw.chance(20)) return sentence(question(clause), '?');
  if (kind < 60) clause.negated = draw.chance(12);
  return sentence(statement(clause, draw.chance(35) ? Front::Time : Front::Nothing), '.');
}

}  // namespace weft::sample
