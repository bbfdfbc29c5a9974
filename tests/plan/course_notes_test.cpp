// SPDX-License-Identifier: Apache-2.0
// The models of docs/course_notes.md: the parameters of both notes, layer by layer, beside those of the jobs.
#include <gtest/gtest.h>

#include <map>

#include "base/files.h"
#include "model/transformer.h"
#include "plan/step_plan.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;
using Parameters = std::map<std::string, std::string>;  // names and shapes

JobConfig shipped(const std::string& name, std::vector<std::string> overrides = {}) {
  overrides.push_back("data.directory=no-such-directory");
  return load_job((source_dir() / "configs" / name).string(), overrides);
}

struct Made {
  Parameters parameters;
  int64_t elements = 0;
};

Made made(const JobConfig& job) {
  Context context({.kind = DeviceKind::Meta});
  Mesh mesh = Mesh::single();
  const auto model = make_model(context, mesh, {.config = job.model, .vocabularies = planned_vocabularies(job)});
  Made found{.elements = model->parameters().global_elements()};
  for (const auto& p : model->parameters().parameters()) found.parameters[p->spec().name] = p->spec().shape.text();
  return found;
}

void add(Parameters& all, const std::string& name, const std::string& weight, const std::string& bias) {
  all[name + ".weight"] = weight, all[name + ".bias"] = bias;
}

// Products are [outputs, inputs]; those of heads have 8 groups of parts of 16 features.
Parameters translation_note() {
  Parameters all;
  for (const std::string stack : {"encoder", "decoder"}) {
    all[stack + ".embedding.tokens"] = "[50257, 128]", all[stack + ".embedding.positions"] = "[128, 128]";
    for (int n = 0; n < 6; ++n) {
      const std::string block = fmt::format("{}.{}.", stack, n);
      add(all, block + "attention_norm", "[128]", "[128]");
      add(all, block + "attention.qkv", "[8, 3, 16, 128]", "[8, 3, 16]");
      add(all, block + "attention.output", "[128, 128]", "[128]");
      if (stack == "decoder") {
        add(all, block + "cross_norm", "[128]", "[128]");
        add(all, block + "cross.q", "[8, 1, 16, 128]", "[8, 1, 16]");
        add(all, block + "cross.kv", "[8, 2, 16, 128]", "[8, 2, 16]");
        add(all, block + "cross.output", "[128, 128]", "[128]");
      }
      add(all, block + "ffn_norm", "[128]", "[128]");
      add(all, block + "ffn.up", "[512, 128]", "[512]");
      add(all, block + "ffn.down", "[128, 512]", "[128]");
    }
  }
  add(all, "output", "[50257, 128]", "[50257]");
  return all;
}

TEST(CourseNotes, TranslationHasTheParametersOfItsNote) {
  const std::string name = "translation/english-french-128.yaml";
  const Made model = made(shipped(name));
  EXPECT_EQ(model.parameters, translation_note());
  const int64_t product = 128 * 128 + 128, norm = 2 * 128;
  const int64_t attention = norm + 4 * product;  // queries, keys, values, and the product that merges the heads
  const int64_t ffn = norm + (128 * 512 + 512) + (512 * 128 + 128);
  const int64_t tables = 2 * 50257 * 128, positions = 2 * 128 * 128, output = 128 * 50257 + 50257;
  const int64_t all = tables + positions + 6 * (attention + ffn) + 6 * (2 * attention + ffn) + output;
  EXPECT_EQ(all, 22'158'801);
  EXPECT_EQ(model.elements, all);
  const std::vector<std::string> fixed{"model.positions=sinusoidal", "model.sinusoid_form=halves_from_one"};
  EXPECT_EQ(made(shipped(name, fixed)).elements, all - positions);
}

TEST(CourseNotes, TranslationHasTheNormsAndDropoutsOfItsNote) {
  const TransformerConfig model = shipped("translation/english-french-128.yaml").model;
  EXPECT_EQ(model.norm_placement, NormPlacement::Pre);
  EXPECT_EQ(model.cross_norm, CrossNorm::Memory);
  EXPECT_EQ(model.norm_epsilon, 1e-4);
  EXPECT_EQ(model.activation, Activation::Gelu);
  EXPECT_EQ(std::tuple(model.dropout.embedding, model.dropout.residual), std::tuple(0.1, 0.1));
  EXPECT_EQ(std::tuple(model.dropout.ffn, model.dropout.attention), std::tuple(0.0, 0.0));
}

Parameters toy_note() {
  Parameters all = {{"decoder.embedding.tokens", "[512, 128]"}};
  add(all, "decoder.embedding.projection", "[144, 128]", "[144]");
  for (int n = 0; n < 12; ++n) {
    const std::string block = fmt::format("decoder.{}.", n);
    add(all, block + "attention.qkv", "[6, 3, 24, 144]", "[6, 3, 24]");
    add(all, block + "attention.output", "[144, 144]", "[144]");
    add(all, block + "attention_norm", "[144]", "[144]");
    add(all, block + "ffn.up", "[2048, 144]", "[2048]");
    add(all, block + "ffn.down", "[144, 2048]", "[144]");
    add(all, block + "ffn_norm", "[144]", "[144]");
  }
  add(all, "output", "[512, 144]", "[512]");
  return all;
}

// The row of padding counts, as PyTorch counts it.
TEST(CourseNotes, ToyGptHasTheParametersAndDropoutsOfItsNote) {
  const JobConfig job = shipped("gpt/toy-512.yaml");
  const Made model = made(job);
  EXPECT_EQ(model.parameters, toy_note());
  const int64_t norm = 2 * 144, attention = 4 * (144 * 144 + 144), ffn = (144 * 2048 + 2048) + (2048 * 144 + 144);
  const int64_t embedding = 512 * 128 + (128 * 144 + 144), output = 144 * 512 + 512;
  EXPECT_EQ(embedding + 12 * (attention + ffn + 2 * norm) + output, 8'271'696);
  EXPECT_EQ(model.elements, 8'271'696);
  EXPECT_EQ(job.model.padding_id, 0);
  EXPECT_EQ(job.model.sinusoid_form, SinusoidForm::PerColumn);
  const DropoutConfig& dropout = job.model.dropout;
  EXPECT_EQ(dropout.embedding, 0);
  EXPECT_EQ(std::tuple(dropout.residual, dropout.ffn, dropout.attention), std::tuple(0.1, 0.1, 0.1));
}

}  // namespace
}  // namespace weft
