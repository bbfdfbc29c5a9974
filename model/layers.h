#pragma once
#include <functional>
#include <optional>
#include <string>

#include "model/config.h"
#include "model/rows.h"
#include "model/tape.h"
#include "model/tensor_parallel.h"

namespace weft {

class KeyValueCache;

// What layers need to run once: the tape, this step's state, and while decoding the cache.
struct ForwardContext {
  Tape& tape;
  const StepState* state = nullptr;
  KeyValueCache* cache = nullptr;
  // Products in blocks of a fixed number of rows: a row's bits then do not depend on the rows beside it (decoding).
  bool fixed_blocks = false;
  Recompute recompute = Recompute::None;

  Context& context() const { return tape.context(); }
  // A dropout site of a layer; inactive outside training. `rows` are those of the tensor that it acts on.
  Dropout dropout(double probability, uint32_t operation, const RowIds& rows) const;
};

// Numbers the dropout sites of a model in the order of construction: the same on every layout.
class DropoutSites {
 public:
  uint32_t next() { return next_++; }

 private:
  uint32_t next_ = 0;
};

// What constructors of layers share.
struct LayerScope {
  ParameterRegistry& registry;
  const TransformerConfig& config;
  DropoutSites& sites;
  const TensorParallel& shards;

  Init weight_init(int64_t in, int64_t out, bool residual_branch = false) const;
  Init embedding_init(int64_t width) const;
};

// linear_forward, in fixed blocks where the pass asks for them.
struct LinearForward;
void product(ForwardContext& forward, const LinearForward& args);

// How tensor parallelism divides a product.
enum class LinearSharding : uint8_t {
  None,            // every rank has the whole weight, and its input is of stream rows
  ColumnParallel,  // outputs are divided: stream rows in, this rank's features of the full rows out
  RowParallel,     // inputs are divided: this rank's features of the full rows in, stream rows out
};

// y = dropout(act(x W^T + b)). `shape` is the weight's global shape, its last dim the input's width.
class Linear {
 public:
  struct Options {
    std::string name;
    Shape shape;
    Init init;
    bool bias = true;
    // The bias is declared here but added by the residual_norm that follows (row-parallel: after the reduce).
    bool bias_in_residual = false;
    LinearSharding sharding = LinearSharding::None;
    bool full_rows_in = false;  // Column: the input has entered the sharded region already
    Activation activation = Activation::None;
    double dropout = 0;
  };
  Linear(LayerScope& scope, const Options& options);
  Var operator()(ForwardContext& forward, const Var& x, const Rows& rows) const;
  Parameter* residual_bias() const { return bias_in_residual_ ? bias_ : nullptr; }

 private:
  Parameter* weight_;
  Parameter* bias_ = nullptr;
  const TensorParallel& shards_;
  LinearSharding sharding_;
  bool full_rows_in_;
  bool bias_in_residual_;
  Activation activation_;
  double dropout_;
  uint32_t site_;
};

class Norm {
 public:
  Norm(LayerScope& scope, const std::string& name);
  Parameter& gamma() const { return *gamma_; }
  Parameter* beta() const { return beta_; }
  double epsilon() const { return epsilon_; }

 private:
  Parameter* gamma_;
  Parameter* beta_ = nullptr;
  double epsilon_;
};

// The residual stream of a stack: a value, and a branch that has not joined it yet, so that the sum and the next norm
// are one operation.
class Residual {
 public:
  explicit Residual(Var value) : value_(std::move(value)) {}
  // The branch, its bias and dropout join at the next call below.
  void add(Var branch, Parameter* bias, double dropout, uint32_t site);
  Var normed(ForwardContext& forward, const Norm& norm, const Rows& rows);      // pre-LN: joins, returns norm(value)
  void normalise(ForwardContext& forward, const Norm& norm, const Rows& rows);  // post-LN: value = norm(value + branch)
  Var value(ForwardContext& forward, const Rows& rows);                         // joins without a norm

  // Runs body(forward, stream, memory), which may use the stream and the memory alone, as a recomputed segment.
  using Body = std::function<void(ForwardContext&, Residual&, const Var& memory)>;
  void segment(ForwardContext& forward, const Var& memory, const Body& body);

 private:
  Var join(ForwardContext& forward, const Norm* norm, const Rows& rows, bool keep_sum);
  Var value_, branch_;
  Parameter* bias_ = nullptr;
  double dropout_ = 0;
  uint32_t site_ = 0;
};

// Token embedding (projected where its width differs from the model's), scale, positions, dropout.
class Embedding {
 public:
  Embedding(LayerScope& scope, const std::string& name, int64_t vocabulary, Parameter* shared_table = nullptr,
            Parameter* shared_positions = nullptr);
  Var operator()(ForwardContext& forward, const Rows& rows) const;
  Parameter& table() const { return *table_; }
  // Constant tables live outside the registry; made once the registry is allocated.
  void prepare(Context& context, DType compute);

 private:
  Var lookup(ForwardContext& forward, const Rows& rows, bool with_positions) const;
  Var add_positions(ForwardContext& forward, const Var& x, const Rows& rows) const;
  Tensor position_table() const { return learned_ ? learned_->value() : sinusoids_; }

  const TransformerConfig& config_;
  Parameter* table_;
  Parameter* learned_ = nullptr;
  std::optional<Linear> projection_;
  const TensorParallel& shards_;
  Tensor sinusoids_;
  double scale_;
  uint32_t site_;
};

}  // namespace weft
