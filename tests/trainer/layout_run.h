// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "data/batches/batch_plan_pairs.h"
#include "data/batches/batch_plan_windows.h"
#include "data/batches/loader.h"
#include "kernels/transfer.h"
#include "parallel/parameters/parameter_patterns.h"
#include "tests/model/fixture.h"
#include "trainer/step/training_step.h"

namespace weft::test {

// Makes sequences from their index: a short pattern that a small model learns. With a mask, documents begin at every 7.
class PatternReader : public SequenceReader {
 public:
  PatternReader(int64_t vocabulary, bool document_mask) : vocabulary_(vocabulary), document_mask_(document_mask) {}
  std::optional<int32_t> cut_before() const override { return document_mask_ ? std::optional(7) : std::nullopt; }
  void read(const PlannedSequence& s, std::span<int32_t> source, std::span<int32_t> target) const override {
    for (size_t i = 0; i < source.size(); ++i) source[i] = token(s.index, i);
    for (size_t i = 0; i < target.size(); ++i) target[i] = token(s.index, 2 * i);
  }

 private:
  int32_t token(int64_t index, size_t i) const {
    return static_cast<int32_t>((index * 3 + static_cast<int64_t>(i) * (1 + index % 3)) %
                                std::min<int64_t>(vocabulary_, 20));
  }
  int64_t vocabulary_;
  bool document_mask_;
};

// The division of a run over ranks, which must not change its losses.
struct Layout {
  int dp = 1, tp = 1;
  ZeroStage zero = ZeroStage::Whole;
  bool sequence = false;
  Recompute recompute = Recompute::None;
  int64_t micro_rows = 0;
  bool graphs = false;

  std::string name() const {
    return fmt::format("{}x{}_zero{}{}{}{}{}", dp, tp, static_cast<int>(zero), sequence ? "_sequence" : "",
                       recompute == Recompute::None ? "" : fmt::format("_{}", enum_name(recompute)),
                       micro_rows > 0 ? fmt::format("_micro{}", micro_rows) : "", graphs ? "_graphs" : "");
  }
};

// The model and its data: two layers a side, ragged lengths up to 33, everything that could go wrong switched on.
struct LayoutCase {
  bool seq2seq = false;
  int64_t vocabulary = 50;  // 4 does not divide it
  int64_t steps = 10;
  Precision precision = Precision::Fp32;
  NormPlacement norm = NormPlacement::Pre;
  int64_t embedding_width = 0;
  int64_t heads = 4, kv_heads = 0;  // 0: one for each query head
  Positions positions = Positions::Learned;
  bool scale_embedding = false;
  bool bias = true;
  LoraConfig lora = {};
  std::vector<std::string> freeze = {};
  std::vector<ParameterGroup> groups = {};
  bool document_mask = false;
  bool probe_largest_step = false;  // try the largest step before the first and after the second

  TransformerConfig config() const {
    TransformerConfig config = small_config(seq2seq);
    config.width = 64, config.heads = heads, config.kv_heads = kv_heads;
    config.ffn = 96, config.max_length = 33, config.init_std = 0.05;
    config.norm_placement = norm, config.embedding_width = embedding_width;
    config.positions = positions, config.scale_embedding = scale_embedding, config.bias = bias;
    config.tying = embedding_width == 0 ? Tying::All : Tying::None;
    config.output_bias = true;
    config.dropout = {.embedding = 0.1, .residual = 0.1, .ffn = 0.1, .attention = 0.1};
    return config;
  }
  std::shared_ptr<const BatchPlan> plan() const {
    if (!seq2seq) return make_window_plan({.sequences = 5, .context_length = 33}, 33 * 43, 9);
    PairLengths lengths;
    for (int i = 0; i < 60; ++i) lengths.source.push_back(1 + i % 33), lengths.target.push_back(2 + i * 7 % 32);
    return make_pair_plan({.tokens = 120, .order = BatchOrder::Bucketed}, lengths, 9);
  }
};

// The results of one rank.
struct LayoutRun {
  std::vector<double> losses, norms;
  uint64_t values = 0;                // hash of this rank's values after the last step
  double dp_moved = 0, tp_moved = 0;  // bytes, by the formulas of rings
  size_t peak_memory = 0;             // bytes of tensors
  int64_t downloads = 0;              // in all steps
  int64_t replayed = 0;               // steps that were replayed
  int64_t owned_elements = 0;
  std::vector<std::string> frozen;     // parameters that are not trained
  std::vector<std::string> unchanged;  // parameters with the bits that they had at the beginning
};

// Hashes of this rank's values, by parameter.
inline std::vector<uint64_t> value_hashes(Context& context, const ParameterRegistry& registry) {
  std::vector<uint64_t> hashes;
  for (const auto& p : registry.parameters()) {
    std::string values(p->value().bytes(), '\0');
    download_bytes(context, p->value(), std::as_writable_bytes(std::span(values)));
    hashes.push_back(hash64(values));
  }
  return hashes;
}

// A model of the case on this rank, and its steps over the case's data.
class LayoutModel {
 public:
  LayoutModel(const LayoutCase& c, const Layout& layout, Mesh& mesh, Context& context)
      : c_(c),
        layout_(layout),
        mesh_(mesh),
        model_(initialised(c, layout, mesh, context)),
        optimizer_(context, model_->parameters(), {.weight_decay = 0.1, .groups = c.groups}),
        step_(*model_, optimizer_,
              {.label_smoothing = 0.1, .clip_norm = 1.0, .recompute = layout.recompute, .graphs = layout.graphs}),
        plan_(c.plan()),
        reader_(c.vocabulary, c.document_mask) {}

