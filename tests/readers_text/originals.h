// SPDX-License-Identifier: Apache-2.0
// Compares tokenizers with what the original library made of the strings in ../shared/fixtures, or
// in the folder that CONCUR_FIXTURES names.
//
// Thread-compatible.
#ifndef CONCUR_TESTS_READERS_TEXT_ORIGINALS_H_
#define CONCUR_TESTS_READERS_TEXT_ORIGINALS_H_

#include <functional>
#include <string>
#include <vector>

#include "readers/text/piece.h"

namespace concur::readers {

using TokenizeText = std::function<std::vector<Piece>(const std::string& text)>;

// Compares the ids of every string, under `ids_field` where the line has it, else under "ids", and
// the places in code points where lines have `offsets_field`, or "begin" and "end". `make` gets the
// paths of `vocabularies`. Skips, saying so, where a file is absent.
void ExpectOriginals(const std::string& file, const std::vector<std::string>& vocabularies,
                     const std::string& offsets_field,
                     const std::function<TokenizeText(const std::vector<std::string>& paths)>& make,
                     const std::string& ids_field = "ids");

}  // namespace concur::readers

#endif  // CONCUR_TESTS_READERS_TEXT_ORIGINALS_H_
