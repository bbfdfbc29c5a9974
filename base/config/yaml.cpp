// SPDX-License-Identifier: Apache-2.0
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <sstream>

#include "base/config/value.h"
#include "base/error.h"
#include "base/text/utf8.h"

namespace weft {
namespace {

constexpr size_t kMaxBytes = 1 << 20;
constexpr size_t kMaxValues = 20'000;
constexpr size_t kMaxDepth = 64;

// The offset of the first byte that is not UTF-8 text or is NUL, or npos.
size_t first_bad_byte(std::string_view text) {
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const Utf8Char c = utf8_at(at, end);
    if (!c.valid() || c.code_point == 0) return static_cast<size_t>(at - text.data());
    at += c.length;
  }
  return std::string_view::npos;
}

// Leaves yaml-cpp's parser when there is no point in reading on; the problem is already noted.
struct StopParsing {};

// Builds the tree from yaml-cpp's events and not from its nodes, because its node graph forgets which scalars were
// quoted, keeps duplicate keys silently, and lets an alias refer to a node that contains it.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::shared_ptr<const std::string> source, Layout layout, ConfigProblems& problems)
      : source_(std::move(source)), layout_(layout), problems_(problems) {
    root_.location = {source_, 0, 0};
  }

  ConfigValue take() { return std::move(root_); }

  ConfigLocation at(const YAML::Mark& mark) const {
    if (layout_ == Layout::OneLine) return {source_, 0, 0};
    return {source_, mark.line + 1, mark.column + 1};
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add({.kind = ConfigValue::Kind::Null, .text = "", .location = at(mark)}, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) stop(mark, "an alias (*) inside the value that its anchor (&) names");
    count(mark, found->second.size);
    ConfigValue value = found->second.value;
    add(std::move(value), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    refuse_tag(mark, tag);
    // yaml-cpp takes "\N" and "\_" for the bytes 85 and A0, which are no characters of UTF-8.
    if (first_bad_byte(text) != std::string_view::npos) {
      problem(at(mark), R"(an escape that cannot be read: \0 is no text; for \N and \_ write \u0085 and \u00a0)");
    }
    // yaml-cpp gives "!" to quoted and block scalars, "?" to plain ones.
    const auto kind = tag == "!" ? ConfigValue::Kind::Text : plain_scalar_kind(text);
    add({.kind = kind, .text = text, .location = at(mark)}, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, ConfigValue::Kind::List);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, ConfigValue::Kind::Map);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    ConfigValue value;
    YAML::anchor_t anchor = 0;
    size_t values_before = 0;
    bool has_key = false;  // of a map: the next value belongs to `key`
    std::string key = {};
    ConfigLocation key_location = {};
  };
  struct Anchored {
    ConfigValue value;
    size_t size = 1;
  };

  void problem(const ConfigLocation& where, const std::string& what) { problems_.push_back({where, what}); }
  [[noreturn]] void stop(const YAML::Mark& mark, const std::string& what) {
    problem(at(mark), what);
    throw StopParsing{};
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") {
      problem(at(mark), fmt::format("the tag '{}' has no meaning here; remove it", tag.substr(0, 60)));
    }
  }

  void count(const YAML::Mark& mark, size_t values) {
    values_ += values;
    if (values_ > kMaxValues) stop(mark, fmt::format("more than {} values, aliases written out", kMaxValues));
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, ConfigValue::Kind kind) {
    refuse_tag(mark, tag);
    if (stack_.size() >= kMaxDepth) stop(mark, fmt::format("nested deeper than {} levels", kMaxDepth));
    count(mark, 1);
    stack_.push_back({.value = {.kind = kind, .location = at(mark)}, .anchor = anchor, .values_before = values_});
  }

  void close() {
    Open done = std::move(stack_.back());
    stack_.pop_back();
    add(std::move(done.value), done.anchor, values_ - done.values_before + 1);
  }

  void add(ConfigValue value, YAML::anchor_t anchor, size_t size = 1) {
    if (anchor != 0) anchors_[anchor] = {value, size};
    if (++values_ > kMaxValues) {
      problem(value.location, fmt::format("more than {} values", kMaxValues));
      throw StopParsing{};
    }
    if (stack_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = stack_.back();
    if (parent.value.kind == ConfigValue::Kind::List) {
      parent.value.items.push_back(std::move(value));
    } else if (!parent.has_key) {
      take_key(parent, value);
    } else {
      parent.has_key = false;
      put(parent, std::move(value));
    }
  }

  void take_key(Open& map, const ConfigValue& key) {
    if (key.kind == ConfigValue::Kind::List || key.kind == ConfigValue::Kind::Map) {
      problem(key.location, "a key must be one word, not a list or a section");
    }
    map.has_key = true;
    map.key = key.text;
    map.key_location = key.location;
  }

  void put(Open& map, ConfigValue value) {
    if (const ConfigEntry* first = map.value.find(map.key)) {
      problem(map.key_location,
              fmt::format("{}{}: duplicate key, first given at {}", path(), map.key, first->location.text()));
      return;
    }
    map.value.entries.push_back({std::move(map.key), map.key_location, std::move(value)});
  }

  // "a.b." of the map that is open now.
  std::string path() const {
    std::string text;
    for (size_t i = 0; i + 1 < stack_.size(); ++i) {
      text +=
          stack_[i].value.kind == ConfigValue::Kind::Map ? stack_[i].key : std::to_string(stack_[i].value.items.size());
      text += '.';
    }
    return text;
  }

  std::shared_ptr<const std::string> source_;
  Layout layout_;
  ConfigProblems& problems_;
  ConfigValue root_;
  std::vector<Open> stack_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  size_t values_ = 0;
};

}  // namespace

ConfigValue parse_yaml(std::string_view yaml, const std::string& source_name, Layout layout, ConfigProblems& problems) {
  const auto source = std::make_shared<const std::string>(source_name);
  const ConfigValue empty{.kind = ConfigValue::Kind::Null, .location = {source, 0, 0}};
  if (yaml.size() > kMaxBytes) {
    problems.push_back({empty.location, fmt::format("{} bytes, more than the {} that a configuration may have",
                                                    yaml.size(), kMaxBytes)});
    return empty;
  }
  if (const size_t bad = first_bad_byte(yaml); bad != std::string_view::npos) {
    problems.push_back({empty.location, fmt::format("byte {} is not UTF-8 text", bad)});
    return empty;
  }
  TreeBuilder builder(source, layout, problems);
  try {
    // yaml-cpp takes the end of the text for the end of an open quote; it refuses a document's end there.
    std::istringstream stream{std::string(yaml) + (yaml.ends_with('\n') ? "" : "\n") + "...\n"};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return empty;
    TreeBuilder second(source, layout, problems);
    if (parser.HandleNextDocument(second)) {
      problems.push_back({second.take().location, "a second document ('---'); a configuration is one"});
    }
  } catch (const YAML::Exception& error) {
    problems.push_back({builder.at(error.mark), fmt::format("not valid YAML: {}", error.msg)});
  } catch (const StopParsing&) {
    // noted where it was thrown
  }
  return builder.take();
}

}  // namespace weft
