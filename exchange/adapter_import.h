// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "base/files.h"

namespace weft {

// Whether a directory holds adapters as peft saves them: adapter_config.json.
bool holds_adapters(const fs::path& directory);

// Reads LoRA adapters as peft saves them (adapter_config.json, adapter_model.safetensors) for the model of the
// checkpoint `base`, and writes the checkpoint directory `out`, which must not exist: that model with the adapters, as
// a run with `lora` leaves it. A product of weft's that is several there (queries, keys and values) has one adapter: if
// theirs have the same A, as those that weft exported, it becomes that A again; else the ranks of all stand in it one
// after another, and the rank of all adapters is that of the largest, with zeros in the others. `origin` is added to
// the provenance.
//
// DataError naming file and field or tensor for what weft's adapters cannot say (other kinds, DoRA, ranks that differ,
// layers or parts of the model that are trained besides), and for tensors that are missing, unknown or of another
// shape.
void import_adapters(const fs::path& directory, const fs::path& base, const fs::path& out,
                     nlohmann::ordered_json origin);

}  // namespace weft