  Transformer& model() { return *model_; }
  StepReport step(const StepState& state) {
    const StepBatches batches = std::exchange(next_, {}).value_or(read_at(position_));
    position_ = plan_->after(position_);
    next_ = read_at(position_);
    return step_.run(batches, state, updates_, 0, {}, &*next_);
  }
  void rehearse_largest() { step_.probe_largest_step(read(plan_->step(0, plan_->largest_step(0)))); }

 private:
  static std::unique_ptr<Transformer> initialised(const LayoutCase& c, const Layout& layout, Mesh& mesh,
                                                  Context& context) {
    auto model = make_model(context, mesh,
                            {.config = c.config(),
                             .vocabularies = {.source = c.seq2seq ? c.vocabulary : 0, .target = c.vocabulary},
                             .lora = c.lora,
                             .sequence_parallel = layout.sequence});
    for (const Parameter* p : matching_parameters(model->parameters(), c.freeze, "train.freeze")) {
      model->parameters().freeze(*p);
    }
    model->allocate(c.precision, Purpose::Training, {.zero = layout.zero, .bucket_bytes = 20'000});
    model->parameters().initialise(4);
    return model;
  }
  StepBatches read_at(const Position& position) const { return read(plan_->step(position.epoch, position.step)); }
  StepBatches read(const PlannedStep& planned) const {
    return read_step(planned, reader_, mesh_.dp().rank(), mesh_.dp().size(), layout_.micro_rows);
  }

  LayoutCase c_;
  Layout layout_;
  Mesh& mesh_;
  std::unique_ptr<Transformer> model_;
  Optimizer optimizer_;
  TrainingStep step_;
  std::shared_ptr<const BatchPlan> plan_;
  PatternReader reader_;
  Position position_;
  std::optional<StepBatches> next_;
  int64_t updates_ = 0;
};

inline LayoutRun train(const LayoutCase& c, const Layout& layout, Mesh& mesh, Context& context) {
  LayoutRun run;
  LayoutModel trained(c, layout, mesh, context);
  Transformer* const model = &trained.model();
  const ParameterRegistry& registry = model->parameters();
  const std::vector<uint64_t> before = context.meta() ? std::vector<uint64_t>() : value_hashes(context, registry);
  context.ledger().clear();
  if (c.probe_largest_step) trained.rehearse_largest();
  for (int64_t i = 0; i < c.steps; ++i) {
    const StepReport report =
        trained.step({.learning_rate = 3e-3, .dropout_key = hash64("key", static_cast<uint64_t>(i))});
    run.losses.push_back(report.outcome.loss), run.norms.push_back(report.outcome.gradient_norm);
    run.replayed += report.outcome.replayed;
    if (c.probe_largest_step && i == 1) trained.rehearse_largest();
  }
  if (const auto at = context.ledger().entries().find("download"); at != context.ledger().entries().end()) {
    run.downloads = at->second.calls;
  }
  if (!context.meta()) {
    const std::vector<uint64_t> after = value_hashes(context, registry);
    for (const auto& p : registry.parameters()) {
      if (p->spec().frozen) run.frozen.push_back(p->spec().name);
      if (before[p->index()] == after[p->index()]) run.unchanged.push_back(p->spec().name);
    }
  }
  const Tensor& flat = model->parameters().flat_value();
  std::string values(flat.bytes(), '\0');
  download_bytes(context, flat, std::as_writable_bytes(std::span(values)));
  if (!context.meta()) run.values = hash64(values);
  run.dp_moved = mesh.dp().traffic().total().moved, run.tp_moved = mesh.tp().traffic().total().moved;
  run.peak_memory = context.memory().use().peak;
  run.owned_elements = model->parameters().layout().owned_elements;
  return run;
}

}  // namespace weft::test
