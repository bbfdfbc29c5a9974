// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <vector>

namespace weft {

template <class Json>
Json parse_json(std::string_view text, const std::string& where, int max_depth) {
  std::vector<std::unordered_set<std::string>> names;  // in each open list and object; the first entry is unused
  using Event = typename Json::parse_event_t;
  const auto check = [&](int depth, Event event, Json& parsed) {
    if (event == Event::object_start || event == Event::array_start) {
      require<DataError>(depth < max_depth, "{}: more than {} lists and objects within each other", where, max_depth);
      names.resize(static_cast<size_t>(depth) + 1);
      names.emplace_back();
    }
    if (event == Event::key) {
      const bool is_new = names[static_cast<size_t>(depth)].insert(parsed.template get<std::string>()).second;
      require<DataError>(is_new, "{}: {} is there twice", where, json_excerpt(parsed));
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), check);
  } catch (const typename Json::parse_error& error) {
    throw DataError(fmt::format("{}: no valid JSON at byte {}: {}", where, error.byte, error.what()));
  } catch (const typename Json::exception& error) {  // a number that no double holds
    throw DataError(fmt::format("{}: no valid JSON: {}", where, error.what()));
  }
}

namespace {

class Scanner : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Scanner(JsonMembers& members) : members_(members) {}

  bool null() override { return pass_over(); }
  bool boolean(bool) override { return pass_over(); }
  bool binary(binary_t&) override { return false; }
  bool number_integer(number_integer_t value) override {
    return number({.value = static_cast<double>(value), .whole = value});
  }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (value > kMost) return number({.value = static_cast<double>(value), .whole = {}});
    return number({.value = static_cast<double>(value), .whole = static_cast<int64_t>(value)});
  }
  bool number_float(number_float_t value, const std::string&) override { return number({.value = value, .whole = {}}); }
  bool string(std::string& value) override {
    if (!pass_over()) return false;
    if (near_the_top()) members_.text(member_, place_, value);
    return true;
  }
  bool start_object(size_t) override { return open(true); }
  bool start_array(size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    const auto begin = names_.begin() + static_cast<std::ptrdiff_t>(levels_.back().first_name);
    if (static_cast<size_t>(names_.end() - begin) >= kMostScannedNames) return false;
    if (std::find(begin, names_.end(), name) != names_.end()) return false;
    if (levels_.size() == 1) member_ = name, place_ = 0;
    names_.push_back(name);
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  struct Level {
    bool is_object = false;
    size_t first_name = 0;
  };

  bool near_the_top() const { return levels_.size() == 1 || (levels_.size() == 2 && !levels_.back().is_object); }
  // Counts a value; false for one that is not within an object.
  bool pass_over() {
    if (levels_.size() == 2 && !levels_.back().is_object) ++place_;
    return !levels_.empty();
  }
  bool number(const JsonNumber& value) {
    if (!pass_over()) return false;
    if (near_the_top()) members_.number(member_, place_, value);
    return true;
  }
  bool open(bool is_object) {
    if (levels_.size() >= kJsonDepth || (levels_.empty() && !is_object)) return false;
    if (!levels_.empty()) pass_over();
    levels_.push_back({.is_object = is_object, .first_name = names_.size()});
    return true;
  }
  bool close() {
    names_.resize(levels_.back().first_name);
    levels_.pop_back();
    return true;
  }

  JsonMembers& members_;
  std::string member_;
  size_t place_ = 0;
  std::vector<Level> levels_;
  std::vector<std::string> names_;  // The names of all open objects.
};

std::string at_most_60(std::string text) {
  constexpr size_t kMost = 60;
  return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

template <class Json>
std::string excerpt_of(const Json& value) {
  const bool is_long = value.is_structured() && (value.size() > 8 || std::ranges::any_of(value, &Json::is_structured));
  if (is_long) return fmt::format("an {} of {}", value.type_name(), value.size());
  return at_most_60(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

bool scan_json(std::string_view text, JsonMembers& members) {
  Scanner scanner(members);
  return nlohmann::json::sax_parse(text.begin(), text.end(), &scanner);
}

template <>
std::string excerpt_text(const nlohmann::json& value) {
  return excerpt_of(value);
}
template <>
std::string excerpt_text(const nlohmann::ordered_json& value) {
  return excerpt_of(value);
}
template <>
std::string excerpt_text(const std::string& text) {
  return excerpt_of(nlohmann::json(text));
}

template nlohmann::json parse_json<nlohmann::json>(std::string_view text, const std::string& where, int max_depth);
template nlohmann::ordered_json parse_json<nlohmann::ordered_json>(std::string_view text, const std::string& where,
                                                                   int max_depth);

}  // namespace weft
