// SPDX-License-Identifier: Apache-2.0
#include "simulator/ptx/kernel_parser.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "simulator/ptx/contraction.h"
#include "simulator/ptx/decoder.h"
#include "simulator/ptx/register_places.h"
#include "simulator/ptx/text.h"

namespace weft::cuda_device {
namespace {

constexpr size_t kSharedAlignment = 16;  // dynamic shared memory begins at a multiple of it

size_t round_up(size_t v, size_t to) { return (v + to - 1) / to * to; }

class KernelParser {
 public:
  KernelParser(const ModuleScope& module, Kernel& kernel) : module_(module), kernel_(kernel) {
    symbols_ = module.variables;
  }

  void head(std::string_view text);
  void body(std::string_view text);
  std::string place() const { return (source_.empty() ? "" : source_ + ": ") + kernel_.name; }

 private:
  void parameter(std::string_view text);
  void place_shared(std::string_view body);
  void statement(std::string_view text);
  void directive(std::string_view text);
  void location(std::string_view text);
  void instruction(std::string_view text);
  void label(std::string_view name) { labels_[std::string(name)] = int32_t(kernel_.code.size()); }
  void finish();

  void add_operand(std::string_view text, Statement& statement, size_t* index);
  Operand value(std::string_view text, int width);
  Operand address(std::string_view text);
  Operand constant(uint64_t bits, int width);

