// SPDX-License-Identifier: Apache-2.0
#include "plan/parameter_tree.h"

#include <fmt/core.h>

#include <map>

#include "model/transformer.h"
#include "plan/step_plan.h"

namespace weft {
namespace {

struct TreeNode {
  int64_t elements = 0;
  std::string shape;  // a parameter's shape
  std::map<std::string, TreeNode> children;
};

void append(std::string& text, const std::string& name, const TreeNode& branch, size_t depth) {
  text += fmt::format("{:{}}{:<{}} {:>14}{}{}\n", "", 2 * depth, name, 36 - 2 * depth,
                      fmt::format("{:L}", branch.elements), branch.shape.empty() ? "" : "  ", branch.shape);
  for (const auto& [child, inner] : branch.children) append(text, child, inner, depth + 1);
}

}  // namespace

std::string parameter_tree(const JobConfig& job) {
  Context context({.kind = DeviceKind::Meta});
  Mesh mesh = Mesh::single();
  const auto model =
      make_model(context, mesh, {.config = job.model, .vocabularies = planned_vocabularies(job), .lora = job.lora});
  TreeNode root;
  for (const auto& parameter : model->parameters().parameters()) {
    const ParameterSpec& spec = parameter->spec();
    TreeNode* at = &root;
    at->elements += spec.shape.elements();
    std::string rest = spec.name;
    while (!rest.empty()) {
      const size_t dot = rest.find('.');
      at = &at->children[rest.substr(0, dot)];
      at->elements += spec.shape.elements();
      rest = dot == std::string::npos ? "" : rest.substr(dot + 1);
    }
    at->shape = spec.shape.text();
  }
  std::string text;
  append(text, job.name, root, 0);
  return text;
}

}  // namespace weft
