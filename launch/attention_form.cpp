// SPDX-License-Identifier: Apache-2.0
#include "launch/attention_form.h"

#include <array>

#include "base/error.h"
#include "evaluate/attention_files.h"
#include "pages/attention_page.h"
#include "pages/page.h"

namespace weft {
namespace {

constexpr std::array kForms = {
    AttentionForm{".html", kMostWeightsInPage, require_replaceable,
                  [](const fs::path& file, const TextAttention& found) { write_page(file, attention_page(found)); }},
    AttentionForm{".json", kMostWeightsInJson, require_free, write_attention_json},
    AttentionForm{".h5", kMostWeightsInHdf5, require_free, write_attention_hdf5},
};

}  // namespace

const AttentionForm& attention_form(const fs::path& file) {
  for (const AttentionForm& form : kForms) {
    if (file.extension() == form.ending) return form;
  }
  throw ConfigError(fmt::format("--out {}: the ending of its name says what is written", file.string()),
                    "end it in .html (a page), .json or .h5 (HDF5)");
}

}  // namespace weft
