// SPDX-License-Identifier: Apache-2.0
// Speed of the CPU operations at GPT-2 124M's shapes, beside the measured peak: the best large square product.
//   OMP_NUM_THREADS=2 build/cpu/bench/micro/kernels_bench [--benchmark_filter=linear]
#include "bench/micro/support.h"
#include "kernels/ops/cross_entropy.h"
#include "kernels/ops/linear.h"
#include "kernels/ops/matmul.h"
#include "kernels/ops/optimizer.h"

namespace weft::bench {
namespace {

void square(benchmark::State& state, int64_t n, DType dtype) {
  const Tensor a = tensor({n, n}, dtype), b = tensor({n, n}, dtype), c = tensor({n, n}, DType::F32);
  rate(state, "GFLOP/s", 2.0 * static_cast<double>(n * n * n), [&] { matmul(context(), {.a = a, .b = b, .c = c}); });
}

struct Layer {
  int64_t rows, in, out;
  bool bias = true;
  double flops() const { return 2.0 * static_cast<double>(rows * in * out); }
};

void forward(benchmark::State& state, Layer s, DType dtype, Activation activation, bool pack) {
  const Tensor x = tensor({s.rows, s.in}, dtype), w = tensor({s.out, s.in}, dtype), y = tensor({s.rows, s.out}, dtype);
  const PackedWeight packed = pack ? pack_weight(context(), w) : PackedWeight();
  const LinearForward args{.x = x,
                           .weight = w,
                           .packed = packed,
                           .bias = s.bias ? tensor({s.out}, dtype) : Tensor{},
                           .activation = activation,
                           .y = y,
                           .pre = activation == Activation::None ? Tensor{} : tensor({s.rows, s.out}, dtype)};
  rate(state, "GFLOP/s", s.flops(), [&] { linear_forward(context(), args); });
}

void backward(benchmark::State& state, Layer s, DType dtype, Activation activation, bool dx, bool dw) {
  LinearBackward args{.dy = tensor({s.rows, s.out}, dtype),
                      .x = tensor({s.rows, s.in}, dtype),
                      .weight = tensor({s.out, s.in}, dtype),
                      .input_activation = activation,
                      .input_pre = tensor({s.rows, s.in}, dtype)};
  if (dx) args.dx = {tensor({s.rows, s.in}, dtype), Accumulate::Overwrite};
  if (dw) {
    args.dweight = {tensor({s.out, s.in}, DType::F32), Accumulate::Add};
    args.dbias = {tensor({s.out}, DType::F32), Accumulate::Add};
  }
  rate(state, "GFLOP/s", s.flops() * ((dx ? 1 : 0) + (dw ? 1 : 0)), [&] { linear_backward(context(), args); });
}

// Counts the bytes of the logits that are read and of the gradient that is written.
void cross_entropy(benchmark::State& state, DType dtype) {
  const int64_t rows = 256, columns = 50257;
  const Tensor logits = tensor({rows, columns}, DType::F32), d = tensor({rows, columns}, dtype);
  const Tensor targets = context().zeros({rows}, DType::I32);
  const Tensor loss = tensor({rows}, DType::F32), nll = tensor({rows}, DType::F32);
  rate(state, "GB/s", static_cast<double>(logits.bytes() + d.bytes()), [&] {
    weft::cross_entropy(
        context(),
        {.logits = logits, .targets = targets, .valid_columns = columns, .loss = loss, .nll = nll, .dlogits = d});
  });
}

void adam(benchmark::State& state) {
  const Shape n{8 << 20};
  const AdamUpdate args{.parameter = tensor(n, DType::F32),
                        .gradient = tensor(n, DType::F32),
                        .moment1 = tensor(n, DType::F32),
                        .moment2 = context().zeros(n, DType::F32),
                        .spans = share_update_spans(context(), {0}, {0.1}, {1})};
  rate(state, "GB/s", 7.0 * 4 * static_cast<double>(n.elements()), [&] { adam_update(context(), args); });
}

void norm(benchmark::State& state) {
  const Tensor x = tensor({8 << 20}, DType::F32), out = context().empty({1}, DType::F64);
  rate(state, "GB/s", static_cast<double>(x.bytes()), [&] { square_sum(context(), {.parts = {&x, 1}, .out = out}); });
}

void register_all() {
  const std::vector<Layer> layers{{4096, 768, 768}, {4096, 768, 2304}, {4096, 768, 3072}, {4096, 3072, 768},
                                  {768, 128, 384},  {768, 128, 512},   {1800, 256, 512}};
  for (const DType t : {DType::F32, DType::BF16}) {
    const std::string type(name(t));
    for (const int64_t n : {1024, 2048, 3072}) {
      add(fmt::format("peak/{}/{}", type, n), [=](benchmark::State& s) { square(s, n, t); });
    }
    for (const Layer& l : layers) {
      const std::string shape = fmt::format("{}/{}x{}x{}", type, l.rows, l.in, l.out);
      const auto none = Activation::None;
      add("linear_forward/" + shape, [=](benchmark::State& s) { forward(s, l, t, none, false); });
      add("linear_dx/" + shape, [=](benchmark::State& s) { backward(s, l, t, none, true, false); });
      add("linear_dw/" + shape, [=](benchmark::State& s) { backward(s, l, t, none, false, true); });
    }
    const Layer up{4096, 768, 3072};
    add("linear_forward_gelu/" + type, [=](benchmark::State& s) { forward(s, up, t, Activation::GeluTanh, false); });
    const Layer down{4096, 3072, 768};
    add("linear_backward_gelu/" + type,
        [=](benchmark::State& s) { backward(s, down, t, Activation::GeluTanh, true, true); });
    const Layer output{512, 768, 50257, false};
    add("output_forward/" + type, [=](benchmark::State& s) { forward(s, output, t, Activation::None, false); });
    add("output_backward/" + type, [=](benchmark::State& s) { backward(s, output, t, Activation::None, true, true); });
    for (const int64_t rows : {1, 16}) {
      const Layer decode{rows, 768, 3072};
      add(fmt::format("decode/{}/{}", type, rows),
          [=](benchmark::State& s) { forward(s, decode, t, Activation::None, false); });
      add(fmt::format("decode_packed/{}/{}", type, rows),
          [=](benchmark::State& s) { forward(s, decode, t, Activation::None, true); });
    }
    add("cross_entropy/" + type, [=](benchmark::State& s) { cross_entropy(s, t); });
  }
  add("adam", adam);
  add("square_sum", norm);
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  weft::bench::register_all();
  return weft::bench::run(argc, argv);
}
