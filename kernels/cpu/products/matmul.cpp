// SPDX-License-Identifier: Apache-2.0
// This file alone includes oneDNN and handles the difference between its versions 2 and 3.
#include "kernels/cpu/products/matmul.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <dnnl.hpp>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/parallel_for.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/levels.h"
#include "kernels/cpu/products/reference_matmul.h"
#include "kernels/cpu/threads.h"
#include "kernels/cpu/workspace.h"

namespace weft::cpu {
namespace {

using Desc = dnnl::memory::desc;

// How a product runs. Its shape alone decides, so that a run repeats another bit for bit whatever was cached.
enum class Plan : uint8_t {
  Exact,     // a primitive generated for these dims, which takes some 0.3 ms
  Repacked,  // as Exact, with b packed in each call
  AnyShape,  // one primitive for all dims
};

constexpr int64_t kFewRows = 64;      // decoding has few shapes, and a generated kernel is much faster
constexpr int64_t kManyRows = 2048;   // from here packing b pays within one product
constexpr int64_t kMuchToSum = 8192;  // a second pass over the result no longer shows

// Instruction sets, named as in oneDNN's own messages. Each version of oneDNN has further ones.
constexpr auto kIsaNames = std::to_array<std::pair<dnnl::cpu_isa, const char*>>({
    {dnnl::cpu_isa::sse41, "sse41"},
    {dnnl::cpu_isa::avx, "avx"},
    {dnnl::cpu_isa::avx2, "avx2"},
    {dnnl::cpu_isa::avx512_core, "avx512_core"},
    {dnnl::cpu_isa::avx512_core_vnni, "avx512_core_vnni"},
    {dnnl::cpu_isa::avx512_core_bf16, "avx512_core_bf16"},
    {dnnl::cpu_isa::avx512_core_amx, "avx512_core_amx"},
});

// oneDNN 2's generated bf16 products for AMX execute an illegal instruction if they sum over 63 elements and neither
// rows nor columns fill whole tiles; all others of 25,000 shapes that were tried were right.
bool ends_in_an_illegal_instruction(const Gemm& g) {
  return DNNL_VERSION_MAJOR < 3 && g.input == DType::BF16 && g.k == 63;
}

// Measured on AVX-512 with oneDNN 2.6: the primitive for all dims is faster if oneDNN's product needs no second pass
// over its result for a bias or for rounding to bf16; else a generated primitive gains up to a tenth. But batches of
// ragged text have a new number of rows in every step, and generating primitives costs such steps more than it gains:
// only rows in whole blocks, as fixed windows have, get one.
Plan plan_of(const Gemm& g) {
  if (ends_in_an_illegal_instruction(g)) return Plan::AnyShape;
  const int64_t rows = g.transpose_a ? g.k : g.m;
  if (rows <= kFewRows) return Plan::Exact;
  const bool second_pass = g.bias || g.output == DType::BF16;
  if (!second_pass || g.k >= kMuchToSum || rows % kFewRows != 0) return Plan::AnyShape;
  return rows >= kManyRows ? Plan::Repacked : Plan::Exact;
}

// Everything about a product that its primitive depends on.
struct Key {
  int64_t m, n, k;
  uint32_t traits;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t h = key.traits;
    for (const int64_t d : {key.m, key.n, key.k}) h = (h ^ static_cast<uint64_t>(d)) * 0x9E3779B97F4A7C15u;
    return static_cast<size_t>(h ^ (h >> 32));
  }
};

Key key_of(const Gemm& g, Plan plan) {
  const uint32_t traits = static_cast<uint32_t>(g.input) | static_cast<uint32_t>(g.output) << 4 |
                          uint32_t{g.transpose_a} << 8 | uint32_t{g.transpose_b} << 9 | uint32_t{g.add} << 10 |
                          uint32_t{g.bias != nullptr} << 11 | static_cast<uint32_t>(plan) << 12;
  return {g.m, g.n, g.k, traits};
}

dnnl::memory::data_type type_of(DType dtype) {
  return dtype == DType::BF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

Desc matrix(int64_t rows, int64_t columns, DType dtype, bool transposed) {
  const dnnl::memory::dims strides = transposed ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{columns, 1};
  return {{rows, columns}, type_of(dtype), strides};
}

struct Operands {
  Desc a, b, bias, c;
  explicit Operands(const Gemm& g)
      : a(matrix(g.m, g.k, g.input, g.transpose_a)),
        b(matrix(g.k, g.n, g.input, g.transpose_b)),
        bias(g.bias ? matrix(1, g.n, g.input, false) : Desc()),
        c(matrix(g.m, g.n, g.output, false)) {}
};

using Product = dnnl::matmul::primitive_desc;

Product describe(const dnnl::engine& engine, const Operands& o, const Gemm& g) {
  dnnl::post_ops ops;
  if (g.add) ops.append_sum(1);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attr.set_post_ops(ops);
#if DNNL_VERSION_MAJOR >= 3
  return g.bias ? Product(engine, o.a, o.b, o.bias, o.c, attr) : Product(engine, o.a, o.b, o.c, attr);
#else
  return g.bias ? Product({o.a, o.b, o.bias, o.c}, attr, engine) : Product({o.a, o.b, o.c}, attr, engine);
#endif
}

Desc any_layout(int64_t k, int64_t n, DType input) { return {{k, n}, type_of(input), dnnl::memory::format_tag::any}; }

// A primitive with memory objects; their addresses are set before each run.
struct Primitive {
  dnnl::matmul primitive;
  dnnl::memory a, b, bias, c, scratch, packed;
  size_t scratch_bytes = 0;
  dnnl::reorder repack;  // empty unless b is packed in each call

  Primitive(const dnnl::engine& engine, const Operands& o, const dnnl::matmul& shared, const Desc& scratch_desc)
      : primitive(shared),
        a(o.a, engine, nullptr),
        b(o.b, engine, nullptr),
        bias(o.bias.get_size() > 0 ? dnnl::memory(o.bias, engine, nullptr) : dnnl::memory()),
        c(o.c, engine, nullptr),
        scratch(scratch_desc, engine, nullptr),
        scratch_bytes(scratch_desc.get_size()) {}
};

}  // namespace

struct MatmulEngine::State {
  int threads;
  bool emulate_bf16 = false;
  size_t limit = 1024;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::list<std::pair<Key, Primitive>> recent;  // most recently used first
  std::unordered_map<Key, std::list<std::pair<Key, Primitive>>::iterator, KeyHash> index;
  std::unordered_map<uint32_t, dnnl::matmul> any_shape;  // by traits
  Workspace scratch, repacked_b, wide_a, wide_b, wide_bias, wide_c;

