// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/pretoken_counter.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "base/process/new_thread.h"

namespace weft {

namespace {
constexpr size_t kBatchBytes = size_t{32} << 20;  // bytes of documents that are gathered before they are counted
constexpr size_t kPartBytes = size_t{1} << 20;    // bytes that a thread takes at a time, about
}  // namespace

PretokenCounter::PretokenCounter(Pretokenizer pretokenizer, int threads, size_t most)
    : pretokenizer_(std::move(pretokenizer)), most_(most), counts_(static_cast<size_t>(std::max(threads, 1))) {}

void PretokenCounter::add(std::string_view document) {
  if (document.size() >= kBatchBytes) {
    flush();
    std::vector<DocumentPart> parts;
    split(document, bytes_, parts);
    count(parts);
    bytes_ += document.size();
    return;
  }
  waiting_.append(document);
  ends_.push_back(waiting_.size());
  bytes_ += document.size();
  if (waiting_.size() >= kBatchBytes) flush();
}

void PretokenCounter::split(std::string_view document, uint64_t position, std::vector<DocumentPart>& parts) const {
  size_t begin = 0;
  while (document.size() - begin > kPartBytes) {
    const size_t end = pretokenizer_.safe_split(document, begin + kPartBytes);
    parts.push_back({document.substr(begin, end - begin), position + begin});
    begin = end;
  }
  if (begin < document.size()) parts.push_back({document.substr(begin), position + begin});
}

void PretokenCounter::flush() {
  std::vector<DocumentPart> parts;
  const uint64_t position = bytes_ - waiting_.size();
  size_t begin = 0;
  for (size_t end : ends_) {
    split(std::string_view(waiting_).substr(begin, end - begin), position + begin, parts);
    begin = end;
  }
  count(parts);
  waiting_.clear();
  ends_.clear();
}

void PretokenCounter::count(const std::vector<DocumentPart>& parts) {
  std::atomic<size_t> taken{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&](Counts& counts) {
    try {
      constexpr size_t kTake = 64;  // short documents are taken many at a time
      const size_t take = std::clamp<size_t>(parts.size() / (counts_.size() * 8), 1, kTake);
      for (size_t i; (i = taken.fetch_add(take)) < parts.size();) {
        for (size_t j = i; j < std::min(i + take, parts.size()); ++j) {
          const DocumentPart& part = parts[j];
          pretokenizer_.for_each(part.text, [&](std::string_view pretoken) {
            auto found = counts.find(pretoken);
            if (found == counts.end()) {
              const auto offset = static_cast<uint64_t>(pretoken.data() - part.text.data());
              found = counts.emplace(std::string(pretoken), Count{0, part.position + offset}).first;
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
  std::vector<std::jthread> threads;
  const size_t wanted = std::min(counts_.size(), std::max<size_t>(parts.size(), 1));
  for (size_t t = 1; t < wanted; ++t) threads.push_back(new_thread([&, t] { work(counts_[t]); }));
  work(counts_[0]);
  threads.clear();  // waits for them
  if (failure) std::rethrow_exception(failure);
  forget_rare();
}

// Moves all counts into the first table; the tables of the other threads are empty afterwards.
PretokenCounter::Counts& PretokenCounter::merged() {
  Counts& all = counts_[0];
  for (size_t t = 1; t < counts_.size(); ++t) {
    while (!counts_[t].empty()) {
      auto node = counts_[t].extract(counts_[t].begin());
      const auto [there, is_new, rest] = all.insert(std::move(node));
      if (is_new) continue;
      there->second.count += rest.mapped().count;
      there->second.first = std::min(there->second.first, rest.mapped().first);
    }
  }
  return all;
}

// Called after each batch of documents, so that the forgotten pretokens do not depend on the number of threads.
void PretokenCounter::forget_rare() {
  size_t together = 0;
  for (const Counts& counts : counts_) together += counts.size();
  if (most_ == 0 || together <= most_) return;
  Counts& all = merged();
  if (all.size() <= most_) return;
  const auto rank = [](const Count& count) { return std::pair(-count.count, count.first); };  // no two are equal
  std::vector<std::pair<int64_t, uint64_t>> ranks;
  ranks.reserve(all.size());
  for (const auto& [text, count] : all) ranks.push_back(rank(count));
  const auto last = ranks.begin() + static_cast<ptrdiff_t>(most_ / 2);
  std::nth_element(ranks.begin(), last, ranks.end());
  std::erase_if(all, [&](const auto& entry) { return rank(entry.second) >= *last; });
}

std::vector<CountedPretoken> PretokenCounter::finish() {
  flush();
  Counts all = std::move(merged());
  for (Counts& counts : counts_) counts.clear();
  std::vector<std::pair<uint64_t, const Counts::value_type*>> order;
  order.reserve(all.size());
  for (const auto& entry : all) order.emplace_back(entry.second.first, &entry);
  std::sort(order.begin(), order.end());
  std::vector<CountedPretoken> result;
  result.reserve(order.size());
  for (const auto& [first, entry] : order) result.push_back({entry->first, entry->second.count});
  return result;
}

}  // namespace weft
