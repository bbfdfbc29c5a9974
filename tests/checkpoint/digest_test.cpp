// SPDX-License-Identifier: Apache-2.0
// The digest of a state: one number, whatever holds the state, and another for any other state.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <set>

#include "base/hash.h"
#include "checkpoint/average.h"
#include "checkpoint/digest/state_digest.h"
#include "checkpoint/digest/tensor_differences.h"
#include "tests/checkpoint/fixture.h"
#include "tests/support/changed_checkpoint.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;

using testing::HasSubstr;

TEST(ElementDigest, EveryBitOfItsArgumentsCounts) {
  for (const uint64_t base : {uint64_t{0}, uint64_t{0x3f800000}, ~uint64_t{0}}) {
    const uint64_t same = element_digest(base, base, base);
    std::set<uint64_t> keys = {same}, indices = {same}, bits = {same};
    for (int bit = 0; bit < 64; ++bit) {
      const uint64_t other = base ^ (uint64_t{1} << bit);
      keys.insert(element_digest(other, base, base));
      indices.insert(element_digest(base, other, base));
      bits.insert(element_digest(base, base, other));
    }
    EXPECT_EQ(keys.size(), 65u) << base;
    EXPECT_EQ(indices.size(), 65u) << base;
    EXPECT_EQ(bits.size(), 65u) << base;
  }
}

// The definition, element by element.
uint64_t plain_digest(const std::string& tensor, const std::vector<float>& values) {
  uint64_t sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    sum += element_digest(hash64(tensor), i, std::bit_cast<uint32_t>(values[i]));
  }
  return sum;
}

constexpr int64_t kElements = 6 * 5 * 7;
Shape cube() { return {6, 5, 7}; }

std::vector<float> some_values() {
  std::vector<float> values(kElements);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 1.0f / static_cast<float>(i + 3);
  return values;
}

// The digest of a stretch of the cube, whose bytes come `piece` elements at a time.
uint64_t digest_of_stretch(const Stretch& stretch, const std::vector<float>& cube, size_t piece) {
  const StoredArray array{.buffer = "master", .stretches = {stretch}};
  std::vector<float> held;
  for (const Box& box : boxes_of(stretch, 0, stretch.elements())) {
    for (const ElementRun& run : runs_of(stretch.shape, box)) {
      held.insert(held.end(), cube.begin() + run.index, cube.begin() + run.index + run.elements);
    }
  }
  ArrayDigest digest(array);
  for (size_t at = 0; at < held.size(); at += piece) {
    digest.add(std::as_bytes(std::span(held)).subspan(4 * at, 4 * std::min(piece, held.size() - at)));
  }
  return digest.sum();
}

TEST(ArrayDigest, IsTheSameForEveryCut) {
  const std::vector<float> values = some_values();
  const uint64_t whole = plain_digest("master/w", values);
  // Halves along each dim, each cut again at every place of its flat elements.
  for (int dim = 0; dim < 3; ++dim) {
    for (int64_t cut = 0; cut <= kElements; cut += 11) {
      uint64_t sum = 0;
      for (const bool second : {false, true}) {
        Stretch half{.name = "w", .shape = cube(), .origin = {0, 0, 0}, .extent = cube()};
        half.extent[dim] = second ? cube()[dim] - 2 : 2;
        if (second) half.origin[static_cast<size_t>(dim)] = 2;
        const int64_t all = half.extent.elements(), middle = std::min(cut, all);
        for (const auto& [begin, end] : {std::pair{int64_t{0}, middle}, std::pair{middle, all}}) {
          half.begin = begin, half.end = end;
          sum += digest_of_stretch(half, values, static_cast<size_t>(cut % 7 + 1));
        }
      }
      ASSERT_EQ(sum, whole) << "dim " << dim << ", cut " << cut;
    }
  }
}

TEST(ArrayDigest, ChangesWithABitAnIndexANameAndABuffer) {
  const std::vector<float> values = some_values();
  std::set<uint64_t> found = {plain_digest("master/w", values), plain_digest("moment1/w", values),
                              plain_digest("master/v", values)};
  for (size_t i : {size_t{0}, size_t{100}, values.size() - 1}) {
    for (int bit = 0; bit < 32; ++bit) {
      std::vector<float> other = values;
      other[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(values[i]) ^ (uint32_t{1} << bit));
      found.insert(plain_digest("master/w", other));
    }
  }
  std::vector<float> swapped = values;
  std::swap(swapped[3], swapped[4]);
  found.insert(plain_digest("master/w", swapped));
  EXPECT_EQ(found.size(), 3u + 3 * 32 + 1);
}

TEST(ArrayDigest, TakesDoublesWhole) {
  const Stretch all{.name = "w", .shape = {2}, .origin = {0}, .extent = {2}, .begin = 0, .end = 2};
  const StoredArray array{.buffer = "master", .dtype = DType::F64, .stretches = {all}};
  const std::vector<double> values = {1.5, -2.25};
  ArrayDigest digest(array);
  digest.add(std::as_bytes(std::span(values)));
  const uint64_t key = hash64("master/w");
  EXPECT_EQ(digest.sum(), element_digest(key, 0, std::bit_cast<uint64_t>(values[0])) +
                              element_digest(key, 1, std::bit_cast<uint64_t>(values[1])));
}