  Primitive& find(const Gemm& g) {
    const Plan plan = plan_of(g);
    const Key key = key_of(g, plan);
    if (const auto at = index.find(key); at != index.end()) {
      recent.splice(recent.begin(), recent, at->second);
      return recent.front().second;
    }
    recent.emplace_front(key, plan == Plan::AnyShape ? shared_primitive(g, key.traits) : own_primitive(g, plan));
    index.emplace(key, recent.begin());
    trim();
    return recent.front().second;
  }

  void trim() {
    while (recent.size() > limit) {
      index.erase(recent.back().first);
      recent.pop_back();
    }
  }

  Primitive own_primitive(const Gemm& g, Plan plan) {
    Operands o(g);
    const Desc plain_b = o.b;
    if (plan == Plan::Repacked) o.b = any_layout(g.k, g.n, g.input);
    const Product product = describe(engine, o, g);
    o.b = product.weights_desc();
    Primitive p(engine, o, dnnl::matmul(product), product.scratchpad_desc());
    if (plan == Plan::Repacked && o.b != plain_b) {
      p.packed = p.b;
      p.b = dnnl::memory(plain_b, engine, nullptr);
      p.repack = dnnl::reorder(p.b, p.packed);
    }
    return p;
  }

  // A primitive for any shape allocates its own scratchpad, whose size is unknown when it is made.
  Primitive shared_primitive(const Gemm& g, uint32_t traits) {
    auto at = any_shape.find(traits);
    if (at == any_shape.end()) {
      Gemm any = g;
      any.m = any.n = any.k = DNNL_RUNTIME_DIM_VAL;
      at = any_shape.emplace(traits, describe(engine, Operands(any), any)).first;
    }
    return {engine, Operands(g), at->second, Desc()};
  }

