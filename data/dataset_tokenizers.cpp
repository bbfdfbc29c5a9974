#include "base/error.h"
#include "base/hash.h"
#include "data/dataset.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

namespace {

std::shared_ptr<const Tokenizer> load_checked(const fs::path& directory, const DatasetSide& side) {
  const fs::path path = directory / side.tokenizer_file;
  auto tokenizer = Tokenizer::load(path);
  require<DataError>(tokenizer->hash() == side.tokenizer_hash,
                     "{} is not the tokenizer that made this dataset: its hash is {}, the dataset's {}", path.string(),
                     hash_hex(tokenizer->hash()), hash_hex(side.tokenizer_hash));
  return tokenizer;
}

}  // namespace

std::shared_ptr<const Tokenizer> Dataset::load_source_tokenizer() const {
  return load_checked(directory(), header().source);
}
std::shared_ptr<const Tokenizer> Dataset::load_target_tokenizer() const {
  return load_checked(directory(), header().target);
}

}  // namespace weft
