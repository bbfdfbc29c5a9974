#pragma once
#include "model/rows.h"
#include "model/tape.h"
#include "parallel/mesh.h"

namespace weft {

struct ForwardContext;

// How the layers of one model are divided over tp (Shoeybi et al. 2019), and with sequence parallelism how the rows
// of the residual stream are (Korthikanti et al. 2022). Layers name no rank: they say where a sharded region begins
// and ends.
//   full rows      [rows, ...]: every tp rank holds them all; what column- and row-parallel products and attention see
//   stream rows    what norms, residual sums and their dropout see: the full rows, or with sequence parallelism this
//                  rank's part of them, all parts equally long (the last rows are padding)
// Sums over tp are made in the accumulator dtype.
class TensorParallel {
 public:
  TensorParallel(Communicator& tp, bool sequence_parallel) : tp_(tp), sequence_(sequence_parallel && tp.size() > 1) {}
  TensorParallel(const TensorParallel&) = delete;
  TensorParallel& operator=(const TensorParallel&) = delete;

  bool active() const { return tp_.size() > 1; }
  bool sequence() const { return sequence_; }
  Communicator& communicator() const { return tp_; }
  // This rank's share of heads, features, ... and where it begins.
  int64_t share(int64_t whole, const char* what) const { return div_exact(whole, tp_.size(), what); }
  int64_t first(int64_t share) const { return share * tp_.rank(); }

  // Stream rows of full rows: the ids of those that this rank's norms and residual sums see.
  Rows place(const ForwardContext& forward, Rows rows) const;
  // Stream rows -> full rows, for column-parallel products. Forward: identity or all-gather; backward: all-reduce or
  // reduce-scatter of the gradient, of which every rank has a part.
  Var enter(ForwardContext& forward, const Var& x, const Rows& rows) const;
  // Parts of a sum over tp, full rows -> stream rows, after row-parallel products. Forward: all-reduce or
  // reduce-scatter; backward: identity or all-gather.
  Var leave(ForwardContext& forward, const Var& part, const Rows& rows) const;

 private:
  bool divides_rows(const ForwardContext& forward) const;
  void sum_in_rank_order(Context& context, const Tensor& part) const;
  Tensor gather(Context& context, const Tensor& stream, int64_t rows) const;
  Tensor reduce_scatter(Context& context, const Tensor& part) const;
  void all_reduce(Context& context, const Tensor& part) const;

  Communicator& tp_;
  bool sequence_;
};

}  // namespace weft