  void multiply(const Gemm& g) {
    Primitive& p = find(g);
    dnnl_exec_arg_t args[5];
    int count = 0;
    const auto pass = [&](int id, dnnl::memory& memory, const void* data) {
      memory.set_data_handle(const_cast<void*>(data));
      args[count++] = {id, memory.get()};
    };
    pass(DNNL_ARG_SRC, p.a, g.a);
    if (p.repack) {
      p.b.set_data_handle(const_cast<void*>(g.b));
      pass(DNNL_ARG_WEIGHTS, p.packed, repacked_b.at_least(p.packed.get_desc().get_size()));
      p.repack.execute(stream, p.b, p.packed);
    } else {
      pass(DNNL_ARG_WEIGHTS, p.b, g.b);
    }
    pass(DNNL_ARG_DST, p.c, g.c);
    if (g.bias) pass(DNNL_ARG_BIAS, p.bias, g.bias);
    if (p.scratch_bytes > 0) pass(DNNL_ARG_SCRATCHPAD, p.scratch, scratch.at_least(p.scratch_bytes));
    dnnl::error::wrap_c_api(dnnl_primitive_execute(p.primitive.get(), stream.get(), count, args), "matmul");
  }

  const float* widen(const void* from, int64_t n, Workspace& into) {
    auto* wide = static_cast<float*>(into.at_least(static_cast<size_t>(n) * sizeof(float)));
    convert_elements(static_cast<const BFloat16*>(from), wide, n, threads);
    return wide;
  }

  void multiply_widened(Gemm g) {
    g.a = widen(g.a, g.m * g.k, wide_a);
    g.b = widen(g.b, g.k * g.n, wide_b);
    if (g.bias) g.bias = widen(g.bias, g.n, wide_bias);
    auto* c = g.c;
    const bool narrow = g.output == DType::BF16;
    g.input = g.output = DType::F32;
    if (narrow) {
      g.c = g.add ? const_cast<float*>(widen(c, g.m * g.n, wide_c))
                  : wide_c.at_least(static_cast<size_t>(g.m * g.n) * sizeof(float));
    }
    multiply(g);
    if (narrow) convert_elements(static_cast<const float*>(g.c), static_cast<BFloat16*>(c), g.m * g.n, threads);
  }
};

MatmulEngine::MatmulEngine(int threads) {
  chosen_level();
  state_ = std::make_unique<State>();
  state_->threads = threads;
  try {
    const Gemm g{.m = 16, .n = 16, .k = 16, .input = DType::BF16, .output = DType::BF16};
    describe(state_->engine, Operands(g), g);
  } catch (const dnnl::error&) {
    state_->emulate_bf16 = true;
  }
}

MatmulEngine::~MatmulEngine() = default;

void MatmulEngine::run(const Gemm& g) {
  if (g.m == 0 || g.n == 0) return;
  if (g.k == 0) {
    require<InternalError>(!g.bias, "a product with k = 0 has a bias");
    if (!g.add) std::memset(g.c, 0, static_cast<size_t>(g.m * g.n) * size_of(g.output));
    return;
  }
  if (g.input == DType::F64) return matmul_f64(g, state_->threads);
  set_thread_count(state_->threads);
  try {
    g.input == DType::BF16 && state_->emulate_bf16 ? state_->multiply_widened(g) : state_->multiply(g);
  } catch (const dnnl::error& error) {
    throw InternalError(fmt::format("oneDNN matmul {} x {} x {}, {} to {}: {}", g.m, g.n, g.k, name(g.input),
                                    name(g.output), error.what()));
  }
}

void MatmulEngine::emulate_bf16(bool on) { state_->emulate_bf16 = on; }
bool MatmulEngine::emulates_bf16() const { return state_->emulate_bf16; }

void MatmulEngine::limit_cache(size_t shapes) {
  state_->limit = std::max<size_t>(shapes, 1);
  state_->trim();
}

size_t MatmulEngine::cached() const { return state_->recent.size(); }

std::string MatmulEngine::heuristics() {
  return fmt::format("few rows {}, many rows {}, much to sum {}", kFewRows, kManyRows, kMuchToSum);
}

std::string MatmulEngine::library() {
  chosen_level();
  const auto known = std::ranges::find_if(
      kIsaNames, [isa = dnnl::get_effective_cpu_isa()](const auto& entry) { return entry.first == isa; });
  const char* isa = known == kIsaNames.end() ? "isa" : known->second;
  const dnnl_version_t* v = dnnl::version();
  return fmt::format("oneDNN {}.{}.{} {}", v->major, v->minor, v->patch, isa);
}

std::string MatmulEngine::compiled_library() {
  return fmt::format("{}.{}.{}", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH);
}

}  // namespace weft::cpu
