#pragma once

namespace weft {

// Whether this build reads SentencePiece models: not where libsentencepiece was not found.
bool has_sentencepiece();

}  // namespace weft
