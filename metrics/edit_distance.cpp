// SPDX-License-Identifier: Apache-2.0
#include "metrics/edit_distance.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include "base/error.h"

namespace weft {
namespace {

using Words = std::vector<uint32_t>;

constexpr size_t kMaxShiftWords = 10, kMaxShiftDistance = 50;
constexpr int kMaxShiftCandidates = 1000;
constexpr int64_t kBeamWidth = 25;

enum class Edit : uint8_t { None, Keep, Substitute, Delete, Insert };  // the edit of one word

// Levenshtein distance of hypotheses of one length to a reference, in a beam around the diagonal. A row depends only on
// the words before it, so the rows of a beginning that two hypotheses share are computed once.
class BeamEditDistance {
 public:
  BeamEditDistance(std::span<const uint32_t> reference, size_t hypothesis_length)
      : reference_(reference), length_(hypothesis_length), cells_((hypothesis_length + 1) * (reference.size() + 1)) {
    for (size_t j = 0; j < columns(); ++j) cells_[j] = {.cost = static_cast<int64_t>(j), .edit = Edit::Insert};
    ratio_ = length_ > 0 ? static_cast<double>(reference.size()) / static_cast<double>(length_) : 1;
    // If the lengths differ much, the beam must be wide enough for neighbouring rows to overlap.
    beam_ = ratio_ / 2 > kBeamWidth ? static_cast<int64_t>(std::ceil(ratio_ / 2 + kBeamWidth)) : kBeamWidth;
  }

  int64_t operator()(const Words& hypothesis) {
    const size_t alike = static_cast<size_t>(std::ranges::mismatch(hypothesis, words_).in2 -
                                             words_.begin());  // words_ is empty the first time
    words_ = hypothesis;
    for (size_t i = alike + 1; i <= length_; ++i) fill_row(i);
    return cell(length_, reference_.size()).cost;
  }

  // The edits that make up the last distance, from the first word on.
  std::vector<Edit> edits() const {
    std::vector<Edit> edits;
    for (size_t i = length_, j = reference_.size(); i > 0 || j > 0;) {
      const Edit edit = cell(i, j).edit;
      require<InternalError>(edit != Edit::None, "edit distance: the path leaves the beam at word {} of {}", i,
                             length_);
      edits.push_back(edit);
      if (edit != Edit::Insert) --i;
      if (edit != Edit::Delete) --j;
    }
    std::ranges::reverse(edits);
    return edits;
  }

 private:
  struct Cell {
    int64_t cost = kUnreached;
    Edit edit = Edit::None;
  };
  static constexpr int64_t kUnreached = int64_t{1} << 60;

  size_t columns() const { return reference_.size() + 1; }
  Cell& cell(size_t i, size_t j) { return cells_[i * columns() + j]; }
  const Cell& cell(size_t i, size_t j) const { return cells_[i * columns() + j]; }

  void fill_row(size_t i) {
    const auto diagonal = static_cast<int64_t>(std::floor(static_cast<double>(i) * ratio_));
    const auto begin = static_cast<size_t>(std::max<int64_t>(0, diagonal - beam_));
    const auto end = i == length_ ? columns() : std::min(columns(), static_cast<size_t>(diagonal + beam_));
    std::fill_n(cells_.begin() + static_cast<ptrdiff_t>(i * columns()), columns(), Cell{});
    for (size_t j = begin; j < end; ++j) {
      // The first of equal costs wins; the alignment, and so the shifts, depend on it.
      if (j > 0) {
        const bool same = words_[i - 1] == reference_[j - 1];
        improve(cell(i, j), cell(i - 1, j - 1).cost + (same ? 0 : 1), same ? Edit::Keep : Edit::Substitute);
      }
      improve(cell(i, j), cell(i - 1, j).cost + 1, Edit::Delete);
      if (j > 0) improve(cell(i, j), cell(i, j - 1).cost + 1, Edit::Insert);
    }
  }

  static void improve(Cell& cell, int64_t cost, Edit edit) {
    if (cost < cell.cost) cell = {.cost = cost, .edit = edit};
  }

