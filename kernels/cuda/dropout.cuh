// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/philox.h"
#include "kernels/formulas/dropout.h"
#include "kernels/step_state.h"

namespace weft::cuda {

// A Dropout (kernels/step_state.h) as kernels take it: its masks are those of every other device, to the bit.
struct DropoutMask {
  uint64_t key = 0;  // for a step that is replayed, the site's key alone: the device has the step's
  const StepState* step = nullptr;
  uint32_t threshold = 0;  // 0: nothing is dropped
  float scale = 1;
  int64_t first_channel = 0;
  const int32_t* sequences = nullptr;
  const int32_t* positions = nullptr;

  DropoutMask() = default;
  explicit DropoutMask(const Dropout& dropout) {
    if (!dropout.active()) return;
    step = dropout.step.on_device;
    key = formulas::dropout_key(step ? 0 : dropout.step.dropout_key, dropout.dropout_id);
    threshold = dropout.threshold();
    scale = static_cast<float>(dropout.scale());
    first_channel = dropout.first_channel;
    sequences = dropout.rows.sequence.device_data<int32_t>();
    positions = dropout.rows.position.device_data<int32_t>();
  }
  __host__ __device__ bool active() const { return threshold != 0; }

  // The draws of one Philox call: block b serves channels 8 b .. 8 b + 7, counted over the whole model.
  struct Draws {
    Philox::Counter words;
    __device__ uint32_t operator[](int lane) const { return (words[lane / 2] >> (16 * (lane % 2))) & 0xffffu; }
  };
  __device__ Draws draws(uint32_t block, uint32_t position, uint32_t sequence, uint32_t head) const {
    return {Philox(formulas::dropout_key(step ? step->dropout_key : 0, key))({block, position, sequence, head})};
  }
  // x[i] = dropout(x[i]) for channels first .. first + N of a row, N at most 8: one call, or two if the channels do not
  // begin with those of a call.
  template <int N>
  __device__ void multiply(int64_t row, int64_t first, float (&x)[N]) const {
    const int64_t c = first_channel + first;
    constexpr int kDraws = formulas::kDrawsOfCall;
    const auto block = static_cast<uint32_t>(c / kDraws), lane = static_cast<uint32_t>(c % kDraws);
    const auto position = static_cast<uint32_t>(positions[row]), sequence = static_cast<uint32_t>(sequences[row]);
    uint32_t words[8] = {};
    const Draws here = draws(block, position, sequence, 0);
#pragma unroll
    for (int w = 0; w < 4; ++w) words[w] = here.words[w];
    if (lane + N > kDraws) {
      const Draws next = draws(block + 1, position, sequence, 0);
#pragma unroll
      for (int w = 0; w < 4; ++w) words[4 + w] = next.words[w];
    }
    skip_draws(words, lane);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const uint32_t bits = (words[i / 2] >> (16 * (i % 2))) & 0xffffu;
      x[i] = formulas::is_dropped(bits, threshold) ? 0.0f : x[i] * scale;
    }
  }

 private:
  // Leaves out the first `lane` of the draws. It does so in steps of 4, 2 and 1, since an index that the compiler does
  // not know would put the words into local memory.
  static __device__ void skip_draws(uint32_t (&words)[8], uint32_t lane) {
    if (lane & 4) {
#pragma unroll
      for (int w = 0; w < 6; ++w) words[w] = words[w + 2];
    }
    if (lane & 2) {
#pragma unroll
      for (int w = 0; w < 5; ++w) words[w] = words[w + 1];
    }
    if (lane & 1) {
#pragma unroll
      for (int w = 0; w < 4; ++w) words[w] = __funnelshift_r(words[w], words[w + 1], 16);
    }
  }
};

}  // namespace weft::cuda
