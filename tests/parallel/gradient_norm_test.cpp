// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameters/gradient_norm.h"

#include <gtest/gtest.h>

#include <atomic>

#include "kernels/ops/optimizer.h"
#include "parallel/local/in_process.h"

namespace weft {
namespace {

// Parameters that tp shards (padded to whole blocks of rows) or replicates; the gradient of each is constant.
struct Declared {
  const char* name;
  float gradient;
};
constexpr Declared kDeclared[] = {{"sharded", 2}, {"vocabulary", 3}, {"replicated", 5}};
constexpr double kSquares = 24 * 4 + 10 * 9 + 7 * 25;

TEST(GradientNorm, CountsEveryParameterOnceOnAnyLayout) {
  for (const MeshLayout& layout : {MeshLayout{1, 1}, {2, 1}, {1, 2}, {3, 2}}) {
    for (const ZeroStage zero : {ZeroStage::Whole, ZeroStage::Optimizer, ZeroStage::Gradients}) {
      std::atomic<double> sum = 0;
      run_in_process(layout, [&](Mesh& mesh, int) {
        Context context;
        ParameterRegistry registry(context, mesh);
        registry.add({.name = "sharded", .shape = {4, 6}, .placement = sharded(MeshAxis::Tp, 1)});
        registry.add({.name = "vocabulary", .shape = {5, 2}, .placement = sharded(MeshAxis::Tp, 0), .padded = true});
        registry.add({.name = "replicated", .shape = {7}});
        registry.freeze(
            registry.add({.name = "frozen", .shape = {3, 4}, .placement = sharded(MeshAxis::Tp, 1 - layout.tp % 2)}));
        registry.allocate(Precision::Fp32, Purpose::Training, {.zero = zero, .bucket_bytes = 4});
        const FlatBuffer& gradient = registry.reduced_gradient();
        for (const Declared& d : kDeclared) {
          const Parameter& p = *registry.find(d.name);
          for (const FlatRange& part : gradient.parts({p.flat_offset(), p.flat_offset() + p.extent().elements()})) {
            for (float& g : gradient.piece(part).span<float>()) g = d.gradient;
          }
        }
        const Tensor out = context.empty({1}, DType::F64);
        square_sum(context, {.parts = counted_gradients(registry), .out = out});
        sum += out.data<double>()[0];
      });
      EXPECT_DOUBLE_EQ(sum, kSquares) << layout.dp << " x " << layout.tp << ", zero " << static_cast<int>(zero);
    }
  }
}

}  // namespace
}  // namespace weft