TEST(StateDigest, HasWhatTrainingContinuesWithAndNothingElse) {
  const RunState state{.run = "a", .step = 5, .updates = 4, .position = {1, 2}, .target_tokens = 77};
  RunState same = state;
  same.run = "b", same.best_loss = 1, same.best_score = 2, same.evaluation = {{"text", "x"}}, same.best_step = 3;
  same.evaluations_since_best = 2, same.evaluation_left = true, same.next_learning_rate = 0.5;
  EXPECT_EQ(digest_of(same), digest_of(state));
  std::vector<RunState> others(12, state);
  others[0].step = 6, others[1].updates = 5, others[2].position.epoch = 2, others[3].position.step = 3;
  others[4].target_tokens = 78, others[5].skips = 1, others[6].skips_in_row = 1, others[7].rollbacks = 1;
  others[8].epoch_end = true, others[9].recent_losses = others[9].recent_norms = {1.5};
  others[10].recent_losses = {1.5}, others[10].recent_norms = {std::nextafter(1.5, 2)};
  others[11].exponents = {40};
  std::set<uint64_t> found = {digest_of(state)};
  for (const RunState& other : others) found.insert(digest_of(other));
  EXPECT_EQ(found.size(), 13u);
}

TEST_F(Checkpoints, EveryLayoutSavesOneDigest) {
  const RunState state{.step = 3, .updates = 3};
  std::set<uint64_t> found;
  for (const bool zero : {false, true}) {
    for (const MeshLayout& layout : {MeshLayout{1, 1}, {2, 1}, {4, 1}, {1, 2}, {2, 2}, {1, 4}}) {
      const fs::path path = save(directory_ / layout.text(), layout, zero ? 2 : 1, 77, state, zero);
      found.insert(read_checkpoint_manifest(path).digest.value());
      verify_checkpoint(path, read_checkpoint_manifest(path));
    }
  }
  EXPECT_EQ(found.size(), 1u);
  uint64_t sum = digest_of(state);
  Context context;
  const Checkpoint checkpoint = Checkpoint::open(directory_ / "1 x 1" / "step-00000001");
  for (const char* buffer : {"master", "moment1"}) {
    for (const auto& [name, shape] : checkpoint.tensors(buffer)) {
      const Tensor all = context.empty(shape, DType::F32);
      checkpoint.read(context, {{buffer, name, shape, std::vector<int64_t>(static_cast<size_t>(shape.rank())), all}});
      sum += plain_digest(fmt::format("{}/{}", buffer, name), {all.span<float>().begin(), all.span<float>().end()});
    }
  }
  EXPECT_EQ(*found.begin(), sum);
  EXPECT_NE(read_checkpoint_manifest(save(directory_, {1, 1}, 9, 78, state)).digest, sum);
  EXPECT_NE(read_checkpoint_manifest(save(directory_, {1, 1}, 10, 77, {.step = 4, .updates = 3})).digest, sum);
}

TEST_F(Checkpoints, ADigestOfAnotherStateIsDamage) {
  for (const char* buffer : {"master", "moment1"}) {
    const fs::path path = save(directory_, {2, 1}, 1, 77, {}, true);
    flip_soundly(path, buffer, "down");
    EXPECT_THAT(error_of([&] { verify_checkpoint(path, read_checkpoint_manifest(path)); }),
                HasSubstr("that of the state that was saved is"));
    CheckpointManifest manifest = read_checkpoint_manifest(path);
    manifest.digest.reset();  // as an earlier build wrote it
    EXPECT_NO_THROW(verify_checkpoint(path, manifest));
  }
}

TEST_F(Checkpoints, WhatIsDerivedHasADigestOfItsOwn) {
  average_checkpoints({save(directory_, {2, 1}, 1, 77), save(directory_, {1, 1}, 2, 78)}, directory_ / "mean");
  const CheckpointManifest mean = read_checkpoint_manifest(directory_ / "mean");
  EXPECT_TRUE(mean.digest.has_value());
  verify_checkpoint(directory_ / "mean", mean);
}

TEST(Manifest, KeepsTheDigestAndTheSaveBefore) {
  CheckpointManifest manifest{.step = 4, .state = to_json(RunState{}), .digest = 0x0123456789abcdefU};
  const auto again = [&] { return parse_checkpoint_manifest(checkpoint_manifest_text(manifest), "m"); };
  EXPECT_EQ(again().digest, manifest.digest);
  EXPECT_FALSE(again().save_before);
  manifest.save_before = {.step = 2, .digest = 7};
  EXPECT_EQ(again().save_before->step, 2);
  EXPECT_EQ(again().save_before->digest, 7u);
  manifest.digest.reset();
  EXPECT_FALSE(again().digest);
}

TEST_F(Checkpoints, DifferencesNameTensorsAndTheFirstElement) {
  const fs::path path = save(directory_, {1, 2}, 1, 77);
  for (const MeshLayout& layout : {MeshLayout{1, 1}, {2, 1}, {2, 2}}) {
    run_in_process(layout, [&](Mesh& mesh, int rank) {
      Context context;
      ParameterRegistry registry(context, mesh);
      declare(registry, small_buckets(layout.dp > 1));
      registry.initialise(77);
      const FlatBuffer moment = moment_like_master(registry);
      const std::vector<NamedBuffer> buffers{{kMasterBuffer, registry.master()}, {"moment1", moment}};
      const auto owned = owned_arrays(registry, buffers);
      const Checkpoint checkpoint = Checkpoint::open(path, mesh.world());
      const auto differences = [&] {
        return differences_of_all(mesh.world(), differences_from(checkpoint, context, owned));
      };
      EXPECT_TRUE(differences().empty());
      for (const OwnedArray& array : owned) {
        for (const OwnedArray::Piece& piece : array.pieces) {
          if (array.buffer != "moment1" || piece.place.name != "down") continue;
          for (float& x : piece.data.span<float>()) x += 1;
        }
      }
      const std::vector<TensorDifference> expected = {{"moment1", "down", 80, 0}};
      EXPECT_EQ(differences(), rank == 0 ? expected : std::vector<TensorDifference>{});
    });
  }
}

}  // namespace
}  // namespace weft
