// SPDX-License-Identifier: Apache-2.0
#include "simulator/ptx/symbols.h"

#include <array>
#include <cctype>
#include <stdexcept>

#include "simulator/ptx/module.h"
#include "simulator/ptx/text.h"

namespace weft::cuda_device {
namespace {

constexpr size_t kRegisterAlignment = 64;  // the alignment of the widest vectors of processors

constexpr std::array<std::string_view, size_t(Special::Count)> kSpecials = {
    "%tid.x",           "%tid.y",       "%tid.z",
    "%ntid.x",          "%ntid.y",      "%ntid.z",
    "%ctaid.x",         "%ctaid.y",     "%ctaid.z",
    "%nctaid.x",        "%nctaid.y",    "%nctaid.z",
    "%laneid",          "%warpid",      "%nwarpid",
    "%lanemask_eq",     "%lanemask_le", "%lanemask_lt",
    "%lanemask_ge",     "%lanemask_gt", "%dynamic_smem_size",
    "%total_smem_size", "%envreg0"};

size_t slot_bytes(int width) { return width == Operand::kPredicate ? sizeof(uint32_t) : size_t(width) * kLanes; }

size_t round_up(size_t v, size_t to) { return (v + to - 1) / to * to; }

}  // namespace

VariableDeclaration parse_variable(std::string_view text) {
  VariableDeclaration v;
  const auto bracket = text.find('[');
  const auto words = split_words(text.substr(0, bracket));
  if (words.size() < 2) throw std::invalid_argument("no variable: " + std::string(text));
  v.name = words.back();
  size_t aligned = 0;
  for (size_t k = 0; k + 1 < words.size(); ++k) {
    if (words[k] == ".align") {
      aligned = parse_number(words[++k]);
    } else if (words[k].size() > 2 && std::isdigit(static_cast<unsigned char>(words[k].back()))) {
      v.element_bytes = size_t(type_bytes(words[k].substr(1)));
    }
  }
  v.alignment = aligned ? aligned : v.element_bytes;
  v.bytes = v.element_bytes;
  for (auto rest = bracket == std::string_view::npos ? std::string_view() : text.substr(bracket); !rest.empty();) {
    const auto end = rest.find(']');
    const std::string_view extent = trim(rest.substr(1, end - 1));
    if (extent.empty())
      v.is_external = true;
    else
      v.bytes *= parse_number(extent);
    rest = trim(rest.substr(end + 1));
    if (!rest.starts_with('[')) break;
  }
  return v;
}

size_t place_variable(const VariableDeclaration& declaration, size_t* bytes) {
  const size_t at = round_up(*bytes, declaration.alignment);
  *bytes = at + declaration.bytes;
  return at;
}

Registers::Registers() {
  open_scope();
  for (size_t k = 0; k < kSpecials.size(); ++k) {
    const Operand o{.place = place_of(Special(k)), .width = 4};
    scopes_.back()[std::string(kSpecials[k])] = {o, 0};
  }
  bytes_ = place_of(Special::Count);
}

Operand Registers::add(int width) {
  const size_t at = round_up(bytes_, width == Operand::kPredicate ? sizeof(uint32_t) : kRegisterAlignment);
  bytes_ = at + slot_bytes(width);
  return {.place = uint32_t(at), .width = uint8_t(width)};
}

void Registers::declare(std::string_view text) {
  const auto words = split_words(text);
  const int width = type_bytes(words.at(0).substr(1));
  if (width == 16) throw std::invalid_argument("registers of 128 bits are not known here");
  for (std::string_view name : split(trim(text).substr(words[0].size()), ',')) {
    const auto angle = name.find('<');
    const int count =
        angle == std::string_view::npos ? 0 : int(parse_number(name.substr(angle + 1, name.size() - angle - 2)));
    Range range{add(width), count};
    for (int k = 1; k < count; ++k) add(width);
    scopes_.back()[std::string(name.substr(0, angle))] = range;
  }
}

std::optional<Operand> Registers::find(std::string_view name) const {
  const auto digits = name.find_last_not_of("0123456789") + 1;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto it = scope->find(name); it != scope->end() && it->second.count == 0) return it->second.first;
    if (digits == name.size()) continue;
    const auto it = scope->find(name.substr(0, digits));
    if (it == scope->end() || it->second.count == 0) continue;
    const uint64_t number = parse_number(name.substr(digits));
    if (number >= uint64_t(it->second.count)) continue;
    Operand o = it->second.first;
    o.place += uint32_t(number * slot_bytes(o.width));
    return o;
  }
  return std::nullopt;
}

}  // namespace weft::cuda_device
