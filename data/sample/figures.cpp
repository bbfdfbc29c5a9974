#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "data/sample/frames.h"
#include "data/sample/numbers.h"

namespace weft::sample {
namespace {

const Verb& figure_verb(std::string_view base) { return verb_named(figure_verbs(), base); }

// Of any size up to ten millions, small ones more often; large ones are often round.
int64_t draw_number(Draw& draw, int64_t smallest, int64_t largest) {
  constexpr auto kSizes =
      std::to_array<int64_t>({100, 100, 1000, 1000, 1000, 10'000, 10'000, 100'000, 1'000'000, 2'000'000, 10'000'000});
  const int64_t below = std::min(draw.pick(std::span<const int64_t>(kSizes)), largest + 1);
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

Phrase counted(Draw& draw, int64_t largest, const char* english, const char* norwegian) {
  const Phrase n = number_words(draw_number(draw, 2, largest));
  return {join({n.english, english}), join({n.norwegian, norwegian})};
}

Phrase price(Draw& draw, int64_t largest) { return counted(draw, largest, "kroner", "kroner"); }

Clause with_verb(Draw& draw, const char* base) {
  Clause clause{.subject = draw_subject(draw, kPerson), .verb = &figure_verb(base)};
  clause.tense = draw_tense(draw, *clause.verb, clause.subject);
  draw.frame(fmt::format("figure: {}", base));
  return clause;
}

// "S" or "S is not", asked, or said plainly.
Phrase said_or_asked(Draw& draw, Clause& clause) {
  if (draw.chance(20)) return sentence(question(clause), '?');
  clause.negated = draw.chance(10);
  return sentence(stated(draw, clause), '.');
}

// "The mountain is 231 metres high."
Phrase measure_sentence(Draw& draw) {
  struct Measure {
    const char* english;
    const char* norwegian;
    const char* adjective;
    const char* norwegian_adjective;
  };
  constexpr auto kMeasures = std::to_array<Measure>({{"the mountain", "fjellet", "high", "høyt"},
                                                     {"the tower", "tårnet", "high", "høyt"},
                                                     {"the wall", "muren", "high", "høy"},
                                                     {"the bridge", "broen", "long", "lang"},
                                                     {"the road", "veien", "long", "lang"},
                                                     {"the lake", "innsjøen", "deep", "dyp"},
                                                     {"the well", "brønnen", "deep", "dyp"}});
  const Measure& measure = draw.pick(std::span<const Measure>(kMeasures));
  const Phrase metres = counted(draw, 9'999, "metres", "meter");
  Clause clause{
      .subject = fixed_phrase(measure.english, measure.norwegian),
      .verb = &to_be(),
      .object = {join({metres.english, measure.adjective}), join({metres.norwegian, measure.norwegian_adjective})}};
  draw.frame(fmt::format("measure: {}", measure.adjective));
  if (draw.chance(20)) return sentence(question(clause), '?');
  clause.negated = draw.chance(15);
  return sentence(statement(clause), '.');
}

// "The town has 9,400 inhabitants."
Phrase amount_sentence(Draw& draw) {
  struct Amount {
    const char* english;
    const char* norwegian;
    const char* unit;
    const char* norwegian_unit;
  };
  constexpr auto kAmounts = std::to_array<Amount>({{"the town", "byen", "inhabitants", "innbyggere"},
                                                   {"the island", "øya", "inhabitants", "innbyggere"},
                                                   {"the school", "skolen", "students", "studenter"},
                                                   {"the library", "biblioteket", "books", "bøker"},
                                                   {"the novel", "romanen", "pages", "sider"},
                                                   {"the report", "rapporten", "pages", "sider"},
                                                   {"the hotel", "hotellet", "guests", "gjester"},
                                                   {"the farm", "gården", "cows", "kuer"}});
  const Amount& amount = draw.pick(std::span<const Amount>(kAmounts));
  Clause clause{.subject = fixed_phrase(amount.english, amount.norwegian),
                .verb = &figure_verb("have"),
                .object = counted(draw, 9'999'999, amount.unit, amount.norwegian_unit)};
  draw.frame(fmt::format("amount: {}", amount.unit));
  if (draw.chance(20)) return sentence(question(clause), '?');
  return sentence(statement(clause), '.');
}

// "Anna has counted 21 houses": the numeral agrees with a neuter noun, "tjueett hus".
Phrase counting_sentence(Draw& draw) {
  Clause clause = with_verb(draw, "count");
  const Noun& noun = draw.noun(kAnimal | kThing | kPlace | kTransport);
  draw.combine("count", noun.english);
  const Phrase n =
      number_words(draw_number(draw, 2, 99'999), noun.gender == Gender::Neuter ? Counting::Neuter : Counting::Common);
  clause.object = {join({n.english, noun.english_plural}), join({n.norwegian, noun.plural})};
  return said_or_asked(draw, clause);
}

Phrase plain_number_sentence(Draw& draw) {
  constexpr auto kSubjects = std::to_array<Pair>({{"the number is", "tallet er"},
                                                  {"the answer is", "svaret er"},
                                                  {"the number is not", "tallet er ikke"},
                                                  {"we count to", "vi teller til"},
                                                  {"I think of the number", "jeg tenker på tallet"}});
  draw.frame("number");
  if (draw.chance(40)) {
    const int64_t n = draw_number(draw, 1, 9'999'999);
    const Phrase first = number_words(n), second = number_words(draw.number(n + 1));
    return {join({"after", first.english, "comes", second.english}),
            join({"etter", first.norwegian, "kommer", second.norwegian})};
  }
  const Pair& subject = draw.pick(std::span<const Pair>(kSubjects));
  const Phrase n = number_words(draw_number(draw, 0, 9'999'999));
  return {join({subject.english, n.english}), join({subject.norwegian, n.norwegian})};
}

Phrase draw_day(Draw& draw) {
  constexpr std::array<int, 12> kDays = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const int64_t month = draw.below(12);
  const int day = static_cast<int>(draw.between(1, kDays[month]));
  draw.combine(english_ordinal(day), months()[month].english);
  return date_phrase(day, months()[month]);
}

// "Anna was born on the third of May nineteen eighty-four."
Phrase birth_sentence(Draw& draw) {
  const Noun* head = nullptr;
  const NounPhrase subject = draw_subject(draw, kPerson, &head);
  if (head) draw.combine("born", head->english);
  const int year = static_cast<int>(100 * draw.between(18, 19) + draw.between(10, 99));
  const char* was = subject.plural || subject.person == 2 ? "were born" : "was born";
  draw.frame("born");
  if (draw.chance(40)) {
    return {join({subject.english, was, "in", english_year(year)}),
            join({subject.norwegian, "ble født i", norwegian_year(year)})};
  }
  const Phrase date = draw_day(draw);
  return {join({subject.english, was, "on", date.english, english_year(year)}),
          join({subject.norwegian, "ble født", date.norwegian, norwegian_year(year)})};
}

// A day, a third of the time with its weekday.
Phrase draw_date(Draw& draw) {
  const Phrase date = draw_day(draw);
  if (!draw.chance(30)) return date;
  const Pair& weekday = draw.pick(weekdays());
  return {join({weekday.english, date.english}), join({weekday.norwegian, date.norwegian})};
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
  clause.object = counted(draw, 9'999, "kilometres", "kilometer");
  return said_or_asked(draw, clause);
}

Phrase price_sentence(Draw& draw) {
  const int64_t kind = draw.below(100);
  if (kind < 25) {  // "The red jacket costs 231 kroner."
    const Verb& cost = figure_verb("cost");
    const Noun& noun = draw.noun(cost.subjects);
    draw.combine("cost", noun.english);
    Clause clause{
        .subject = draw_definite_phrase(draw, noun, Owners::All), .verb = &cost, .object = price(draw, 99'999)};
    draw.frame("cost");
    if (draw.chance(25)) return sentence(question(clause), '?');
    clause.negated = draw.chance(15);
    return sentence(statement(clause), '.');
  }
  if (kind < 35) {
    const Noun& noun = draw.noun(figure_verb("cost").subjects);
    draw.combine("cost", noun.english);
    const Clause clause{.subject = draw_definite_phrase(draw, noun, Owners::All), .verb = &figure_verb("cost")};
    draw.frame("how much");
    return sentence(question(clause, {"how much", "hvor mye"}), '?');
  }
  if (kind < 65) {  // "Anna paid 500 kroner for the old book."
    Clause clause = with_verb(draw, "pay");
    const Noun& noun = draw.noun(kText | kFood | kThing | kTransport | kPlace);
    draw.combine("pay", noun.english);
    const NounPhrase goods = draw_definite_phrase(draw, noun, owners_beside(clause.subject));
    const Phrase sum = price(draw, 9'999'999);
    clause.object = {join({sum.english, "for", goods.english}), join({sum.norwegian, "for", goods.norwegian})};
    return said_or_asked(draw, clause);
  }
  if (kind < 80) {
    Clause clause = with_verb(draw, "earn");
    clause.object = price(draw, 9'999'999);
    return said_or_asked(draw, clause);
  }
  if (kind < 90) {
    Clause clause = with_verb(draw, "have");
    const Phrase sum = price(draw, 9'999);
    clause.tense = draw.chance(60) ? Tense::Present : Tense::Past;
    clause.object = {join({"only", sum.english}), join({"bare", sum.norwegian})};
    return sentence(stated(draw, clause), '.');
  }
  draw.frame("the price");
  const Phrase sum = price(draw, 9'999'999);
  return sentence({join({"the price is", sum.english}), join({"prisen er", sum.norwegian})}, '.');
}

Phrase date_phrase(int day, const Pair& month) {
  return {fmt::format("the {} of {}", english_ordinal(day), month.english),
          fmt::format("den {} {}", norwegian_ordinal(day), month.norwegian)};
}

Phrase date_sentence(Draw& draw) {
  const int64_t kind = draw.below(100);
  if (kind < 30) return sentence(birth_sentence(draw), '.');
  const Phrase date = draw_date(draw);
  if (kind < 38) {
    draw.frame("today");
    return sentence({join({"today is", date.english}), join({"i dag er det", date.norwegian})}, '.');
  }
  if (kind < 65) {  // "The meeting is on Monday the third of May."
    const Noun& noun = draw.noun(kEvent);
    draw.combine("on", noun.english);
    draw.frame("on a date");
    Clause clause{.subject = draw_definite_phrase(draw, noun, Owners::All),
                  .verb = &to_be(),
                  .tense = draw.chance(60) ? Tense::Present : Tense::Past,
                  .object = {join({"on", date.english}), date.norwegian}};
    if (draw.chance(25)) return sentence(question(clause), '?');
    clause.negated = draw.chance(15);
    return sentence(statement(clause), '.');
  }
  // "On the third of May Anna will visit the museum."
  Clause clause = draw_clause(draw, transitive_verbs());
  clause.tense = draw.chance(50) && !(clause.verb->traits & kSameEnglishPast) ? Tense::Past : Tense::Future;
  draw_object(draw, clause);
  clause.time = {join({"on", date.english}), date.norwegian};
  draw.frame(fmt::format("dated: {}", clause.verb->base));
  return sentence(statement(clause, draw.chance(60) ? Front::Time : Front::Nothing), '.');
}

Phrase clock_time(int hour, int minute) {
  const int next = hour % 12 + 1;
  const auto english = [](int n) { return english_number(n); };
  const auto norwegian = [](int n) { return norwegian_number(n, Counting::Neuter); };  // klokka ett
  const std::string past = english(hour), to = english(next), over = norwegian(hour), half = norwegian(next);
  switch (minute) {
    case 0:
      return {past + " o'clock", over};
    case 15:
      return {"a quarter past " + past, "kvart over " + over};
    case 30:
      return {"half past " + past, "halv " + half};
    case 45:
      return {"a quarter to " + to, "kvart på " + half};
    case 20:
    case 25:
      return {english(minute) + " past " + past, norwegian(30 - minute) + " på halv " + half};
    case 35:
    case 40:
      return {english(60 - minute) + " to " + to, norwegian(minute - 30) + " over halv " + half};
    default:
      if (minute < 30) return {english(minute) + " past " + past, norwegian(minute) + " over " + over};
      return {english(60 - minute) + " to " + to, norwegian(60 - minute) + " på " + half};
  }
}

Phrase clock_sentence(Draw& draw) {
  const int64_t kind = draw.below(100);
  if (kind < 8) {
    draw.frame("it is");
    const Phrase time = draw_clock(draw, "it is");
    return sentence({join({"it is", time.english}), join({"klokka er", time.norwegian})}, '.');
  }
  Clause clause;
  if (kind < 60) {  // "The train leaves at half past three."
    clause.verb = &draw.pick(scheduled_verbs());
    const Noun& noun = draw.noun(clause.verb->subjects);
    clause.subject = draw_definite_phrase(draw, noun, Owners::All);
    clause.tense = draw.chance(55) ? Tense::Present : Tense::Past;
    const Phrase time = draw_clock(draw, noun.english);
    clause.time = {join({"at", time.english}), join({"klokka", time.norwegian})};
  } else {  // "At a quarter past five Anna will visit the museum."
    clause = draw_clause(draw, transitive_verbs());
    clause.tense = draw.chance(50) && !(clause.verb->traits & kSameEnglishPast) ? Tense::Past : Tense::Future;
    draw_object(draw, clause);
    const Phrase time = draw_clock(draw, clause.verb->base);
    clause.time = {join({"at", time.english}), join({"klokka", time.norwegian})};
  }
  draw.frame(fmt::format("clock: {}", clause.verb->base));
  if (draw.chance(20)) return sentence(question(clause), '?');
  if (kind < 60) clause.negated = draw.chance(12);
  return sentence(statement(clause, draw.chance(35) ? Front::Time : Front::Nothing), '.');
}

}  // namespace weft::sample
