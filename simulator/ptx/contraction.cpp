// SPDX-License-Identifier: Apache-2.0
#include "simulator/ptx/contraction.h"

#include <algorithm>
#include <map>

#include "simulator/ptx/basic_blocks.h"
#include "simulator/ptx/draw.h"
#include "simulator/ptx/readable_name.h"

namespace weft::cuda_device {
namespace {

using Role = Contractible::Role;

// The mangled name of a kernel holds the folder that it was compiled in, on which no draw may depend.
uint64_t hash_of(const std::string& kernel) {
  uint64_t hash = 0;
  for (const char c : readable_name(kernel)) hash = mixed(hash, static_cast<unsigned char>(c));
  return hash;
}

class Contractor {
 public:
  Contractor(Kernel& kernel, std::span<ParsedStatement> statements, const Contraction& contraction)
      : kernel_(kernel), statements_(statements), contraction_(contraction), hash_(hash_of(kernel.name)) {}
  void run();

 private:
  std::span<const Operand> operands(size_t k) const {
    return std::span<const Operand>(kernel_.operands).subspan(statements_[k].first, statements_[k].count);
  }
  void consider(size_t sum);
  void fuse(size_t sum, size_t product, size_t position);
  void forget(uint32_t place);
  void note(size_t product);

  Kernel& kernel_;
  std::span<ParsedStatement> statements_;
  const Contraction& contraction_;
  const uint64_t hash_;
  std::map<uint32_t, size_t> products_;  // by the place of the result: products of this block that could be made again
};

void Contractor::run() {
  const std::vector<bool> begins = begins_of_blocks(kernel_.code);
  for (size_t k = 0; k < kernel_.code.size(); ++k) {
    if (begins[k]) products_.clear();
    const Contractible& what = statements_[k].contractible;
    if (what.fused && what.role != Role::Product) consider(k);
    for (size_t r = 0; r < kernel_.code[k].results && r < statements_[k].count; ++r) forget(operands(k)[r].place);
    if (what.fused && what.role == Role::Product) note(k);
  }
}

// A register is written: a product that it holds, or that was made of it, cannot be fused any more.
void Contractor::forget(uint32_t place) {
  std::erase_if(products_, [&](const auto& product) {
    const auto parts = operands(product.second);
    return std::ranges::any_of(parts, [&](const Operand& o) { return o.place == place; });
  });
}

void Contractor::note(size_t product) {
  const auto parts = operands(product);
  const bool overwrites = parts[0].place == parts[1].place || parts[0].place == parts[2].place;
  if (!kernel_.code[product].guarded && !overwrites) products_[parts[0].place] = product;
}

void Contractor::consider(size_t sum) {
  std::vector<std::pair<size_t, size_t>> candidates;  // the product, and its position among the operands
  for (const size_t position : {1u, 2u}) {
    const auto found = products_.find(operands(sum)[position].place);
    if (found != products_.end() &&
        statements_[found->second].contractible.fused == statements_[sum].contractible.fused)
      candidates.emplace_back(found->second, position);
  }
  if (candidates.empty()) return;
  const uint64_t draw = mixed(mixed(hash_, contraction_.draw), sum);
  if (!contraction_.all && draw % 2 == 0) return;
  const auto& [product, position] = candidates[draw / 2 % candidates.size()];
  fuse(sum, product, position);
}

void Contractor::fuse(size_t sum, size_t product, size_t position) {
  Instruction& i = kernel_.code[sum];
  ParsedStatement& statement = statements_[sum];
  const Operand result = operands(sum)[0], a = operands(product)[1], b = operands(product)[2];
  const Operand c = operands(sum)[3 - position];
  const FusedSigns of_difference = position == 1 ? FusedSigns::Addend : FusedSigns::Product;
  i.execute = statement.contractible.fused;
  i.mode = int32_t(statement.contractible.role == Role::Difference ? of_difference : FusedSigns::None);
  statement.first = kernel_.operands.size();
  statement.count = 4;
  kernel_.operands.insert(kernel_.operands.end(), {result, a, b, c});
  kernel_.origins[sum].text += ", fused with " + kernel_.origins[product].text;
}

}  // namespace

void contract(Kernel& kernel, std::span<ParsedStatement> statements, const Contraction& contraction) {
  if (contraction.any()) Contractor(kernel, statements, contraction).run();
}

}  // namespace weft::cuda_device
