// SPDX-License-Identifier: Apache-2.0
#include "pages/dotted_curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/text/utf8.h"

namespace weft {
namespace {

// What a character is divided into: Braille has two by four dots, whose bits Unicode numbers column by column, the
// fourth row last.
constexpr int kDotColumns = 2, kDotRows = 4;
constexpr std::array<std::array<uint32_t, kDotColumns>, kDotRows> kDots = {
    {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
constexpr char32_t kEmptyBraille = 0x2800;

// A grid of dots, the top row first.
class Dots {
 public:
  Dots(int columns, int rows) : columns_(columns), rows_(rows), set_(static_cast<size_t>(columns) * rows) {}
  int columns() const { return columns_; }
  int rows() const { return rows_; }
  bool at(int row, int column) const { return set_[static_cast<size_t>(row) * columns_ + column]; }
  // Sets a column from one row to another, either of which may be the upper one.
  void draw(int column, int from, int to) {
    for (int row = std::min(from, to); row <= std::max(from, to); ++row) {
      set_[static_cast<size_t>(row) * columns_ + column] = true;
    }
  }

 private:
  int columns_, rows_;
  std::vector<bool> set_;
};

// The place of the curve at dot column `column`, from 0 to 1; NaN in a gap.
double place_at(std::span<const double> places, int column, int columns) {
  const double at =
      columns > 1 ? static_cast<double>(column) * static_cast<double>(places.size() - 1) / (columns - 1) : 0;
  const auto before = static_cast<size_t>(at);
  const double part = at - static_cast<double>(before);
  return part == 0 ? places[before] : places[before] * (1 - part) + places[before + 1] * part;
}

Dots drawn(std::span<const double> places, int columns, int rows) {
  Dots dots(columns, rows);
  constexpr int kNowhere = -1;
  for (int column = 0, last = kNowhere; column < columns && !places.empty(); ++column) {
    const double place = place_at(places, column, columns);
    if (!std::isfinite(place)) {
      last = kNowhere;
      continue;
    }
    const int row = static_cast<int>(std::lround((1 - place) * (rows - 1)));
    // A steep curve stays whole: the column begins beside the dot of the column before.
    const int beside = last < row ? last + 1 : last - 1;
    dots.draw(column, last == kNowhere || last == row ? row : beside, row);
    last = row;
  }
  return dots;
}

std::string braille_line(const Dots& dots, int line) {
  std::u32string text;
  for (int column = 0; column < dots.columns(); column += kDotColumns) {
    char32_t character = kEmptyBraille;
    for (int y = 0; y < kDotRows; ++y) {
      for (int x = 0; x < kDotColumns; ++x) {
        if (dots.at(line * kDotRows + y, column + x)) character += kDots[y][x];
      }
    }
    text += character;
  }
  return encode_utf8(text);
}

std::string star_line(const Dots& dots, int line) {
  std::string text;
  for (int column = 0; column < dots.columns(); ++column) text += dots.at(line, column) ? '*' : ' ';
  return text;
}

}  // namespace

CurveScale CurveScale::of(std::span<const double> values) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : values) {
    if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
  }
  if (!(low <= high)) return {};
  constexpr double kWide = 3;
  if (low > 0 && high / low > kWide) return {.low = low, .high = high, .logarithmic = true};
  const double margin = low < high ? 0 : std::max(std::abs(low) * 0.01, std::numeric_limits<double>::min());
  return {.low = low - margin, .high = high + margin};
}

double CurveScale::place(double value) const {
  if (!logarithmic) return (value - low) / (high - low);
  return std::log(value / low) / std::log(high / low);
}

std::vector<std::string> dotted_curve(std::span<const double> values, const CurveScale& scale, int columns, int rows,
                                      bool utf8) {
  std::vector<double> places;
  for (const double value : values) places.push_back(scale.place(value));
  const Dots dots = drawn(places, columns * (utf8 ? kDotColumns : 1), rows * (utf8 ? kDotRows : 1));
  std::vector<std::string> lines;
  for (int line = 0; line < rows; ++line) lines.push_back(utf8 ? braille_line(dots, line) : star_line(dots, line));
  return lines;
}

}  // namespace weft
