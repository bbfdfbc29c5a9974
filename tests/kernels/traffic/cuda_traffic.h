// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ostream>
#include <set>
#include <span>
#include <string>

#include "simulator/runtime/simulator.h"
#include "tests/kernels/fixture/check.h"
#include "tests/kernels/traffic/requested.h"

// The memory requests of CUDA kernels, counted by the simulated device from real addresses.
namespace weft::test {

struct TrafficCase {
  DType dtype;
  int64_t width;
  friend void PrintTo(const TrafficCase& c, std::ostream* out) { *out << name(c.dtype) << " " << c.width; }
};

// Runs operations on tensors of one dtype and width. Every kernel that they launch is checked by itself, by the rules
// of expect_whole_requests(), and those of an operation together by what they should ask for.
class CudaTraffic {
 public:
  explicit CudaTraffic(const TrafficCase& c);

  void residual_norm();
  void embed();
  void rows_and_columns();
  void optimizer();
  void fixed_point();
  void activations();
  void heads();  // of 64 columns, three a group: the width has no effect
  void packed_products();
  // Heads of 64 columns, and of the other widths that kernels are made for. Rows of heads of 32 columns are so short
  // that up to 30 % of the sectors hold one number per row.
  // window: of keys that a query sees, 1 and a multiple of 16; 0: all.
  void attention(int64_t window = 0);
  void cached_attention(int64_t window = 0);
  void cross_entropy();  // the width is the vocabulary
  void choose_tokens();  // the width is the vocabulary

  const std::set<std::string>& ran() const { return ran_; }  // families of kernels

 private:
  // Requests of 16 bytes a lane move at least 90 % of a kernel's sectors, and at least 90 % of these bytes are used.
  // Shared memory takes at most 1.1 times the cycles that its distinct bytes need. The other sectors hold one number
  // per row (its index, its mean, its token), which all lanes read together.
  // All kernels together move `requested` bytes within a tenth, and multiply, load fragments and overlap copies exactly
  // as often as that says.
  template <class Run>
  void expect_whole_requests(const char* operation, const Requested& requested, Run&& run, double share = 0.9) {
    begin();
    run();
    expect_requested(operation, requested);
    expect_rules(operation, share);
  }
  void begin();
  void expect_requested(const char* operation, const Requested& requested);
  void expect_rules(const char* operation, double share);

  Tensor rows_of(uint64_t seed) { return random(context_, {kRows, width_}, dtype_, seed); }
  Tensor row_of(uint64_t seed) { return random(context_, {width_}, dtype_, seed); }
  Tensor sums() { return context_.zeros({width_}, DType::F32); }
  Tensor statistics() { return context_.empty({kRows}, DType::F32); }
  Dropout dropout() {
    return {.probability = 0.1, .dropout_id = 3, .step = state_, .rows = row_ids(context_, kRows, 8)};
  }
  Tensor sorted();

  static constexpr int64_t kRows = 96;
  DType dtype_;
  int64_t width_;
  Context context_;
  StepState state_;
  std::set<std::string> ran_;
  cuda_device::CountsByKernel before_;  // the counts before this operation
};

// A kernel that moves so few bytes, or so many numbers of rows beside them, that the rule of 90 % does not apply.
struct Exempt {
  const char* kernel;
  double share;  // the least part of its sectors that 16-byte requests move
  const char* why;
};
std::span<const Exempt> exempt_kernels();

// "attention_forward" of "attention_forward<float, 64>"
std::string family_of(const std::string& kernel);

// The families of all kernels of the program.
std::set<std::string> kernels_of_the_program();

}  // namespace weft::test
