#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/context.h"
#include "parallel/mesh.h"

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
  Shape shape;       // global
  Init init;
  bool decays = false;           // weight decay applies (matrices and embeddings; not biases and norms)
  int tp_dim = -1;               // the dim that tensor parallelism shards, or -1: replicated over tp
  bool partial_over_tp = false;  // each tp rank holds a part of the gradient's sum (norms under sequence parallelism)
};

class Parameter {
 public:
  const ParameterSpec& spec() const { return spec_; }
  const Shape& local_shape() const { return local_shape_; }
  int64_t flat_offset() const { return flat_offset_; }  // elements, in the flat buffers
  const Tensor& value() const { return value_; }        // compute dtype: what operations read
  const Tensor& master() const { return master_; }      // what the optimizer updates: f32, or f64 in f64 runs
  const Tensor& gradient() const { return gradient_; }  // accumulator dtype
  // Overwrite for the first contribution of a step, Add for every later one.
  Accumulate gradient_mode();

 private:
  friend class ParameterRegistry;
  friend class GradientBuckets;
  ParameterSpec spec_;
  Shape local_shape_;
  int64_t flat_offset_ = 0;
  Tensor value_, master_, gradient_;
  bool touched_ = false;  // contributed to since clear_gradients()
  int expected_ = 0;      // uses recorded by forward passes of this step and not yet answered by backward
};

enum class Precision : uint8_t { Fp32, Bf16, Fp64 };
DType compute_dtype(Precision precision);

class ParameterRegistry {
 public:
  ParameterRegistry(Context& context, Mesh& mesh) : context_(context), mesh_(mesh) {}
  ParameterRegistry(const ParameterRegistry&) = delete;
  ParameterRegistry& operator=(const ParameterRegistry&) = delete;

  Parameter& add(ParameterSpec spec);
  // Flat buffers for values, and where training also for gradients. Ends the time of add().
  void allocate(Precision precision, bool training);
  void initialise(uint64_t seed);
  // Copies masters into the compute values where they are not the same memory (bf16).
  void refresh_values();

  const std::vector<std::unique_ptr<Parameter>>& parameters() const { return parameters_; }
  Parameter* find(std::string_view name) const;
  int64_t global_elements() const;  // of all parameters, each counted once
  Precision precision() const { return precision_; }

  const Tensor& flat_master() const { return flat_master_; }
  const Tensor& flat_value() const { return flat_value_; }
  const Tensor& flat_gradient() const { return flat_gradient_; }
  Mesh& mesh() const { return mesh_; }

  // Where in the global tensor this rank's local part lies: a box with these first indices (all 0 unless tp shards).
  std::vector<int64_t> local_origin(const Parameter& parameter) const;

 private:
  Context& context_;
  Mesh& mesh_;
  Precision precision_ = Precision::Fp32;
  std::vector<std::unique_ptr<Parameter>> parameters_;
  Tensor flat_master_, flat_value_, flat_gradient_;
};

// Gradients summed over dp in buckets of the flat buffer while backward still runs. Buckets are cut from the end of
// the buffer (the last layers' gradients are ready first) and start strictly in that order on every rank, whatever
// order they get ready in.
class GradientBuckets {
 public:
  GradientBuckets(ParameterRegistry& registry, int64_t bucket_bytes);
  ~GradientBuckets();

  void begin_step();  // forgets the last step's contributions
  void begin_last_micro_batch() { reducing_ = true; }
  void expect(Parameter& parameter);       // forward: one more use will contribute
  void contributed(Parameter& parameter);  // backward: it has
  void progress();
  // End of backward: zeroes what nobody contributed to, starts what is left, waits for all. Returns exposed seconds.
  double finish();
  int64_t size() const { return static_cast<int64_t>(buckets_.size()); }

 private:
  struct Bucket;
  void start_ready();
  ParameterRegistry& registry_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::vector<int> bucket_of_;  // by position of the parameter in the registry
  size_t next_ = 0;             // first bucket not started
  bool reducing_ = false;
};

}  // namespace weft