  const ModuleScope& module_;
  Kernel& kernel_;
  Symbols symbols_;
  Registers registers_;
  std::set<std::string, std::less<>> call_parameters_;  // .param of a call: stored like local variables
  std::map<std::string, int32_t, std::less<>> labels_;
  std::vector<std::pair<size_t, std::string>> branches_;  // the instruction and its label
  std::map<std::pair<uint64_t, int>, Operand> constants_;
  std::vector<ParsedStatement> statements_;  // one for each instruction
  std::string source_;
};

void KernelParser::head(std::string_view text) {
  const auto open = text.find('('), close = text.find(')', open);
  kernel_.name = split_words(text.substr(0, open)).back();
  if (open != std::string_view::npos)
    for (const std::string_view p : split(text.substr(open + 1, close - open - 1), ',')) parameter(p);
  const std::string_view after = close == std::string_view::npos ? std::string_view() : text.substr(close + 1);
  if (const auto at = after.find(".maxntid"); at != std::string_view::npos) {
    uint64_t threads = 1;
    const auto end = std::min(after.find('.', at + 1), after.size());
    for (const std::string_view n : split(after.substr(at + 8, end - at - 8), ',')) threads *= parse_number(n);
    kernel_.max_threads = uint32_t(threads);
  }
}

void KernelParser::parameter(std::string_view text) {
  const VariableDeclaration p = parse_variable(text);
  const size_t at = place_variable(p, &kernel_.parameter_bytes);
  symbols_[p.name] = at;
  kernel_.parameters.push_back({at, p.bytes});
}

// Static shared variables are placed before all others, because the dynamic ones start at their end.
void KernelParser::place_shared(std::string_view body) {
  for (const auto& [name, declaration] : module_.shared)
    if (body.find(name) != std::string_view::npos) symbols_[name] = place_variable(declaration, &kernel_.shared_bytes);
  for (size_t at = 0; (at = body.find(".shared", at)) != std::string_view::npos; ++at) {
    const auto before = body.substr(0, at).find_last_not_of(" \t\r\n");
    if (before != std::string_view::npos && body[before] != ';' && body[before] != '{' && body[before] != ':') continue;
    const VariableDeclaration v = parse_variable(body.substr(at, body.find(';', at) - at));
    symbols_[v.name] = place_variable(v, &kernel_.shared_bytes);
  }
  kernel_.shared_bytes = round_up(kernel_.shared_bytes, kSharedAlignment);
  for (const std::string& name : module_.dynamic_shared) symbols_[name] = kernel_.shared_bytes;
}

void KernelParser::body(std::string_view text) {
  place_shared(text);
  size_t first = 0;
  int depth = 0;         // the depth of braces inside a statement: vectors
  bool at_start = true;  // at the start of a statement
  const auto next_begins_at = [&](size_t k) {
    first = k;
    at_start = true;
  };
  for (size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (c == ' ' || c == '\t' || c == '\n') continue;
    if (at_start && (c == '{' || c == '}')) {
      c == '{' ? registers_.open_scope() : registers_.close_scope();
      next_begins_at(k + 1);
      continue;
    }
    at_start = false;
    if (c == '{' || c == '}') {
      depth += c == '{' ? 1 : -1;
    } else if (c == ':' && depth == 0 && k + 1 < text.size() && text[k + 1] != ':' && text[k - 1] != ':') {
      label(trim(text.substr(first, k - first)));
      next_begins_at(k + 1);
    } else if (c == ';') {
      statement(trim(text.substr(first, k - first)));
      next_begins_at(k + 1);
    }
  }
  finish();
}

void KernelParser::finish() {
  for (const auto& [index, name] : branches_) {
    const auto it = labels_.find(name);
    if (it == labels_.end()) throw UnknownInstruction("no label " + name);
    kernel_.code[index].target = it->second;
  }
  if (kernel_.code.empty() || kernel_.code.back().flow != Flow::Exit) instruction("ret");
  contract(kernel_, statements_, module_.contraction);
  for (size_t k = 0; k < kernel_.code.size(); ++k)
    kernel_.code[k].operands = std::span(kernel_.operands).subspan(statements_[k].first, statements_[k].count);
  kernel_.register_bytes = registers_.bytes();
  kernel_.register_bytes = share_register_places(kernel_, place_of(Special::Count));
}

void KernelParser::statement(std::string_view text) {
  if (text.empty()) return;
  if (text[0] == '.')
    directive(text);
  else
    instruction(text);
}

void KernelParser::directive(std::string_view text) {
  if (starts_with_word(text, ".loc")) return location(text);
  if (starts_with_word(text, ".reg")) return registers_.declare(text.substr(4));
  if (starts_with_word(text, ".shared")) return;  // place_shared() has placed it
  const bool of_call = starts_with_word(text, ".param");
  if (starts_with_word(text, ".local") || of_call) {
    VariableDeclaration v = parse_variable(text);
    if (of_call) v.alignment = std::max<size_t>(v.alignment, 16);
    symbols_[v.name] = place_variable(v, &kernel_.local_bytes);
    if (of_call) call_parameters_.insert(v.name);
    return;
  }
  if (!starts_with_word(text, ".pragma")) throw UnknownInstruction("unknown directive: " + std::string(text));
}

void KernelParser::location(std::string_view text) {
  const auto words = split_words(text);
  if (words.size() < 3) return;
  const auto file = module_.files.find(int(parse_number(words[1])));
  if (file == module_.files.end() || words[2] == "0") return;
  source_ = file->second + ":" + std::string(words[2]);
}

void KernelParser::instruction(std::string_view text) {
  Instruction i;
  std::string_view rest = text;
  if (rest[0] == '@') {
    const auto space = rest.find_first_of(" \t");
    i.guarded = true;
    i.guard = value(rest.substr(1, space - 1), Operand::kPredicate);
    rest = trim(rest.substr(space));
  }
  const auto space = std::min(rest.find_first_of(" \t\n"), rest.size());
  Statement s{Words(rest.substr(0, space)), split(rest.substr(space), ','), i, {}, 0, false, {}};
  s.of_call = std::ranges::any_of(s.operands, [&](std::string_view o) {
    return o.starts_with('[') && call_parameters_.contains(trim(o.substr(1, o.find_first_of("+]") - 1)));
  });
  try {
    decode(s);
    if (const std::string left = s.words.left_over(); !left.empty())
      throw UnknownInstruction("unknown modifier " + left);
    const size_t first = kernel_.operands.size();
    size_t index = 0;
    if (i.flow == Flow::Branch)
      branches_.emplace_back(kernel_.code.size(), std::string(s.operands.at(0)));
    else
      for (const std::string_view operand : s.operands) add_operand(operand, s, &index);
    statements_.push_back({first, kernel_.operands.size() - first, s.contractible});
    if (statements_.back().count < std::max<size_t>(i.results, s.least_operands))
      throw UnknownInstruction("operands are missing");
  } catch (const std::exception& error) {
    throw UnknownInstruction(std::string(error.what()) + " in: " + std::string(text));
  }
  kernel_.code.push_back(i);
  kernel_.origins.push_back({std::string(text), source_});
}

void KernelParser::add_operand(std::string_view text, Statement& s, size_t* index) {
  const auto width = [&] {
    const size_t k = std::min(*index, s.widths.size() - 1);
    return s.widths.empty() ? 4 : s.widths[k];
  };
  if (text.starts_with('{') || text.starts_with('(')) {
    for (const std::string_view e : split(text.substr(1, text.size() - 2), ',')) add_operand(e, s, index);
    return;
  }
  if (const auto bar = text.find('|'); bar != std::string_view::npos) {
    add_operand(trim(text.substr(0, bar)), s, index);
    add_operand(trim(text.substr(bar + 1)), s, index);
    return;
  }
  const Operand o = text.starts_with('[') ? address(text.substr(1, text.size() - 2)) : value(text, width());
  kernel_.operands.push_back(o);
  ++*index;
}

Operand KernelParser::address(std::string_view text) {
  text = trim(text);
  int64_t offset = 0;
  if (const auto sign = text.find_first_of("+-", 1); sign != std::string_view::npos) {
    const bool plus = text[sign] == '+';
    offset = int64_t(parse_number(trim(text.substr(sign + 1))));
    if (!plus) offset = -offset;
    text = trim(text.substr(0, sign));
  }
  Operand o = value(text, 8);
  o.offset = int32_t(offset);
  return o;
}

Operand KernelParser::constant(uint64_t bits, int width) {
  const auto key = std::make_pair(bits, width);
  if (const auto it = constants_.find(key); it != constants_.end()) return it->second;
  const Operand o = registers_.add(width);
  kernel_.constants.push_back({o, bits});
  return constants_[key] = o;
}

Operand KernelParser::value(std::string_view text, int width) {
  if (text.starts_with('!')) {
    Operand o = value(trim(text.substr(1)), width);
    o.negate = !o.negate;
    return o;
  }
  if (const auto o = registers_.find(text)) return *o;
  if (text == "_") return constant(0, width);
  if (text == "WARP_SZ") return constant(kLanes, width);
  if (is_number(text)) return constant(parse_number(text), width);
  if (const auto it = symbols_.find(text); it != symbols_.end()) return constant(it->second, width);
  throw UnknownInstruction("unknown name " + std::string(text));
}

}  // namespace

std::shared_ptr<const Kernel> parse_kernel(std::string_view head, std::string_view body, const ModuleScope& module) {
  auto kernel = std::make_shared<Kernel>();
  KernelParser parser(module, *kernel);
  try {
    parser.head(head);
    parser.body(body);
  } catch (const std::exception& error) {
    throw PtxError(parser.place() + ": " + error.what());
  }
  return kernel;
}

}  // namespace weft::cuda_device
