// SPDX-License-Identifier: Apache-2.0
#include "data/sample/lexicon.h"

#include <algorithm>

#include "base/error.h"

namespace weft::sample {
namespace {

using Strings = std::vector<std::string>;

// The parts between any of the separators, without blanks around them; at least `least` parts.
Strings split(std::string_view text, std::string_view separators, size_t least = 0) {
  Strings parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    std::string_view part = text.substr(begin, end - begin);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    parts.emplace_back(part);
    begin = end + 1;
  }
  parts.resize(std::max(parts.size(), least));
  return parts;
}

std::vector<Strings> entries(std::string_view text, size_t fields) {
  std::vector<Strings> found;
  for (const std::string& entry : split(text, ";\n")) {
    if (!entry.empty()) found.push_back(split(entry, ":", fields));
  }
  return found;
}

// Adds those of the regular forms that the table leaves out.
void complete(Strings& forms, const Strings& regular) {
  for (size_t i = forms.size(); i < regular.size(); ++i) forms.push_back(regular[i]);
}

// The table of words.inc under a heading, up to the next heading or empty line.
std::string_view table(const std::string& name) {
  static constexpr std::string_view kTables =
#include "data/sample/words.inc"
      ;
  const std::string heading = "== " + name + "\n";
  const size_t begin = kTables.find(heading);
  require<InternalError>(begin != std::string_view::npos, "the sample lexicon has no table {}", name);
  const size_t first = begin + heading.size();
  return kTables.substr(first, std::min(kTables.find("\n==", first), kTables.find("\n\n", first)) - first);
}

// Kinds and traits by their bits.
constexpr std::string_view kKinds = "person animal text food thing place transport event opening service opens";
constexpr std::string_view kTraits = "stative same-past motion present-only";

uint32_t mask_of(std::string_view names, std::string_view known) {
  uint32_t mask = 0;
  for (const std::string& name : split(names, " ")) {
    const Strings all = split(known, " ");
    const auto bit = std::find(all.begin(), all.end(), name) - all.begin();
    if (bit < std::ssize(all)) {
      mask |= uint32_t{1} << bit;
    } else if (name == "goods") {  // what one buys and sells
      mask |= kText | kFood | kThing;
    } else if (name == "objects") {
      mask |= kThing | kTransport | kOpening;
    } else {
      require<InternalError>(name == "living" || name.empty(), "the sample lexicon knows no \"{}\"", name);
      mask |= name.empty() ? 0 : kPerson | kAnimal;
    }
  }
  return mask;
}

std::string without_e(const std::string& word) { return word.ends_with('e') ? word.substr(0, word.size() - 1) : word; }

// "carry" and "s" or "ed": carries, carried; "wash": washes; "love": loved.
std::string english_form(const std::string& word, const std::string& ending) {
  const bool sibilant = word.ends_with('s') || word.ends_with('h') || word.ends_with('x');
  if (word.ends_with('y') && std::string_view("aeiou").find(word[word.size() - 2]) == std::string_view::npos) {
    return word.substr(0, word.size() - 1) + "i" + (ending == "s" ? "es" : ending);
  }
  if (ending == "s") return word + (sibilant && !word.ends_with("gh") ? "es" : "s");
  return without_e(word) + ending;
}

// Nouns in -e drop it before a vowel; neuter ones in a consonant have no ending in the plural.
Strings regular_noun(const std::string& singular, Gender gender) {
  const std::string stem = without_e(singular);
  const char* definite = gender == Gender::Masculine ? "en" : gender == Gender::Feminine ? "a" : "et";
  return {singular, stem + definite, gender == Gender::Neuter && stem == singular ? stem : stem + "er", stem + "ene"};
}

std::vector<Noun> parse_nouns(const char* name) {
  std::vector<Noun> nouns;
  uint32_t kind = 0;
  for (const Strings& entry : entries(table(name), 3)) {
    if (entry[0].starts_with('[')) {
      kind = mask_of(std::string_view(entry[0]).substr(1, entry[0].size() - 2), kKinds);
      continue;
    }
    Strings english = split(entry[0], "/"), forms = split(std::string_view(entry[1]).substr(1), "/");
    const auto gender = static_cast<Gender>(std::string_view("mfn").find(entry[1][0]));
    complete(english, {english[0], english[0] + "s"});
    complete(forms, regular_noun(forms[0], gender));
    nouns.push_back(
        {english[0], english[1], gender, forms[0], forms[1], forms[2], forms[3], kind | mask_of(entry[2], kKinds)});
  }
  return nouns;
}

std::vector<Adjective> parse_adjectives(const char* name) {
  std::vector<Adjective> adjectives;
  for (const Strings& entry : entries(table(name), 3)) {
    Strings e = split(entry[0], "/"), n = split(entry[1], "/");
    const std::string word = e[0].substr(0, e[0].find('+')), common = n[0];
    const bool compared = e[0] != word || e.size() > 1;
    if (e[0] == word + "+") e = {word, english_form(word, "er"), english_form(word, "est")};
    if (e[0] == word + "++") e = {word, "more " + word, "most " + word};
    const bool ig = common.ends_with("ig"), vowel = common.ends_with('e');
    complete(n, {common, ig || vowel ? common : common + "t", vowel ? common : common + "e"});
    if (compared) complete(n, {common, n[1], n[2], n[2] + "re", (ig ? common : n[2]) + "ste"});
    complete(e, {word, "", ""});
    complete(n, {common, n[1], n[2], "", "", common, n[2]});
    adjectives.push_back({e[0], e[1], e[2], common, n[5], n[1], n[2], n[6], n[3], n[4], mask_of(entry[2], kKinds)});
  }
  return adjectives;
}

std::vector<Verb> parse_verbs(const char* name) {
  std::vector<Verb> verbs;
  for (const Strings& entry : entries(table(name), 5)) {
    const Strings english = split(entry[0], " ", 2), norwegian = split(entry[1], " ", 2);
    Strings e = split(english[0], "/"), n = split(norwegian[0], "/");
    const std::string base = e[0], infinitive = n[0];
    complete(e, {base, english_form(base, "ed")});
    complete(
        e, {base, e[1], e[1], base.ends_with("ee") ? base + "ing" : without_e(base) + "ing", english_form(base, "s")});
    complete(n, {infinitive, infinitive + "t", infinitive + "t"});
    const std::string present = infinitive == "være" ? "er" : infinitive + "r";
    verbs.push_back({base, e[4], e[1], e[2], e[3], english[1], infinitive, present, n[1], n[2], norwegian[1],
                     mask_of(entry[2], kKinds), mask_of(entry[3], kKinds), mask_of(entry[4], kTraits)});
  }
  return verbs;
}

std::vector<Phrase> parse_phrases(const char* name) {
  std::vector<Phrase> phrases;
  for (const Strings& entry : entries(table(name), 2))
    phrases.push_back({entry[0], entry[1].empty() ? entry[0] : entry[1]});
  return phrases;
}

}  // namespace

