// SPDX-License-Identifier: Apache-2.0
#include "generate/shared_translation.h"

#include <nlohmann/json.hpp>

#include "parallel/agree.h"

namespace weft {
namespace {

// Gathers the results of all ranks of an axis, where each rank holds every size()-th result.
std::vector<NBest> interleave(Communicator& axis, std::vector<NBest> mine, size_t total) {
  if (axis.size() == 1) return mine;
  const auto packed = nlohmann::json::to_msgpack(mine);
  std::vector<NBest> all(total);
  size_t rank = 0;
  for (const std::string& share : gather_texts(axis, {packed.begin(), packed.end()})) {
    auto found = nlohmann::json::from_msgpack(share).get<std::vector<NBest>>();
    for (size_t i = 0; i < found.size(); ++i) all[i * static_cast<size_t>(axis.size()) + rank] = std::move(found[i]);
    ++rank;
  }
  return all;
}

}  // namespace

std::vector<NBest> translate_on_ranks(const TextGenerator& generator, const Sentences& sentences,
                                      const SearchConfig& search,
                                      const std::function<void(int64_t done, int64_t total)>& progress) {
  Mesh& mesh = generator.model.parameters().mesh();
  Communicator& dp = mesh.dp();
  Sentences share{.first = sentences.first + dp.rank() * sentences.step, .step = dp.size() * sentences.step};
  for (size_t i = dp.rank(); i < sentences.sources.size(); i += dp.size()) {
    share.sources.push_back(sentences.sources[i]);
    if (!sentences.prefixes.empty()) share.prefixes.push_back(sentences.prefixes[i]);
  }
  const auto total = static_cast<int64_t>(share.sources.size());
  SearchListener listener;
  if (progress) listener.progress = [&](int64_t done) { progress(done, total); };
  const Heartbeat::Scope translating(mesh.heartbeat(), RunPhase::Evaluate);
  return interleave(dp, generator.translate(std::move(share), search, listener), sentences.sources.size());
}

bool cut_source(std::vector<int32_t>& source, int64_t max_length, std::optional<int32_t> eos) {
  if (std::ssize(source) <= max_length) return false;
  const int32_t last = source.back();
  source.resize(static_cast<size_t>(max_length));
  if (last == eos) source.back() = last;
  return true;
}

}  // namespace weft
