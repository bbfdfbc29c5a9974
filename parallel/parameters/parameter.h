// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/context.h"
#include "parallel/mesh.h"
#include "parallel/parameters/flat_layout.h"
#include "parallel/parameters/placement.h"
#include "parallel/parameters/weight_gather.h"

namespace weft {

// The distribution that a parameter is drawn from. Element i of the global tensor is a function of (seed, name, i)
// alone, whatever the layout.
struct Init {
  enum class Kind : uint8_t { Zeros, Ones, Normal, Uniform } kind = Kind::Zeros;
  double spread = 0;  // standard deviation (Normal) or half-width (Uniform)
  static Init zeros() { return {}; }
  static Init ones() { return {Kind::Ones, 0}; }
  static Init normal(double deviation) { return {Kind::Normal, deviation}; }
  static Init uniform(double bound) { return {Kind::Uniform, bound}; }
};

// One parameter of the model, declared once, in the constructor of the layer that owns it. Everything else
// (allocation, initialisation, optimizer groups, buckets, checkpoints, counting) walks the registry.
struct ParameterSpec {
  std::string name;  // dotted path, unique: decoder.0.attention.qkv.weight
  Shape shape;       // shape of the global tensor
  Init init;
  bool decays = false;   // weight decay applies (matrices and embeddings; not biases and norms)
  Placement placement;   // placement over the axes that divide a replica
  bool padded = false;   // a vocabulary: its sharded dim 0 is cut in equal parts, padded to the device's multiple
  AxisSet partial_over;  // each rank of these axes has a part of the gradient's sum (norms under sequence parallelism)
  std::optional<int64_t> zero_row;  // an index of dim 0 whose elements begin at zero, whatever is drawn for the others
  bool frozen = false;              // the parameter is not trained: it has no gradient and no moments
};

class Parameter {
 public:
  const ParameterSpec& spec() const { return spec_; }
  size_t index() const { return index_; }                    // index in the registry, in order of declaration
  const Shape& local_shape() const { return local_shape_; }  // shape in memory, padding included
  const Shape& extent() const { return extent_; }            // shape without padding, which is zero and stays zero
  int64_t flat_offset() const { return flat_offset_; }       // offset in the flat buffers, in elements
  FlatRange range() const { return {flat_offset_, flat_offset_ + local_shape_.elements()}; }
  // Compute dtype; operations read it. What is queued from here on comes after the gather of the parameter's bucket.
  const Tensor& value() const;

 private:
  friend class ParameterRegistry;
  ParameterSpec spec_;
  size_t index_ = 0;
  Shape local_shape_, extent_;
  int64_t flat_offset_ = 0;
  Tensor value_;
  WeightGather* gather_ = nullptr;  // null: each replica updates all weights itself
  size_t bucket_ = 0;
};

enum class Precision : uint8_t { Fp32, Bf16, Fp64 };
DType compute_dtype(Precision precision);

// What a model's memory is for: Training also holds gradients, and divides them and the optimizer's state.
enum class Purpose : uint8_t { Training, Inference };

class ParameterRegistry {
 public:
  ParameterRegistry(Context& context, Mesh& mesh) : context_(context), mesh_(mesh) {}
  ParameterRegistry(const ParameterRegistry&) = delete;
  ParameterRegistry& operator=(const ParameterRegistry&) = delete;

  Parameter& add(ParameterSpec spec);
  // Call it before allocate().
  void freeze(const Parameter& parameter);
  // Allocates flat buffers for values, and for training also for gradients; only training is sharded. No parameter can
  // be added afterwards.
  void allocate(Precision precision, Purpose purpose, const Sharding& sharding = {});
  void initialise(uint64_t seed);
  // The compute values of an owned range, if they are copies of its masters in another dtype, else absent: an update of
  // the masters writes them too. note_updated() then lets the other replicas' shares of its bucket be gathered; readers
  // of a value wait for them (WeightGather). sync_compute_weights() recomputes all compute values after the masters
  // were drawn or loaded, and waits.
  Tensor rounded_value(size_t owned) const;
  void note_updated(size_t owned);
  void sync_compute_weights();
  // The gathers of updated weights; null if the replicas do not divide the update.
  WeightGather* weight_gather() { return gather_.get(); }
  // Gathers what is not gathered yet. Collective over dp; a step needs no call. Before anything that reads weights on
  // some of the ranks only, or from other threads.
  void finish_weight_gather();
  // Waits for the gathers under way: before anything writes weights.
  void await_weights() const;
  // Call it when a captured graph updates the weights, which the host does not see
  // (kernels/device/operation_graph.h).
  void note_updated_by_graph();
  // Changes with every change of the compute values, so that derived data can tell whether it is stale.
  uint64_t weights_version() const { return weights_version_; }

  const std::vector<std::unique_ptr<Parameter>>& parameters() const { return parameters_; }
  Parameter* find(std::string_view name) const;
  int64_t global_elements() const;  // elements of all parameters, each counted once
  Precision precision() const { return precision_; }

  const FlatLayout& layout() const { return layout_; }
  GradientDType gradient_dtype() const { return gradient_dtype_; }
  bool sums_exactly() const { return exact_; }  // Sharding::exact
  // All compute values, padding included; what is queued from here on comes after all gathers.
  const Tensor& flat_value() const;
  // The values that the optimizer updates, and frozen ones: f32, or f64 in f64 runs. Nobody else writes the owned
  // ranges, so that reading them waits for nothing.
  const FlatBuffer& master() const { return master_; }
  // Gradients after their reduction: summed over dp, of the trained owned ranges at least.
  const FlatBuffer& reduced_gradient() const { return reduced_gradient_; }
  // The whole gradient, from layout().trained_begin on; absent if it is never held whole.
  const Tensor& flat_gradient() const { return flat_gradient_; }
  // A zeroed buffer for optimizer state, over the trained part of what this rank owns.
  FlatBuffer make_state() const;
  Context& context() const { return context_; }
  Mesh& mesh() const { return mesh_; }

  // Where in the global tensor this rank's local part lies: a box with these first indices (all 0 if the parameter is
  // sharded nowhere) and the parameter's extent().
  std::vector<int64_t> local_origin(const Parameter& parameter) const;
  // True on one rank of each replica among those that hold the same part of the parameter: code that counts or writes
  // each element once does so on that rank.
  bool counts(const Parameter& parameter) const;

 private:
  void cut_local_shape(Parameter& parameter) const;
  template <class T>
  void draw_masters(const Parameter& parameter, uint64_t seed);
  Context& context_;
  Mesh& mesh_;
  Precision precision_ = Precision::Fp32;
  GradientDType gradient_dtype_ = GradientDType::Fp32;
  bool exact_ = false;
  std::vector<std::unique_ptr<Parameter>> parameters_;
  FlatLayout layout_;
  Tensor flat_value_, flat_gradient_;
  FlatBuffer master_, reduced_gradient_;
  std::unique_ptr<WeightGather> gather_;
  uint64_t weights_version_ = 0;
};

}  // namespace weft
