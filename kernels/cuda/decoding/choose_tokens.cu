// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cross_entropy.cuh"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/runtime/types.h"
#include "kernels/cuda/tuning.h"
#include "kernels/formulas/token_scores.h"
#include "kernels/ops/choose_tokens.h"

// One block chooses for one text. Its scores lie in the workspace, where the rules change them; they begin on a
// multiple of 16 bytes.
namespace weft::cuda {
namespace {

constexpr int kThreads = tuning::kChooseThreads;
constexpr int kWarps = kThreads / kWarp;
constexpr int N = kVector<float>;

// A candidate as a number: the better one has the larger key; 0 stands for no candidate.
using Key = unsigned long long;
constexpr Key kNone = 0, kBeyondAll = ~Key{0};

struct ChooseTokensArgs {
  const float* logits;
  const int32_t *rows, *blocked_begins, *blocked, *repeated_begins, *repeated;
  const double* uniforms;  // may be null
  float* scores;
  double* out;
  int vocabulary, stride, count;  // stride: elements of a row of scores
  bool log_probabilities, masses;
  float penalty;
  double scale;
};

struct BlockWords {
  float most[kWarps];
  double sum[kWarps], mass[kWarps];
  Key best[2][kWarps];
};

// log(sum(exp(scale x))) in one pass: sums that were begun with a smaller maximum are scaled down. If every x is -inf
// or NaN, the sum of the differences to 0 shows which.
template <bool kAligned>
__device__ double log_sum_exp(const float* x, int n, double scale, BlockWords& words) {
  const auto factor = static_cast<float>(scale);
  const auto origin = [](float most) { return most == kMinusInfinity ? 0.0f : most; };
  float most = kMinusInfinity;
  double sum = 0;
  for_pieces<false, N>(n, [&](int first) {
    float v[N];
    load_logits<kAligned>(x, first, n, v);
    const float before = most;
#pragma unroll
    for (int i = 0; i < N; ++i) most = fmaxf(most, v[i]);  // skips a NaN, which the sum then shows
    if (most > before) sum *= expf((before - most) * factor);
    float piece = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) piece += expf((v[i] - origin(most)) * factor);
    sum += piece;
  });
  const float all = origin(row_reduce(most, words.most, [](float a, float b) { return fmaxf(a, b); }));
  sum = row_sum(sum * expf((most - all) * factor), words.sum);
  return log(sum) + scale * all;
}

template <bool kAligned>
__device__ void set_scores(const ChooseTokensArgs& step, const float* row, double log_sum, float* scores) {
  for_pieces<false, N>(step.vocabulary, [&](int first) {
    float v[N];
    load_logits<kAligned>(row, first, step.vocabulary, v);
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = step.log_probabilities ? formulas::log_probability(v[i], log_sum) : v[i];
    store_piece<true>(scores + first, step.vocabulary - first, v);
  });
  const int text = static_cast<int>(blockIdx.x), threads = static_cast<int>(blockDim.x);
  __syncthreads();  // the lists' tokens belong to other threads
  for (int i = step.repeated_begins[text] + threadIdx.x; i < step.repeated_begins[text + 1]; i += threads) {
    float& x = scores[step.repeated[i]];
    x = formulas::penalised(x, step.penalty);
  }
  __syncthreads();  // a token may be in both lists
  for (int i = step.blocked_begins[text] + threadIdx.x; i < step.blocked_begins[text + 1]; i += threads) {
    scores[step.blocked[i]] = kMinusInfinity;
  }
  __syncthreads();
}

__device__ Key key_of(float score, int token) {
  if (!(score > kMinusInfinity)) return kNone;
  const unsigned bits = __float_as_uint(score + 0.0f);  // -0 equals 0
  const unsigned rising = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return static_cast<Key>(rising) << 32 | ~static_cast<unsigned>(token);
}
__device__ int token_of(Key key) { return key == kNone ? -1 : static_cast<int>(~static_cast<unsigned>(key)); }
__device__ Key better(Key a, Key b) { return a > b ? a : b; }

// Returns the best key below `bound` among the pieces at begin, begin + stride, ...
__device__ Key best_below(Key bound, const float* scores, int vocabulary, int begin, int stride) {
  Key best = kNone;
  for (int first = begin; first < vocabulary; first += stride) {
    float v[N];
    load_logits<true>(scores, first, vocabulary, v);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const Key key = key_of(v[i], first + i);
      if (key < bound) best = better(best, key);
    }
  }
  return best;
}

