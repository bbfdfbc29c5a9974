// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/packed_tokens.h"
#include "model/tape.h"
#include "parallel/mesh.h"

namespace weft {

struct ForwardContext;

// How the layers of one model are divided over tp (Shoeybi et al. 2019), and with sequence parallelism how the tokens
// of the residual stream are (Korthikanti et al. 2022): model/packed_tokens.h has the two ways in which tokens lie.
// Layers name no rank: they mark where a sharded region begins and ends. Products and attention run on replicated
// tokens; norms, residual sums and their dropout on sequence-sharded ones.
// Sums over tp are made in the accumulator dtype, and keep it where their parts have it; bf16 parts are exchanged as
// they are, in 2 bytes (parallel/rank_order_sums.h).
class TensorParallel {
 public:
  TensorParallel(Communicator& tp, bool sequence_parallel) : tp_(tp), sequence_(sequence_parallel && tp.size() > 1) {}
  TensorParallel(const TensorParallel&) = delete;
  TensorParallel& operator=(const TensorParallel&) = delete;

  bool active() const { return tp_.size() > 1; }
  bool sequence() const { return sequence_; }
  // The axes over which a gradient computed from sequence-sharded tokens is partial.
  AxisSet sequence_axes() const { return sequence_ ? AxisSet{tp_.axis()} : AxisSet{}; }
  // The axes over which the gradient of a column-parallel product's replicated input is partial.
  AxisSet product_axes() const { return active() ? AxisSet{tp_.axis()} : AxisSet{}; }
  // The tokens that this rank's norms and residual sums process (not while decoding: see shards_tokens).
  ResidualPart residual_part() const { return sequence_ ? ResidualPart{tp_.rank(), tp_.size()} : ResidualPart{}; }
  Communicator& communicator() const { return tp_; }
  // The size of this rank's share of heads, features, ... and the index at which it begins.
  int64_t share(int64_t whole, const char* what) const { return div_exact(whole, tp_.size(), what); }
  int64_t first(int64_t share) const { return share * tp_.rank(); }

  // Sequence-sharded -> replicated tokens, for column-parallel products. Forward: identity or all-gather; backward:
  // all-reduce or reduce-scatter of the gradient, of which every rank has a part.
  Var copy_or_gather(ForwardContext& forward, const Var& x, const Tokens& tokens) const;
  // Parts of a sum over tp, replicated -> sequence-sharded tokens, after row-parallel products. Forward: all-reduce or
  // reduce-scatter; backward: identity or all-gather. The sum has the dtype of the parts: products give them in the
  // accumulator dtype, so that the residual sum rounds once; gradients have the compute dtype. Releases part's value.
  Var reduce_or_scatter(ForwardContext& forward, const Var& part, const Tokens& tokens) const;
  // Sums over tp in place, of numbers that each rank has a part of for every replicated token: in forward, whose bits
  // must not depend on the tokens beside it while decoding, and in backward.
  void sum(ForwardContext& forward, const Tensor& part) const;
  void sum_gradient(Context& context, const Tensor& part) const;

 private:
  bool shards_tokens(const ForwardContext& forward) const;
  void sum_in_rank_order(Context& context, const Tensor& part) const;
  Tensor gather(Context& context, const Tensor& part, int64_t tokens) const;
  Tensor reduce_scatter(Context& context, const Tensor& part) const;
  void all_reduce(Context& context, const Tensor& part) const;

  Communicator& tp_;
  bool sequence_;
};

}  // namespace weft
