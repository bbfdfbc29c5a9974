// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <vector>

#include "data/tokenizer/tokenizer.h"

namespace weft {

// Finds the names of specials in a text, one after another.
class SpecialSearch {
 public:
  // `all`: every special; else those that stand for their names in all text. Specials and text must outlive the search.
  SpecialSearch(const std::vector<SpecialToken>& specials, std::string_view text, bool all)
      : specials_(specials), text_(text), found_(specials.size(), std::string_view::npos) {
    for (size_t i = 0; i < found_.size(); ++i) {
      if (all || specials_[i].in_text) found_[i] = text_.find(specials_[i].name);
    }
  }

  // The special whose name comes first at or after `from`, of several at one place the longest. No token: there is none
  // up to the end of the text, which is `at`. `from` only rises.
  struct Found {
    const SpecialToken* token = nullptr;
    size_t at = 0;
  };
  Found next(size_t from) {
    Found nearest{.at = text_.size()};
    for (size_t i = 0; i < found_.size(); ++i) {
      const SpecialToken& token = specials_[i];
      if (found_[i] != std::string_view::npos && found_[i] < from) found_[i] = text_.find(token.name, from);
      const bool is_longer =
          found_[i] == nearest.at && nearest.token != nullptr && token.name.size() > nearest.token->name.size();
      if (found_[i] < nearest.at || is_longer) nearest = {&token, found_[i]};
    }
    return nearest;
  }

 private:
  const std::vector<SpecialToken>& specials_;
  std::string_view text_;
  std::vector<size_t> found_;  // where each name comes next; searched for again only once the text has passed it
};

}  // namespace weft
