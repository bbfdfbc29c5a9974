#include "data/tokenizer/pretoken_counter.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace weft {

namespace {
constexpr size_t kBatchBytes = size_t{32} << 20;  // documents are gathered up to this
constexpr size_t kPieceBytes = size_t{1} << 20;   // a thread takes about so much at a time
}  // namespace

ChunkCounter::ChunkCounter(Pretokenizer pretokenizer, int threads)
    : pretokenizer_(std::move(pretokenizer)), counts_(static_cast<size_t>(std::max(threads, 1))) {}

void ChunkCounter::add(std::string_view document) {
  if (document.size() >= kBatchBytes) {
    flush();
    std::vector<Piece> pieces;
    cut(document, bytes_, pieces);
    count(pieces);
    bytes_ += document.size();
    return;
  }
  waiting_.append(document);
  ends_.push_back(waiting_.size());
  bytes_ += document.size();
  if (waiting_.size() >= kBatchBytes) flush();
}

void ChunkCounter::cut(std::string_view document, uint64_t position, std::vector<Piece>& pieces) const {
  size_t begin = 0;
  while (document.size() - begin > kPieceBytes) {
    const size_t end = pretokenizer_.safe_cut(document, begin + kPieceBytes);
    pieces.push_back({document.substr(begin, end - begin), position + begin});
    begin = end;
  }
  if (begin < document.size()) pieces.push_back({document.substr(begin), position + begin});
}

void ChunkCounter::flush() {
  std::vector<Piece> pieces;
  const uint64_t position = bytes_ - waiting_.size();
  size_t begin = 0;
  for (size_t end : ends_) {
    cut(std::string_view(waiting_).substr(begin, end - begin), position + begin, pieces);
    begin = end;
  }
  count(pieces);
  waiting_.clear();
  ends_.clear();
}

void ChunkCounter::count(const std::vector<Piece>& pieces) {
  std::atomic<size_t> taken{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&](Counts& counts) {
    try {
      constexpr size_t kTake = 64;  // short documents are taken many at a time
      const size_t take = std::clamp<size_t>(pieces.size() / (counts_.size() * 8), 1, kTake);
      for (size_t i; (i = taken.fetch_add(take)) < pieces.size();) {
        for (size_t j = i; j < std::min(i + take, pieces.size()); ++j) {
          const Piece& piece = pieces[j];
          pretokenizer_.for_each(piece.text, [&](std::string_view chunk) {
            auto found = counts.find(chunk);
            if (found == counts.end()) {
              const auto offset = static_cast<uint64_t>(chunk.data() - piece.text.data());
              found = counts.emplace(std::string(chunk), Count{0, piece.position + offset}).first;
            }
            ++found->second.count;
          });
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  const size_t wanted = std::min(counts_.size(), std::max<size_t>(pieces.size(), 1));
  for (size_t t = 1; t < wanted; ++t) threads.emplace_back(work, std::ref(counts_[t]));
  work(counts_[0]);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

std::vector<CountedChunk> ChunkCounter::finish() {
  flush();
  Counts all = std::move(counts_[0]);
  for (size_t t = 1; t < counts_.size(); ++t) {
    while (!counts_[t].empty()) {
      auto node = counts_[t].extract(counts_[t].begin());
      const auto [there, is_new, rest] = all.insert(std::move(node));
      if (is_new) continue;
      there->second.count += rest.mapped().count;
      there->second.first = std::min(there->second.first, rest.mapped().first);
    }
  }
  for (Counts& counts : counts_) counts.clear();
  std::vector<std::pair<uint64_t, const Counts::value_type*>> order;
  order.reserve(all.size());
  for (const auto& entry : all) order.emplace_back(entry.second.first, &entry);
  std::sort(order.begin(), order.end());
  std::vector<CountedChunk> result;
  result.reserve(order.size());
  for (const auto& [first, entry] : order) result.push_back({entry->first, entry->second.count});
  return result;
}

}  // namespace weft
