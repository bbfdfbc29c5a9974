#pragma once
#include <string>

#include "model/linear.h"
#include "model/residual.h"

namespace weft {

// Two products with an activation and its dropout between them.
class FeedForward : public Branch {
 public:
  FeedForward(LayerScope& scope, const std::string& name);
  Var operator()(ForwardContext& forward, const Var& x, const Tokens& tokens) const {
    return down_(forward, up_(forward, x, tokens), tokens);
  }
  const Parameter* output_bias() const { return down_.residual_bias(); }

 private:
  Linear up_, down_;
};

}  // namespace weft
