// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <type_traits>

#include "kernels/ops/activation.h"
#include "kernels/ops/attention.h"
#include "kernels/ops/choose_tokens.h"
#include "kernels/ops/cross_entropy.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/embed.h"
#include "kernels/ops/exact/digest.h"
#include "kernels/ops/exact/fixed_point.h"
#include "kernels/ops/heads.h"
#include "kernels/ops/linear.h"
#include "kernels/ops/matmul.h"
#include "kernels/ops/optimizer.h"
#include "kernels/ops/reduction.h"
#include "kernels/ops/residual_norm.h"

namespace weft {

// The struct of its arguments identifies an operation.
template <class... Args>
struct OperationList {
  template <class A>
  static constexpr bool contains = (std::is_same_v<A, Args> || ...);
};

// Every operation is listed once, in one of these two lists. Each backend implements all of them, or the program does
// not link (kernels/backend/backend.h).

// At least one backend computes these in scratch memory besides the tensors of their arguments.
using ScratchOperations =
    OperationList<AddPositionsBackward, AddPositionsForward, AttentionBackward, AttentionForward, CachedAttention,
                  ChooseTokens, EmbedBackward, EmbedForward, HeadsBackward, LinearBackward, LinearForward,
                  ResidualNormBackward, ResidualNormForward, SquareSum, SumAll, SumRows>;
using PlainOperations =
    OperationList<Activate, AddDigest, AddRow, AddScaled, AdamUpdate, Convert, CrossEntropy, CrossEntropyGradient,
                  CrossEntropyLoss, CrossEntropyRebase, CrossEntropyStats, Fill, FromFixedPoint, GateBackward,
                  GateForward, GatherRows, HeadProducts, HeadSquares, HeadsForward, JoinColumns, Matmul, PackWeight,
                  SgdUpdate, SumExactly, ToFixedPoint>;

template <class Args>
concept Operation = ScratchOperations::contains<Args> || PlainOperations::contains<Args>;

}  // namespace weft
