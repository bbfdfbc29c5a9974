// SPDX-License-Identifier: Apache-2.0
#include "data/text/json_fields.h"

#include <algorithm>
#include <vector>

#include "base/text/utf8.h"
#include "data/text/bad_records.h"

namespace weft {

namespace {

constexpr char32_t kReplacement = 0xFFFD;

constexpr size_t kMostNames = 8;  // names that a message repeats
constexpr const char* kOneObjectALine = "each line is one JSON object; of an array `jq -c '.[]' FILE` makes such lines";

bool is_high(char32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(char32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

// Walks over one line of JSON.
class JsonLine {
 public:
  explicit JsonLine(std::string_view line) : line_(line) {}

  // Reads the line; true if it is an object. found[i] then says whether fields[i] is there, and whether it is a string.
  enum class Found { No, String, Other };
  bool read(std::span<const JsonField> fields, std::vector<Found>& found) {
    blanks();
    if (!take('{')) {
      value();
      end();
      return false;
    }
    blanks();
    if (!take('}')) {
      do member(fields, found);
      while (take(','));
      expect('}');
    }
    end();
    return true;
  }

  // The first names of the object. Requires that read() has found an object.
  std::string names() {
    std::string all;
    blanks(), expect('{'), blanks();
    for (size_t i = 0; i < kMostNames && peek() != '}'; ++i) {
      if (i > 0) all += ", ", expect(',');
      name_.clear();
      blanks(), string(&name_), colon(), value(), blanks();
      all += '"' + excerpt(name_) + '"';
    }
    return all.empty() ? "no field" : peek() == '}' ? all : all + ", ...";
  }

 private:
  void member(std::span<const JsonField> fields, std::vector<Found>& found) {
    blanks();
    name_.clear();
    string(&name_);
    colon();
    const auto field = std::ranges::find(fields, std::string_view(name_), &JsonField::name);
    if (field == fields.end()) {
      value();
    } else {
      blanks();
      const bool text = peek() == '"';
      field->text->clear();
      text ? string(field->text) : value();
      found[static_cast<size_t>(field - fields.begin())] = text ? Found::String : Found::Other;
    }
    blanks();
  }

  // Passes over any value. Open lists and objects are kept on a heap-allocated stack: the line decides their depth.
  void value() {
    std::string open;
    do {
      blanks();
      if (take('{')) {
        open += '}';
        blanks();
        if (peek() != '}') {
          name();
          continue;
        }
      } else if (take('[')) {
        open += ']';
        blanks();
        if (peek() != ']') continue;
      } else if (peek() == '"') {
        string(nullptr);
      } else {
        literal();
      }
      close(open);
    } while (!open.empty());
  }
  // Passes over what follows a value: ends of lists and objects, or a comma and, in an object, the next name.
  void close(std::string& open) {
    while (!open.empty()) {
      blanks();
      if (!take(open.back())) {
        expect(',');
        if (open.back() == '}') blanks(), name();
        return;
      }
      open.pop_back();
    }
  }
  void name() {
    string(nullptr);
    colon();
  }
  void colon() {
    blanks();
    expect(':');
  }

  // Numbers are not checked: only the end of a number matters.
  void literal() {
    const size_t begin = at_;
    while (at_ < line_.size() && (std::isalnum(static_cast<unsigned char>(line_[at_])) || is_sign(line_[at_]))) ++at_;
    const std::string_view word = line_.substr(begin, at_ - begin);
    static constexpr std::string_view kWords[] = {"true", "false", "null", "NaN", "Infinity", "-Infinity"};
    const bool number = word.find_first_not_of("0123456789+-.eE") == std::string_view::npos &&
                        word.find_first_of("0123456789") != std::string_view::npos;
    if (number || std::ranges::find(kWords, word) != std::end(kWords)) return;
    at_ = begin;
    fail("a value");
  }
  static bool is_sign(char c) { return c == '+' || c == '-' || c == '.'; }

  void string(std::string* into) {
    if (!take('"')) fail("a name or text in quotes");
    for (size_t quote = 0;;) {
      if (quote <= at_) quote = line_.find('"', at_);  // search past an escaped quote
      const std::string_view rest = line_.substr(at_, quote - at_);
      const size_t plain = std::min(rest.find('\\'), rest.size());
      if (into) into->append(rest, 0, plain);
      at_ += plain;
      if (at_ == line_.size()) fail("the end of the text in quotes");
      const bool ends = at_ == quote;
      ++at_;
      if (ends) return;
      escape(into);
    }
  }
  void escape(std::string* into) {
    static constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (peek() == 'u') {
      ++at_;
      char32_t c = unit();
      if (is_high(c) && line_.substr(at_).starts_with("\\u")) {
        const size_t before = at_;
        at_ += 2;
        const char32_t low = unit();
        if (is_low(low)) {
          c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        } else {
          at_ = before;
        }
      }
      if (is_high(c) || is_low(c)) c = kReplacement;
      if (into) into->append(encode_utf8(std::u32string_view(&c, 1)));
      return;
    }
    const size_t which = at_ < line_.size() ? kNames.find(line_[at_]) : std::string_view::npos;
    if (which == std::string_view::npos) fail("an escape");
    ++at_;
    if (into) *into += kMeanings[which];
  }
  char32_t unit() {
    char32_t value = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      static constexpr std::string_view kDigits = "0123456789abcdef";
      const size_t digit = at_ < line_.size() ? kDigits.find(static_cast<char>(line_[at_] | 0x20)) : kDigits.npos;
      if (digit == kDigits.npos || line_[at_] < '0') fail("four hexadecimal digits");
      value = value << 4 | static_cast<char32_t>(digit);
    }
    return value;
  }

  char peek() const { return at_ < line_.size() ? line_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c || at_ == line_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("'{}'", c));
  }
  void blanks() { at_ = std::min(line_.find_first_not_of(" \t\r\n", at_), line_.size()); }
  void end() {
    blanks();
    if (at_ != line_.size()) fail("the end of the line");
  }
  [[noreturn]] void fail(std::string_view expected) const {
    throw BadRecordError(
        BadRecord::NotJson,
        fmt::format("not a line of JSON: column {}: expected {}, found {}", at_ + 1, expected,
                    at_ < line_.size() ? fmt::format("'{}'", excerpt(line_.substr(at_))) : "the end of the line"),
        kOneObjectALine);
  }

  std::string_view line_;
  size_t at_ = 0;
  std::string name_;
};

}  // namespace

void read_json_fields(std::string_view line, std::span<const JsonField> fields) {
  std::vector<JsonLine::Found> found(fields.size(), JsonLine::Found::No);
  if (!JsonLine(line).read(fields, found)) {
    throw BadRecordError(BadRecord::NoObject, "the line is JSON, but no object", kOneObjectALine);
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    if (found[i] == JsonLine::Found::No) {
      throw BadRecordError(BadRecord::NoField, fmt::format("the object has no field \"{}\"", fields[i].name),
                           fmt::format("it has {}; {} says which one is read", JsonLine(line).names(), fields[i].key));
    }
    if (found[i] == JsonLine::Found::Other) {
      throw BadRecordError(BadRecord::NoString, fmt::format("field \"{}\" is no string", fields[i].name),
                           fmt::format("{} says which field is read", fields[i].key));
    }
  }
}

}  // namespace weft