  std::span<const uint32_t> reference_;
  size_t length_;
  double ratio_ = 1;
  int64_t beam_ = kBeamWidth;
  std::vector<Cell> cells_;  // [length + 1, reference + 1]
  Words words_;              // the hypothesis whose rows cells_ holds
};

struct Alignment {
  std::vector<int64_t> hypothesis_of;  // per reference word: the hypothesis word at or before it, -1 before the first
  std::vector<bool> reference_wrong, hypothesis_wrong;
};

Alignment align(const std::vector<Edit>& edits) {
  Alignment found;
  int64_t at = -1;
  for (const Edit edit : edits) {
    const bool wrong = edit != Edit::Keep;
    if (edit != Edit::Insert) {
      ++at;
      found.hypothesis_wrong.push_back(wrong);
    }
    if (edit != Edit::Delete) {
      found.hypothesis_of.push_back(at);
      found.reference_wrong.push_back(wrong);
    }
  }
  return found;
}

bool any_wrong(const std::vector<bool>& wrong, size_t begin, size_t length) {
  const auto first = wrong.begin() + static_cast<ptrdiff_t>(begin);
  return std::find(first, first + static_cast<ptrdiff_t>(length), true) != first + static_cast<ptrdiff_t>(length);
}

// A phrase that hypothesis and reference have in common.
struct Phrase {
  size_t hypothesis = 0, reference = 0, length = 0;
};

// The words with a phrase moved before `target`; a target within the phrase moves it right by target - start words.
Words shifted(const Words& words, size_t start, size_t length, size_t target) {
  Words moved = words;
  const auto at = [&](size_t i) { return moved.begin() + static_cast<ptrdiff_t>(std::min(i, moved.size())); };
  if (target < start) {
    std::rotate(at(target), at(start), at(start + length));
  } else {
    std::rotate(at(start), at(start + length), at(target > start + length ? target : target + length));
  }
  return moved;
}

// One step of the search, which finds the shift that saves the most edits.
class ShiftSearch {
 public:
  ShiftSearch(const Words& words, std::span<const uint32_t> reference, BeamEditDistance& distance, int& tried)
      : words_(words),
        reference_(reference),
        distance_(distance),
        tried_(tried),
        before_(distance(words)),
        alignment_(align(distance.edits())) {}

  // The words after the best shift, if one was tried and saves edits.
  std::optional<Words> best() {
    for (size_t h = 0; h < words_.size() && tried_ < kMaxShiftCandidates; ++h) {
      const size_t last = std::min(reference_.size(), h + kMaxShiftDistance + 1);
      for (size_t r = h > kMaxShiftDistance ? h - kMaxShiftDistance : 0; r < last; ++r) {
        if (!try_phrases(h, r)) break;
      }
    }
    if (!best_ || std::get<0>(best_->rank) <= 0) return std::nullopt;
    return best_->words;
  }

 private:
  struct Candidate {
    // Ordered by the edits saved, then the longest phrase, the earliest phrase and the earliest target.
    std::tuple<int64_t, int64_t, int64_t, int64_t> rank;
    Words words;
  };

  // Tries all common phrases that begin at words h and r. Returns false once enough candidates have been tried.
  bool try_phrases(size_t h, size_t r) {
    const size_t longest = std::min({kMaxShiftWords, words_.size() - h, reference_.size() - r});
    for (size_t length = 1; length <= longest && words_[h + length - 1] == reference_[r + length - 1]; ++length) {
      if (!is_candidate({h, r, length})) continue;
      try_places({h, r, length});
      if (tried_ >= kMaxShiftCandidates) return false;
    }
    return true;
  }

  // Whether the phrase has an error in the hypothesis and in the reference, and would not be moved onto itself.
  bool is_candidate(const Phrase& phrase) const {
    if (!any_wrong(alignment_.hypothesis_wrong, phrase.hypothesis, phrase.length)) return false;
    if (!any_wrong(alignment_.reference_wrong, phrase.reference, phrase.length)) return false;
    const int64_t target = alignment_.hypothesis_of[phrase.reference], start = static_cast<int64_t>(phrase.hypothesis);
    return target < start || target >= start + static_cast<int64_t>(phrase.length);
  }

  // Tries the places behind the word that precedes the phrase in the reference, and behind each of the phrase's words.
  void try_places(const Phrase& phrase) {
    std::optional<size_t> previous;
    for (size_t offset = 0; offset <= phrase.length; ++offset) {
      const size_t behind = phrase.reference + offset;  // 1 + the index of a reference word; 0: before the first word
      const size_t target = behind == 0 ? 0 : static_cast<size_t>(alignment_.hypothesis_of[behind - 1] + 1);
      if (previous == target) continue;
      previous = target;
      Words words = shifted(words_, phrase.hypothesis, phrase.length, target);
      const int64_t saved = before_ - distance_(words);
      ++tried_;
      const std::tuple rank(saved, static_cast<int64_t>(phrase.length), -static_cast<int64_t>(phrase.hypothesis),
                            -static_cast<int64_t>(target));
      if (!best_ || rank > best_->rank) best_ = Candidate{rank, std::move(words)};
    }
  }

  const Words& words_;
  std::span<const uint32_t> reference_;
  BeamEditDistance& distance_;
  int& tried_;
  int64_t before_;
  Alignment alignment_;
  std::optional<Candidate> best_;
};

}  // namespace

int64_t edits_with_shifts(std::span<const uint32_t> hypothesis, std::span<const uint32_t> reference) {
  if (reference.empty()) return static_cast<int64_t>(hypothesis.size());
  Words words(hypothesis.begin(), hypothesis.end());
  BeamEditDistance distance(reference, words.size());
  int64_t shifts = 0;
  int tried = 0;
  while (true) {
    std::optional<Words> better = ShiftSearch(words, reference, distance, tried).best();
    // Once the limit of candidates is reached, the words before this step are kept, even if it found a shift.
    if (!better || tried >= kMaxShiftCandidates) break;
    words = std::move(*better);
    ++shifts;
  }
  return shifts + distance(words);
}

}  // namespace weft
