// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/formats/marian.h"
#include "exchange/config_file.h"
#include "exchange/stored_place.h"
#include "model/config.h"

namespace weft {

// A model of another program, as its config.json describes it.
struct DescribedModel {
  TransformerConfig config;
  Vocabularies vocabularies;          // rows of the embeddings
  std::optional<TranslationIds> ids;  // a translation model has them
};

// What decides how files name a model's tensors, besides its family.
struct FileForm {
  bool bare = false;  // files of the class without the output product, which leave the prefix out
  Tying tying = Tying::Output;
};

// A tensor that repeats a parameter of weft's, since a field of config.json makes both one.
struct Tie {
  std::string_view parameter, field;
};

// A family of models of `transformers`: which models of weft it has, and where it stores what.
class Family {
 public:
  virtual ~Family() = default;

  virtual std::string_view name() const = 0;  // for people: GPT-2
  virtual std::string_view type() const = 0;  // `model_type` of config.json: gpt2
  // The classes with the output product (GPT2LMHeadModel) and without it (GPT2Model).
  virtual std::string_view architecture() const = 0;
  virtual std::string_view bare_architecture() const = 0;
  // What stands before the names of all tensors but the head's. Files of the class without it leave that out.
  virtual std::string_view prefix() const = 0;
  // Whether its models are translation models, with an encoder.
  virtual bool translates() const { return false; }

  // DataError naming the file and the field if it requires something that weft's model cannot do. Fields that change
  // nothing in the model (about generation, versions) are ignored.
  virtual DescribedModel read(const ConfigFile& file) const = 0;
  // The model of this family that comes nearest: keys that config.json states, or that change nothing that a trained
  // model computes, are the model's own; all others have the family's values.
  virtual TransformerConfig nearest(const TransformerConfig& model) const = 0;
  // The fields of config.json that describe a model that is its own nearest().
  virtual nlohmann::ordered_json describe(const TransformerConfig& model) const = 0;

  // The places of a parameter; none: the family has no such parameter.
  std::vector<StoredPlace> places(const std::string& parameter, const Shape& shape, const FileForm& form = {}) const;
  // A model that computes the same and has every parameter that the family stores; those that are new are zeros.
  virtual TransformerConfig as_stored(const TransformerConfig& model) const { return model; }
  // Whether a tensor, without prefix, says nothing about the model, and may be there.
  virtual bool ignores(std::string_view tensor) const = 0;
  // What a table of this shape that is ignored must nearly be, row-major, since models compute it; nullopt: anything.
  // Empty for a shape that is no table's.
  virtual std::optional<std::vector<float>> computed_table(const Shape& shape) const;
  // What a tensor, without prefix, repeats; nullopt: it is tied to nothing.
  virtual std::optional<Tie> tie(std::string_view tensor, Tying tying) const;
  // Whether a tensor that is missing is zeros.
  virtual bool zero_if_absent(std::string_view) const { return false; }

 protected:
  // The places of a parameter of the output, whose names have no prefix.
  virtual std::vector<StoredPlace> head_places(const std::string& parameter, const Shape& shape) const;

 private:
  // The places of every other parameter, without prefix.
  virtual std::vector<StoredPlace> body_places(const std::string& parameter, const Shape& shape, Tying tying) const = 0;
};

inline constexpr std::string_view kHeadTensor = "lm_head.weight";

// All families; of those of language models the one first that is preferred for a model that several have.
std::span<const Family* const> all_families();
// DataError for a file of another family.
const Family& family_of(const ConfigFile& file);
// A language model's. DataError naming the key of the model section, its value and that of the nearest family, if none
// computes the same.
const Family& family_of(const TransformerConfig& model, const std::string& where);

// "model.norm_placement: it has branch, not pre": the first key of a model that differs from its nearest one of another
// program, which `has` it otherwise; nullopt if none does.
std::optional<std::string> first_difference(const TransformerConfig& has, const TransformerConfig& model);

// "3" and "ffn.up.weight" of "decoder.3.ffn.up.weight" behind "decoder."; nullopt if a name is outside all blocks.
struct InBlock {
  std::string_view number, rest;
};
std::optional<InBlock> in_block(std::string_view name, std::string_view prefix);

// The families of each file of this room.
const Family& gpt2_family();
std::span<const Family* const> llama_families();
const Family& marian_family();

}  // namespace weft