__device__ void write(double* out, int token, const float* scores, const float* row) {
  out[0] = token;
  out[1] = token < 0 ? -1 : scores[token];
  out[2] = token < 0 ? -1 : row[token];
}

// Each thread holds the best key of its own pieces. When that key is chosen, the thread's warp searches these pieces
// for the next best one together.
__device__ void choose_best(const ChooseTokensArgs& step, const float* row, const float* scores, double* out,
                            BlockWords& words) {
  const int threads = static_cast<int>(blockDim.x), me = static_cast<int>(threadIdx.x), lane = me % kWarp;
  Key mine = best_below(kBeyondAll, scores, step.vocabulary, me * N, threads * N);
  for (int i = 0; i < step.count; ++i) {
    const Key best = row_reduce(mine, words.best[i % 2], better);
    const int token = token_of(best);
    if (me == 0) write(out + 3 * i, token, scores, row);
    const int owner = token / N % threads;
    if (token < 0 || owner / kWarp != me / kWarp) continue;
    const Key of_lane = best_below(best, scores, step.vocabulary, (owner + lane * threads) * N, kWarp * threads * N);
    const Key next = warp_reduce(of_lane, better);
    if (me == owner) mine = next;
  }
}

// The probabilities of neighbouring tokens; 0 if a token cannot be drawn, and for NaN.
__device__ void load_shares(const ChooseTokensArgs& step, const float* scores, double log_mass, int first,
                            double (&share)[N]) {
  float v[N];
  load_logits<true>(scores, first, step.vocabulary, v);
#pragma unroll
  for (int i = 0; i < N; ++i) share[i] = fmax(formulas::share(v[i], step.scale, log_mass), 0.0);
}

// Returns the token of begin .. end at which the sum of shares, `before` ahead of them, reaches `uniform`; if rounding
// leaves the sum short, the last token that has a share. A whole warp calls it.
__device__ int draw_in(const ChooseTokensArgs& step, const float* scores, double log_mass, int begin, int end,
                       double before, double uniform) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  int drawn = -1;
  for (int tile = begin; tile < end; tile += kWarp * N) {
    const int first = tile + lane * N;
    double share[N];
    load_shares(step, scores, log_mass, first, share);
    const double own = share[0] + share[1] + share[2] + share[3];
    double sum = own;  // sum over the lanes up to this one
#pragma unroll
    for (int distance = 1; distance < kWarp; distance *= 2) {
      const double other = __shfl_up_sync(kAllLanes, sum, distance);
      if (lane >= distance) sum += other;
    }
    int mine = -1;
    double reached = before + (sum - own);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (share[i] > 0 && (mine < 0 || reached < uniform)) mine = first + i;
      reached += share[i];
    }
    const unsigned some = __ballot_sync(kAllLanes, own > 0);
    const unsigned there = __ballot_sync(kAllLanes, own > 0 && before + sum >= uniform);
    if (some != 0) drawn = __shfl_sync(kAllLanes, mine, there != 0 ? __ffs(there) - 1 : kWarp - 1 - __clz(some));
    if (there != 0) break;
    before += __shfl_sync(kAllLanes, sum, kWarp - 1);
  }
  return drawn;
}

