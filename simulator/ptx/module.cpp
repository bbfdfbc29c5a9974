// SPDX-License-Identifier: Apache-2.0
#include "simulator/ptx/module.h"

#include <algorithm>
#include <cstring>

#include "simulator/ptx/kernel_parser.h"
#include "simulator/ptx/text.h"

namespace weft::cuda_device {
namespace {

class ModuleParser {
 public:
  ModuleParser(const std::string& text, const Place& place, const Contraction& contraction)
      : text_(without_comments(text)), place_(place) {
    scope_.contraction = contraction;
  }
  Module parse();

 private:
  void files();
  void statement(std::string_view text);
  void variable(std::string_view text, std::string_view value);
  void function(std::string_view head, std::string_view body);
  size_t end_of_braces(size_t open) const;

  const std::string text_;
  const Place& place_;
  ModuleScope scope_;
  Module module_;
};

// .file 1 "/source/layer_norm.cu", anywhere in the text.
void ModuleParser::files() {
  for (size_t at = 0; (at = text_.find(".file", at)) != std::string::npos; ++at) {
    const std::string_view line = std::string_view(text_).substr(at, text_.find('\n', at) - at);
    const auto words = split_words(line);
    const auto open = line.find('"'), close = line.find('"', open + 1);
    if (words.size() < 3 || close == std::string_view::npos) continue;
    const std::string_view path = line.substr(open + 1, close - open - 1);
    scope_.files[int(parse_number(words[1]))] = path.substr(path.find_last_of('/') + 1);
  }
}

size_t ModuleParser::end_of_braces(size_t open) const {
  int depth = 0;
  for (size_t k = open; k < text_.size(); ++k) {
    depth += (text_[k] == '{') - (text_[k] == '}');
    if (depth == 0) return k;
  }
  throw PtxError("the PTX ends inside of braces");
}

Module ModuleParser::parse() {
  files();
  for (size_t at = 0, next; (next = text_.find_first_of(";{", at)) != std::string::npos;) {
    // .version, .target and .file end with their line, so they may stand before the first statement.
    std::string_view head = std::string_view(text_).substr(at, next - at);
    for (const char* word : {".version", ".target", ".address_size", ".file"})
      for (size_t p; (p = head.find(word)) != std::string_view::npos && trim(head.substr(0, p)).empty();)
        head = head.substr(std::min(head.find('\n', p), head.size()));
    head = trim(head);
    if (text_[next] == ';') {
      statement(head);
      at = next + 1;
      continue;
    }
    const size_t end = end_of_braces(next);
    const std::string_view inside = std::string_view(text_).substr(next + 1, end - next - 1);
    if (head.ends_with('=')) {
      variable(head.substr(0, head.size() - 1), inside);
      at = text_.find(';', end) + 1;
    } else {
      if (!head.starts_with(".section")) function(head, inside);
      at = end + 1;
    }
  }
  return std::move(module_);
}

void ModuleParser::statement(std::string_view text) {
  if (text.empty() || text.find(".func") != std::string_view::npos || text.starts_with(".pragma"))
    return;  // only a declaration
  const auto equals = text.find('=');
  variable(trim(text.substr(0, equals)),
           equals == std::string_view::npos ? std::string_view() : trim(text.substr(equals + 1)));
}

void ModuleParser::variable(std::string_view text, std::string_view value) {
  const VariableDeclaration v = parse_variable(text);
  if (text.find(".shared") != std::string_view::npos) {
    if (v.is_external)
      scope_.dynamic_shared.push_back(v.name);
    else
      scope_.shared[v.name] = v;
    return;
  }
  if (text.find(".global") == std::string_view::npos && text.find(".const") == std::string_view::npos)
    throw PtxError("unknown declaration: " + std::string(text));
  std::vector<std::byte> bytes(v.bytes);
  size_t at = 0;
  for (const std::string_view item : split(value, ',')) {
    if (!is_number(item))
      throw PtxError("the initial value " + std::string(item) + " of " + v.name + " is not known here");
    const uint64_t number = parse_number(item);
    if (at + v.element_bytes > bytes.size()) throw PtxError("too many initial values of " + v.name);
    std::memcpy(bytes.data() + at, &number, v.element_bytes);
    at += v.element_bytes;
  }
  const uint64_t address = place_(v.name, bytes, v.alignment);
  scope_.variables[v.name] = address;
  module_.variables[v.name] = {address, v.bytes};
}

void ModuleParser::function(std::string_view head, std::string_view body) {
  const auto entry = head.find(".entry");
  if (entry == std::string_view::npos)
    throw PtxError("device functions that are not inlined are not known here: " + std::string(head));
  auto kernel = parse_kernel(head.substr(entry), body, scope_);
  module_.kernels[kernel->name] = std::move(kernel);
}

}  // namespace

Module parse_module(const std::string& text, const Place& place, const Contraction& contraction) {
  return ModuleParser(text, place, contraction).parse();
}

}  // namespace weft::cuda_device
