// The one file that knows oneDNN, and the difference between its versions 2 and 3.
#include "kernels/cpu/matmul.h"

#include <cstdlib>
#include <cstring>
#include <dnnl.hpp>
#include <list>
#include <unordered_map>
#include <vector>

#include "kernels/cpu/convert.h"
#include "kernels/cpu/parallel_for.h"
#include "kernels/cpu/plain_matmul.h"
#include "kernels/cpu/threads.h"

namespace weft::cpu {
namespace {

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

Key key_of(const Gemm& g) {
  const uint32_t traits = static_cast<uint32_t>(g.input) | static_cast<uint32_t>(g.output) << 4 |
                          uint32_t{g.transpose_a} << 8 | uint32_t{g.transpose_b} << 9 | uint32_t{g.add} << 10 |
                          uint32_t{g.bias != nullptr} << 11;
  return {g.m, g.n, g.k, traits};
}

dnnl::memory::data_type type_of(DType dtype) {
  return dtype == DType::BF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

dnnl::memory::desc matrix(int64_t rows, int64_t columns, DType dtype, bool transposed) {
  const dnnl::memory::dims strides = transposed ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{columns, 1};
  return {{rows, columns}, type_of(dtype), strides};
}

dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const Gemm& g) {
  const auto a = matrix(g.m, g.k, g.input, g.transpose_a);
  const auto b = matrix(g.k, g.n, g.input, g.transpose_b);
  const auto c = matrix(g.m, g.n, g.output, false);
  const auto bias = g.bias ? matrix(1, g.n, g.input, false) : dnnl::memory::desc();
  dnnl::post_ops ops;
  if (g.add) ops.append_sum(1);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attr.set_post_ops(ops);
#if DNNL_VERSION_MAJOR >= 3
  return g.bias ? dnnl::matmul::primitive_desc(engine, a, b, bias, c, attr)
                : dnnl::matmul::primitive_desc(engine, a, b, c, attr);
#else
  return g.bias ? dnnl::matmul::primitive_desc({a, b, bias, c}, attr, engine)
                : dnnl::matmul::primitive_desc({a, b, c}, attr, engine);
#endif
}

// A primitive with memory objects whose addresses are set before each run.
struct Primitive {
  dnnl::matmul primitive;
  dnnl::memory a, b, bias, c, scratch;
  size_t scratch_bytes = 0;

  Primitive(const dnnl::engine& engine, const Gemm& g) : Primitive(engine, g, describe(engine, g)) {}
  Primitive(const dnnl::engine& engine, const Gemm& g, const dnnl::matmul::primitive_desc& desc)
      : primitive(desc),
        a(desc.src_desc(), engine, nullptr),
        b(desc.weights_desc(), engine, nullptr),
        bias(g.bias ? dnnl::memory(desc.bias_desc(), engine, nullptr) : dnnl::memory()),
        c(desc.dst_desc(), engine, nullptr),
        scratch(desc.scratchpad_desc(), engine, nullptr),
        scratch_bytes(desc.scratchpad_desc().get_size()) {}
};

// Memory that grows and is never given back: no allocation once the largest product has run.
class Workspace {
 public:
  void* at_least(size_t bytes) {
    if (bytes > size_) {
      data_.reset(
          static_cast<std::byte*>(std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment)));
      size_ = bytes;
      require<InternalError>(data_ != nullptr, "out of memory: {} bytes for a matrix product", bytes);
    }
    return data_.get();
  }

 private:
  static constexpr size_t kAlignment = 64;
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
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
  Workspace scratch, wide_a, wide_b, wide_bias, wide_c;

  Primitive& find(const Gemm& g) {
    const Key key = key_of(g);
    if (const auto at = index.find(key); at != index.end()) {
      recent.splice(recent.begin(), recent, at->second);
      return recent.front().second;
    }
    recent.emplace_front(key, Primitive(engine, g));
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

  void multiply(const Gemm& g) {
    Primitive& p = find(g);
    dnnl_exec_arg_t args[5];
    int count = 0;
    const auto pass = [&](int id, dnnl::memory& memory, const void* data) {
      memory.set_data_handle(const_cast<void*>(data));
      args[count++] = {id, memory.get()};
    };
    pass(DNNL_ARG_SRC, p.a, g.a);
    pass(DNNL_ARG_WEIGHTS, p.b, g.b);
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

MatmulEngine::MatmulEngine(int threads) : state_(std::make_unique<State>()) {
  state_->threads = threads;
  try {
    describe(state_->engine, {.m = 16, .n = 16, .k = 16, .input = DType::BF16, .output = DType::BF16});
  } catch (const dnnl::error&) {
    state_->emulate_bf16 = true;
  }
}

MatmulEngine::~MatmulEngine() = default;

void MatmulEngine::run(const Gemm& g) {
  if (g.m == 0 || g.n == 0) return;
  if (g.k == 0) {
    require<InternalError>(!g.bias, "a product over nothing with a bias");
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

std::string MatmulEngine::library() {
  const auto isa = [] {
    switch (dnnl::get_effective_cpu_isa()) {
      case dnnl::cpu_isa::sse41:
        return "sse41";
      case dnnl::cpu_isa::avx:
        return "avx";
      case dnnl::cpu_isa::avx2:
        return "avx2";
      case dnnl::cpu_isa::avx512_core:
        return "avx512_core";
      case dnnl::cpu_isa::avx512_core_vnni:
        return "avx512_core_vnni";
      case dnnl::cpu_isa::avx512_core_bf16:
        return "avx512_core_bf16";
      case dnnl::cpu_isa::avx512_core_amx:
        return "avx512_core_amx";
      default:
        return "isa";
    }
  }();
  const dnnl_version_t* v = dnnl::version();
  return fmt::format("oneDNN {}.{}.{} {}", v->major, v->minor, v->patch, isa);
}

}  // namespace weft::cpu