// Each warp sums a run of neighbouring tokens; the warp whose run has the drawn token searches for it.
__device__ void draw(const ChooseTokensArgs& step, const float* row, const float* scores, double log_mass, double* out,
                     BlockWords& words) {
  constexpr int kTile = kWarp * N;
  const int warps = static_cast<int>(blockDim.x) / kWarp, me = static_cast<int>(threadIdx.x);
  const int warp = me / kWarp, lane = me % kWarp;
  const int run = (step.vocabulary + warps * kTile - 1) / (warps * kTile) * kTile;
  double sum = 0;
  for (int tile = warp * run; tile < (warp + 1) * run; tile += kTile) {
    double share[N];
    load_shares(step, scores, log_mass, tile + lane * N, share);
    sum += share[0] + share[1] + share[2] + share[3];
  }
  sum = warp_reduce(sum, [](double a, double b) { return a + b; });
  if (lane == 0) words.mass[warp] = sum;
  __syncthreads();
  const double uniform = step.uniforms[blockIdx.x];
  double before = 0, reached = 0;
  int chosen = -1;
  for (int w = 0; w < warps && (chosen < 0 || reached < uniform); ++w) {
    if (!(words.mass[w] > 0)) continue;
    before = reached, chosen = w;
    reached += words.mass[w];
  }
  if (warp != max(chosen, 0)) return;
  const int end = chosen * run + run;
  const int token = chosen < 0 ? -1 : draw_in(step, scores, log_mass, chosen * run, end, before, uniform);
  if (lane == 0) write(out, token, scores, row);
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) choose_text_tokens(const ChooseTokensArgs step) {
  __shared__ BlockWords words;
  const int64_t text = blockIdx.x;
  const float* const row = step.logits + static_cast<int64_t>(step.rows[text]) * step.vocabulary;
  float* const scores = step.scores + text * step.stride;
  double* const out = step.out + text * (2 + 3 * static_cast<int64_t>(step.count));
  const double log_sum = log_sum_exp<kAligned>(row, step.vocabulary, 1, words);
  set_scores<kAligned>(step, row, log_sum, scores);
  const double log_mass = step.masses ? log_sum_exp<true>(scores, step.vocabulary, step.scale, words) : 0;
  if (threadIdx.x == 0) out[0] = log_sum, out[1] = log_mass;
  if (step.uniforms) return draw(step, row, scores, log_mass, out + 2, words);
  choose_best(step, row, scores, out + 2, words);
}

int64_t stride_of(const ChooseTokens& args) { return (args.logits.columns() + N - 1) / N * N; }

}  // namespace

template <>
size_t CudaBackend::workspace(const ChooseTokens& args) const {
  return static_cast<size_t>(args.rules.rows.elements() * stride_of(args)) * sizeof(float);
}

template <>
void CudaBackend::run(const ChooseTokens& args, Scratch scratch) {
  const TextRules& rules = args.rules;
  const int64_t texts = rules.rows.elements(), vocabulary = args.logits.columns(), stride = stride_of(args);
  const ChooseTokensArgs step{.logits = elements_of<float>(args.logits),
                              .rows = elements_of<int32_t>(rules.rows),
                              .blocked_begins = elements_of<int32_t>(rules.blocked_begins),
                              .blocked = elements_of<int32_t>(rules.blocked),
                              .repeated_begins = elements_of<int32_t>(rules.repeated_begins),
                              .repeated = elements_of<int32_t>(rules.repeated),
                              .uniforms = elements_of<double>(args.uniforms),
                              .scores = scratch.take<float>(texts * stride),
                              .out = elements_of<double>(args.out),
                              .vocabulary = static_cast<int>(vocabulary),
                              .stride = static_cast<int>(stride),
                              .count = static_cast<int>(args.count),
                              .log_probabilities = args.log_probabilities,
                              .masses = args.masses || args.uniforms,
                              .penalty = static_cast<float>(args.penalty),
                              .scale = args.scale};
  // As few threads as have a piece each, so that small vocabularies have more than one block on a multiprocessor.
  const int64_t warps = std::clamp<int64_t>((stride / N + kWarp - 1) / kWarp, 1, kWarps);
  auto* const kernel = vectorised(step.logits, vocabulary) ? choose_text_tokens<true> : choose_text_tokens<false>;
  launch(stream(), kernel, static_cast<unsigned>(texts), static_cast<unsigned>(warps * kWarp), 0, step);
}

}  // namespace weft::cuda
