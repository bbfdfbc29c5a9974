// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/corruption.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/log.h"
#include "kernels/tensor_digest.h"
#include "parallel/agree.h"
#include "parallel/halves.h"
#include "trainer/step/agreed_algorithms.h"
#include "trainer/step/training_step.h"

namespace weft {
namespace {

constexpr const char* kWhatToDo =
    "the last checkpoint was saved before; test that computer's memory, processor or device, leave it out, and rerun "
    "the same command to resume (docs/operation.md)";

// What a replica sends of one digest: whether there is one, and its halves.
constexpr size_t kSent = 3;
void put_digest(const std::optional<uint64_t>& digest, double* to) {
  if (!digest) return;
  to[0] = 1;
  std::ranges::copy(halves(*digest), to + 1);
}
std::optional<uint64_t> digest_from(const double* from) {
  return from[0] == 0 ? std::nullopt : std::optional(from_halves(from + 1));
}

std::string named(const std::vector<int>& replicas, const std::vector<std::string>& names) {
  std::vector<std::string> of;
  for (const int replica : replicas) of.push_back(names[static_cast<size_t>(replica)]);
  return fmt::format("{}", fmt::join(of, " and "));
}

std::string suspicion(const Suspects& suspects, const std::vector<std::string>& names) {
  const std::string of = named(suspects.replicas, names);
  if (suspects.replicas.size() > 1) {
    return of + " do not agree on a gradient that each of them has computed: one of them computes wrongly";
  }
  return of + (suspects.once ? " has computed another gradient than the same ranks before or after"
                             : " computes another gradient than other ranks, from the same tokens");
}

}  // namespace

Suspects suspects_of(const GradientWitnesses& of, int replica, int replicas) {
  if (!of.again) return {};
  if (of.in_step && *of.in_step != *of.again) return {.replicas = {replica}, .once = true};
  if (of.others.empty()) return {};
  const auto after = [&](int places) { return (replica + places) % replicas; };
  const bool first_agrees = of.others[0] == *of.again;
  if (of.others.size() == 1) return first_agrees ? Suspects{} : Suspects{.replicas = {replica, after(1)}};
  const bool second_agrees = of.others[1] == *of.again;
  if (first_agrees && second_agrees) return {};
  if (first_agrees) return {.replicas = {after(2)}};
  if (second_agrees) return {.replicas = {after(1)}};
  if (of.others[0] == of.others[1]) return {.replicas = {replica}};
  return {.replicas = {replica, after(1), after(2)}};
}

std::vector<int> outvoted(std::span<const uint64_t> digests) {
  const auto has_most = [&](uint64_t digest) { return 2 * std::ranges::count(digests, digest) > std::ssize(digests); };
  const auto most = std::ranges::find_if(digests, has_most);
  std::vector<int> others;
  for (size_t i = 0; i < digests.size(); ++i) {
    if (most == digests.end() || digests[i] != *most) others.push_back(static_cast<int>(i));
  }
  return others;
}

CorruptionChecks::CorruptionChecks(TrainingStep& step, Mesh& mesh, Context& context, int64_t every,
                                   const std::string& numerics)
    : step_(step), mesh_(mesh), context_(context), every_(every) {
  const int others = std::min(2, mesh.dp().size() - 1);
  if (every == 0 || others == 0) return;
  const bool same = agree(mesh.world(), [&] { return numerics; }) == numerics;
  if (first_text(mesh.world(), same ? "" : "differs").empty()) {
    witnesses_ = others;
  } else {
    log_info("ranks compute with different numerics: train.verify_every compares each with itself alone");
  }
}

std::function<void()> CorruptionChecks::before(int64_t step, const ReadShare& read, const StepState& state) {
  seconds_ = 0;
  const bool gradients = looks_at(step) && compares_gradients(), weights = kept_.has_value();
  if (gradients) compute_again(read, state);
  if (!gradients && !weights) return {};
  return [=, this] {
    if (weights) compare_state(step);
    if (gradients) compare_gradients(step);
  };
}

std::optional<double> CorruptionChecks::after(int64_t step, const std::function<std::vector<NamedBuffer>()>& buffers) {
  if (!looks_at(step)) return std::nullopt;
  const auto began = std::chrono::steady_clock::now();
  buffers_ = buffers();
  kept_ = state_digest();
  return seconds_ + 2 * seconds_since(began);  // the same again before the next update
}

// A replica that is alone, of a step that does not tell its digest, has nothing to compare a gradient with.
bool CorruptionChecks::compares_gradients() const { return witnesses_ > 0 || step_.exact(); }

std::string CorruptionChecks::my_name() const {
  return fmt::format("rank {} on {}", mesh_.world().rank(), host_name());
}

// Every replica computes as many micro-batches as every other, or none in their place, so that the collectives of its
// ranks fit together. Measured algorithms are agreed on first, as after a step.
void CorruptionChecks::compute_again(const ReadShare& read, const StepState& state) {
  const auto began = std::chrono::steady_clock::now();
  const int replicas = mesh_.dp().size();
  std::vector<StepBatches> shares;
  for (int back = 0; back <= witnesses_; ++back)
    shares.push_back(read((mesh_.dp().rank() + replicas - back) % replicas));
  step_.make_room();
  step_.finish_weight_gather();
  const auto digest_of = [&](const StepBatches& share) -> std::optional<uint64_t> {
    if (share.micro.empty()) return std::nullopt;
    return step_.gradient_digest(share, state);
  };
  do {
    again_ = digest_of(shares[0]);
    of_others_.clear();
    for (size_t i = 1; i < shares.size(); ++i) of_others_.push_back(digest_of(shares[i]));
  } while (settle_algorithms(context_, mesh_.world()));
  seconds_ = seconds_since(began);
}

// Every replica sends what it knows: its own digests, and those of the replicas before it.
std::string CorruptionChecks::suspicion_of_gradients() {
  const WatchedGradients watched = step_.watched_gradients();
  const auto replicas = static_cast<size_t>(mesh_.dp().size()), me = static_cast<size_t>(mesh_.dp().rank());
  const auto witnesses = static_cast<size_t>(witnesses_);
  // Of each replica: in the step, again, by others; its sums. Of all together: the balance.
  const size_t of_replica = kSent * (3 + witnesses), balance = replicas * of_replica;
  std::vector<double> all(balance + 2);
  double* const mine = &all[me * of_replica];
  if (again_) put_digest(watched.first, mine);
  put_digest(again_, mine + kSent);
  put_digest(watched.sums, mine + kSent * (2 + witnesses));
  for (size_t i = 0; i < of_others_.size(); ++i) {
    put_digest(of_others_[i], &all[(me + replicas - i - 1) % replicas * of_replica + kSent * (2 + i)]);
  }
  std::ranges::copy(halves(watched.balance), &all[balance]);
  mesh_.dp().all_reduce_host(all, ReduceOp::Sum);

  std::vector<uint64_t> sums;
  for (size_t replica = 0; replica < replicas; ++replica) {
    const double* its = &all[replica * of_replica];
    GradientWitnesses of{.in_step = digest_from(its), .again = digest_from(its + kSent), .others = {}};
    for (size_t i = 0; i < witnesses; ++i) of.others.push_back(digest_from(its + kSent * (2 + i)).value_or(0));
    const Suspects found = suspects_of(of, static_cast<int>(replica), static_cast<int>(replicas));
    if (!found.replicas.empty()) return suspicion(found, gather_texts(mesh_.dp(), my_name()));
    sums.push_back(digest_from(its + kSent * (2 + witnesses)).value_or(0));
  }
  if (from_halves(&all[balance]) != 0) {
    return "replicas have received other gradients than were sent to them: a link, or the memory at one of its ends, "
           "has changed them";
  }
  const std::vector<int> other_sums = outvoted(sums);
  if (other_sums.empty()) return "";
  return named(other_sums, gather_texts(mesh_.dp(), my_name())) +
         (other_sums.size() == replicas ? " do not have the same sums of gradients"
                                        : " has other sums of gradients than the other replicas");
}

void CorruptionChecks::compare_gradients(int64_t step) {
  const std::string mine = suspicion_of_gradients();
  // Along another dp axis all may be well: every rank has to know.
  const std::string said = first_text(mesh_.world(), mine);
  if (said.empty()) return;
  throw CorruptionError(fmt::format("step {}: {}; the step is not applied", step, said), kWhatToDo);
}

uint64_t CorruptionChecks::state_digest() const {
  TensorDigest digest(context_);
  for (size_t i = 0; i < buffers_.size(); ++i) digest.add(buffers_[i].flat.data, i);
  return digest.value();
}

void CorruptionChecks::compare_state(int64_t step) {
  const bool same = std::exchange(kept_, std::nullopt) == state_digest();
  const std::string changed = first_text(mesh_.world(), same ? "" : my_name());
  if (changed.empty()) return;
  throw CorruptionError(
      fmt::format("step {}: weights or moments of {} have changed since the update before, and nothing "
                  "has written them; the step is not applied",
                  step, changed),
      kWhatToDo);
}

}  // namespace weft
