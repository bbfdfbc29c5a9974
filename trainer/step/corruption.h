// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/parameters.h"
#include "data/batches/batch.h"
#include "parallel/mesh.h"

namespace weft {

class TrainingStep;
struct StepState;

// A processor, its memory or a link has given other bits than it should have, and nothing else has noticed (exit 8).
class CorruptionError : public Error {
 public:
  explicit CorruptionError(const std::string& what, std::string hint = {})
      : Error(ExitCode::Hardware, what, std::move(hint)) {}
};

// Digests of the gradient of one replica's first micro-batch, as several replicas computed it.
struct GradientWitnesses {
  std::optional<uint64_t> in_step;  // by its own replica in the step; absent: not known there
  std::optional<uint64_t> again;    // by its own replica, apart from the step; absent: it has no micro-batch
  std::vector<uint64_t> others;     // by the replicas after it, one or two, if there are any
};

// What the digests say: nobody is suspected if all are equal.
struct Suspects {
  std::vector<int> replicas;  // one that computed something else than the others, or two, of which one did
  bool once = false;          // it computed something else once, and then what all others did
};
Suspects suspects_of(const GradientWitnesses& of, int replica, int replicas);
// The replicas whose digest is not that of more than half of them: all, if there is no such digest.
std::vector<int> outvoted(std::span<const uint64_t> digests);

// Finds bits that change without an error: a processor that computes wrongly, memory that forgets
// (docs/operation.md#memory-and-processors-that-change-bits). It looks at one step in `every` (train.verify_every):
//   gradients       the first micro-batch of each replica is read and computed again, by itself and by the one or two
//                   replicas after it; all must have the same bits
//   their sums      what replicas have received for exact sums is what was sent; sums that all have are the same on all
//   weights and     their digest after the step is compared with that before the next one's update
//   moments
// The step is not applied if they differ. All ranks make the same calls in the same steps. CorruptionError on every
// rank, with the suspects.
class CorruptionChecks {
 public:
  // Reads the share of a replica, by its number, of the step that is checked.
  using ReadShare = std::function<StepBatches(int replica)>;

  // `every`: 0 for never. `numerics`: a text that replicas whose bits can be compared share; if one has another, each
  // is compared with itself alone.
  CorruptionChecks(TrainingStep& step, Mesh& mesh, Context& context, int64_t every, const std::string& numerics);

  // Before a step: computes micro-batches again if it is looked at. `state` is that of the step. Returns what the step
  // is to call before its update (StepRequests::before_update); empty if nothing is compared in it.
  std::function<void()> before(int64_t step, const ReadShare& read, const StepState& state);
  // After its update: the seconds that the look at it has cost, its comparison before the next update included.
  // `buffers` returns weights and moments.
  std::optional<double> after(int64_t step, const std::function<std::vector<NamedBuffer>()>& buffers);
  void forget_state() { kept_.reset(); }  // weights are loaded

 private:
  bool looks_at(int64_t step) const { return every_ > 0 && step % every_ == 0; }
  bool compares_gradients() const;
  void compute_again(const ReadShare& read, const StepState& state);
  void compare_gradients(int64_t step);
  std::string suspicion_of_gradients();  // "" if there is none; collective over dp
  void compare_state(int64_t step);
  uint64_t state_digest() const;
  std::string my_name() const;

  TrainingStep& step_;
  Mesh& mesh_;
  Context& context_;
  int64_t every_;
  int witnesses_ = 0;  // replicas that compute a micro-batch of another one
  std::optional<uint64_t> again_;
  std::vector<std::optional<uint64_t>> of_others_;  // of the replica before, and of the one before that
  std::vector<NamedBuffer> buffers_;
  double seconds_ = 0;
  std::optional<uint64_t> kept_;  // the digest of the state after a checked step
};

}  // namespace weft
