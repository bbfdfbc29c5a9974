// SPDX-License-Identifier: Apache-2.0
#include "model/tape.h"

#include <utility>

namespace weft {

// Ends a use, however the tape ends: after backward, when the tape is dropped, or during unwinding. It only counts, so
// nothing is thrown here; the tape's next progress() starts the buckets that have become ready.
struct ParameterUse::Closing {
  GradientBuckets& buckets;
  const Parameter& parameter;
  Closing(GradientBuckets& b, const Parameter& p) : buckets(b), parameter(p) {}
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;
  ~Closing() { buckets.close_use(parameter); }
};

Gradient ParameterUse::gradient() const {
  if (!parameter_) return {};
  require<InternalError>(buckets_ != nullptr, "a gradient of {} on a tape without gradient buckets",
                         parameter_->spec().name);
  return buckets_->contribute(*parameter_);
}

ParameterUse Tape::use(const Parameter* parameter) {
  ParameterUse use;
  use.parameter_ = parameter, use.buckets_ = buckets_;
  if (!parameter || !buckets_) return use;
  // The first pass of a recomputed segment opens the uses, the second one closes them.
  if (mode_ == Mode::Record || mode_ == Mode::Discard) buckets_->open_use(*parameter);
  if (recording()) use.closing_ = std::make_shared<ParameterUse::Closing>(*buckets_, *parameter);
  return use;
}

void Tape::push(std::function<void()> backward) {
  if (recording()) closures_.push_back(std::move(backward));
}

void Tape::backward() {
  while (!closures_.empty()) {
    {
      // Moved out first, so that what the closure holds is freed, and the uses that it holds end, before the next one.
      const auto closure = std::move(closures_.back());
      closures_.pop_back();
      closure();
    }
    if (buckets_) buckets_->progress();
  }
}

Gradient Tape::gradient(const Var& variable) const {
  if (!variable->needs_gradient) return {};
  if (variable->gradient) return {variable->gradient, Accumulate::Add};
  variable->gradient = context_.empty(variable->shape, variable->gradient_dtype);
  return {variable->gradient, Accumulate::Overwrite};
}

std::vector<Var> Tape::recompute(const std::vector<Var>& inputs, Segment segment) {
  if (mode_ != Mode::Record) return segment(*this, inputs);
  Tape first(context_, Mode::Discard, buckets_);
  std::vector<Var> outputs;
  for (const Var& v : segment(first, inputs)) {
    outputs.push_back(v ? variable(v->value, v->gradient_dtype) : nullptr);
  }
  push([this, inputs, outputs, segment = std::move(segment)] {
    Tape second(context_, Mode::Replay, buckets_);
    std::vector<Var> again_in;
    for (const Var& v : inputs) {
      // The copy holds earlier contributions too, so that they add up in the order of a run without recomputation.
      again_in.push_back(v ? std::make_shared<Variable>(*v) : nullptr);
    }
    const std::vector<Var> again_out = segment(second, again_in);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (again_out[i]) again_out[i]->gradient = std::move(outputs[i]->gradient);
    }
    second.backward();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i]) inputs[i]->gradient = std::move(again_in[i]->gradient);
    }
  });
  return outputs;
}

}  // namespace weft