const Lexicon& lexicon() {
  static const Lexicon words{.nouns = parse_nouns("nouns"),
                             .containers = parse_nouns("containers"),
                             .adjectives = parse_adjectives("adjectives"),
                             .transitive = parse_verbs("transitive"),
                             .intransitive = parse_verbs("intransitive"),
                             .giving = parse_verbs("giving"),
                             .drinking = parse_verbs("drinking"),
                             .scheduled = parse_verbs("scheduled"),
                             .figures = parse_verbs("figures"),
                             .be = parse_verbs("be")[0],
                             .names = parse_phrases("names"),
                             .drinks = parse_phrases("drinks"),
                             .months = parse_phrases("months"),
                             .weekdays = parse_phrases("weekdays"),
                             .places = parse_phrases("places"),
                             .towns = parse_phrases("towns"),
                             .conditions = parse_phrases("conditions"),
                             .before_numbers = parse_phrases("before_numbers"),
                             .weathers = parse_phrases("weathers"),
                             .manners = parse_phrases("manners"),
                             .habits = parse_phrases("habits"),
                             .moments = parse_phrases("moments"),
                             .past_times = parse_phrases("past_times"),
                             .future_times = parse_phrases("future_times"),
                             .present_adverbs = parse_phrases("present_adverbs"),
                             .perfect_adverbs = parse_phrases("perfect_adverbs")};
  return words;
}

const Verb& figure_verb(std::string_view base) {
  for (const Verb& verb : lexicon().figures) {
    if (verb.base == base) return verb;
  }
  throw InternalError(std::string("the sample lexicon has no verb ").append(base));
}

}  // namespace weft::sample
