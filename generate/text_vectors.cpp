// SPDX-License-Identifier: Apache-2.0
#include "generate/text_vectors.h"

#include <array>
#include <cmath>

#include "base/error.h"
#include "base/files/new_file.h"
#include "base/hdf5.h"
#include "data/prepare/specials.h"
#include "generate/text_generator.h"
#include "kernels/ops/elementwise.h"
#include "kernels/transfer.h"

namespace weft {
namespace {

Tensor states_of(Transformer& model, const std::vector<int32_t>& tokens) {
  Tape tape(model.context(), Tape::Mode::Off);
  ForwardContext forward{.tape = tape};
  const std::array<int32_t, 2> offsets{0, static_cast<int32_t>(tokens.size())};
  return model.states(forward, pack_tokens(model.context(), {.tokens = tokens, .offsets = offsets}))->value;
}

Tensor table_rows(const LoadedModel& loaded, const std::vector<int32_t>& tokens) {
  const Tensor table = embedding_table(loaded, "tokens");
  Context& context = loaded.model->context();
  const Tensor rows = context.empty({static_cast<int64_t>(tokens.size()), table.columns()}, table.dtype());
  gather_rows(context, table, to_device(context, std::span<const int32_t>(tokens)), rows);
  return rows;
}

void append_mean(Context& context, const Tensor& rows, std::vector<float>& values) {
  const std::vector<float> host = rows_on_host(context, rows).values;
  for (int64_t c = 0; c < rows.columns(); ++c) {
    double sum = 0;
    for (int64_t r = 0; r < rows.rows(); ++r) sum += host[r * rows.columns() + c];
    values.push_back(static_cast<float>(sum / static_cast<double>(rows.rows())));
  }
}

}  // namespace

std::vector<int32_t> vector_tokens(const LoadedModel& loaded, const std::string& text, size_t index) {
  std::vector<int32_t> tokens;
  if (!text.empty()) {
    tokens = loaded.job.is_translation() ? encode_source(text, *loaded.source_tokenizer, loaded.job.data)
                                         : text_generator(loaded).prompt(text);
  }
  require<DataError>(!tokens.empty(), "text {} is empty: it has no vector", index + 1);
  const int64_t most = loaded.job.model.max_length;
  if (static_cast<int64_t>(tokens.size()) > most) {
    throw DataError(fmt::format("text {} has {} tokens; the model's longest is {}", index + 1, tokens.size(), most),
                    "cut it into sentences");
  }
  return tokens;
}

Tensor embedding_table(const LoadedModel& loaded, const std::string& of) {
  const char* stack = loaded.job.is_translation() ? "encoder" : "decoder";
  const Parameter* table = loaded.model->parameters().find(fmt::format("{}.embedding.{}", stack, of));
  require<InternalError>(table != nullptr, "{}: no table of {}", loaded.path.string(), of);
  return table->value();
}

VectorRows rows_on_host(Context& context, const Tensor& rows) {
  const Tensor single = context.empty({rows.rows(), rows.columns()}, DType::F32);
  convert(context, rows, single);
  VectorRows host{.width = rows.columns(), .values = std::vector<float>(static_cast<size_t>(single.elements()))};
  download(context, single, std::span<float>(host.values));
  return host;
}

VectorRows token_rows(const LoadedModel& loaded, const std::vector<int32_t>& tokens) {
  return rows_on_host(loaded.model->context(), table_rows(loaded, tokens));
}

VectorRows text_vectors(const LoadedModel& loaded, const std::vector<std::string>& texts, VectorSource source) {
  require<DataError>(!texts.empty(), "there is no text");
  std::vector<std::vector<int32_t>> tokens;
  for (size_t i = 0; i < texts.size(); ++i) tokens.push_back(vector_tokens(loaded, texts[i], i));
  VectorRows vectors;
  for (const std::vector<int32_t>& text : tokens) {
    const Tensor rows = source == VectorSource::States ? states_of(*loaded.model, text) : table_rows(loaded, text);
    append_mean(loaded.model->context(), rows, vectors.values);
    vectors.width = rows.columns();
  }
  return vectors;
}

std::vector<double> cosine_similarities(const VectorRows& vectors) {
  const int64_t n = vectors.count();
  const auto product = [&](int64_t a, int64_t b) {
    double sum = 0;
    for (int64_t c = 0; c < vectors.width; ++c) sum += double{vectors.row(a)[c]} * vectors.row(b)[c];
    return sum;
  };
  std::vector<double> norms, cosines(static_cast<size_t>(n * n));
  for (int64_t a = 0; a < n; ++a) norms.push_back(std::sqrt(product(a, a)));
  for (int64_t a = 0; a < n; ++a) {
    for (int64_t b = 0; b <= a; ++b) {
      const double norm = norms[a] * norms[b];
      cosines[a * n + b] = cosines[b * n + a] = norm > 0 ? product(a, b) / norm : 0;
    }
  }
  return cosines;
}

void write_vectors(const fs::path& path, const VectorRows& vectors, std::span<const double> similarities) {
  NewFile made(path);
  const int64_t n = vectors.count();
  Hdf5File file = Hdf5File::create(fmt::format("/proc/self/fd/{}", made.file().descriptor()));
  file.create_array("/vectors", Hdf5Type::F32, std::array{n, vectors.width});
  file.create_array("/similarities", Hdf5Type::F64, std::array{n, n});
  const uint64_t at_vectors = file.array("/vectors").offset, at_similarities = file.array("/similarities").offset;
  file.close();
  made.file().write_at(at_vectors, vectors.values.data(), vectors.values.size() * sizeof(float));
  made.file().write_at(at_similarities, similarities.data(), similarities.size_bytes());
  made.commit();
}

}  // namespace weft
