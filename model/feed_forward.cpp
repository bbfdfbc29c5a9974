#include "model/feed_forward.h"

namespace weft {

FeedForward::FeedForward(LayerScope& scope, const std::string& name)
    : Branch(scope, name),
      up_(scope, {.name = name + ".up",
                  .shape = {scope.config.derived_ffn(), scope.config.width},
                  .init = scope.weight_init(scope.config.width, scope.config.derived_ffn()),
                  .bias = scope.config.bias,
                  .sharding = LinearSharding::ColumnParallel,
                  .activation = scope.config.activation,
                  .dropout = scope.config.dropout.ffn}),
      down_(scope, {.name = name + ".down",
                    .shape = {scope.config.width, scope.config.derived_ffn()},
                    .init = scope.residual_init(scope.config.derived_ffn(), scope.config.width),
                    .bias = scope.config.bias,
                    .sharding = LinearSharding::RowParallel}) {}

}  // namespace weft
