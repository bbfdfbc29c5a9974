// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "kernels/context.h"
#include "parallel/mesh.h"
#include "parallel/parameters/gradient_buckets.h"

namespace weft {

// An activation on the tape: its value, and during backward its gradient once something has contributed to it.
struct Variable {
  Tensor value;  // released after its last reader
  Tensor gradient;
  bool needs_gradient = false;
  // The model's compute dtype, even if the value is a sum that has not been rounded to it yet.
  DType gradient_dtype = DType::F32;
  Shape shape = {};  // shape of value and gradient
};
using Var = std::shared_ptr<Variable>;

// One use of a parameter by one operation: forward reads value(), and the closure that it pushes holds the handle and
// asks for gradient() once. The use ends with the last copy of the handle, that is with the closure: until then the
// bucket that holds the gradient is not reduced. A handle of no parameter (an absent bias) gives absent tensors.
// It must not outlive the tape's buckets.
class ParameterUse {
 public:
  ParameterUse() = default;
  explicit operator bool() const { return parameter_ != nullptr; }
  Tensor value() const { return parameter_ ? parameter_->value() : Tensor{}; }
  // The tensor for the operation's contribution to the gradient, which the caller writes at once.
  Gradient gradient() const;

 private:
  friend class Tape;
  struct Closing;
  const Parameter* parameter_ = nullptr;
  GradientBuckets* buckets_ = nullptr;
  std::shared_ptr<Closing> closing_;  // if the tape records: closes the use when its last owner goes
};

// Records the backward pass while model code writes forward only. An operation pushes a closure that holds the
// tensors its backward needs; they are freed as soon as it has run. Collectives make progress between closures.
class Tape {
 public:
  enum class Mode : uint8_t {
    Record,   // training: remember closures, count uses of parameters
    Discard,  // the first pass of a recomputed segment: count uses, remember nothing
    Replay,   // the second pass: remember closures; the uses are counted already
    Off,      // evaluation and decoding
  };
  Tape(Context& context, Mode mode, GradientBuckets* buckets = nullptr)
      : context_(context), mode_(mode), buckets_(buckets) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  Context& context() const { return context_; }
  bool training() const { return mode_ != Mode::Off; }
  bool recording() const { return mode_ == Mode::Record || mode_ == Mode::Replay; }

  Var constant(Tensor value) const { return std::make_shared<Variable>(Variable{std::move(value), {}, false}); }
  Var variable(Tensor value) const {
    const DType dtype = value.dtype();
    return variable(std::move(value), dtype);
  }
  Var variable(Tensor value, DType gradient_dtype) const {
    const Shape shape = value.shape();
    return std::make_shared<Variable>(Variable{std::move(value), {}, recording(), gradient_dtype, shape});
  }

  // Called once for each parameter that an operation reads; nullptr gives the handle of no parameter.
  ParameterUse use(const Parameter* parameter);

  void push(std::function<void()> backward);
  void backward();

  // The tensor for the next contribution to a variable's gradient. The first contribution makes the tensor and
  // overwrites it. Absent for a variable that needs no gradient.
  Gradient gradient(const Var& variable) const;

  // Runs `segment` without keeping its activations; backward runs it again, recording, and then its closures. The
  // result is bit-identical to running it directly, since dropout depends on logical indices alone.
  using Segment = std::function<std::vector<Var>(Tape&, const std::vector<Var>&)>;
  std::vector<Var> recompute(const std::vector<Var>& inputs, Segment segment);

 private:
  Context& context_;
  Mode mode_;
  GradientBuckets* buckets_;
  std::vector<std::function<void()>> closures_;
};

}  // namespace weft
