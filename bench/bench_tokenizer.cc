// SPDX-License-Identifier: Apache-2.0
// Number of pieces a second that a checkpoint's tokenizer cuts: bench_tokenizer DIR FILE. Reads
// lines and prints the pieces of all of them, then the processor time of cutting them, in seconds,
// the least of three rounds (bench/tokenizers.py).
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/file.h"
#include "studies/readers/text/checkpoint_tokenizer.h"

int main(int argc, char** argv) {
  using concur::readers::CheckpointTokenizer;
  CONCUR_CHECK(argc == 3);
  const auto files = concur::readers::TokenizerFilesIn(argv[1]);
  CONCUR_CHECK_OK(files.status());
  const auto tokenizer = CheckpointTokenizer::Read(*files, {});
  CONCUR_CHECK_OK(tokenizer.status());
  const auto text = concur::ReadFile(argv[2]);
  CONCUR_CHECK_OK(text.status());
  const std::vector<absl::string_view> lines = absl::StrSplit(*text, '\n', absl::SkipEmpty());
  size_t pieces = 0;
  double least = 0;
  for (int round = 0; round < 3; ++round) {
    pieces = 0;
    const std::clock_t start = std::clock();
    for (const absl::string_view line : lines) {
      pieces += tokenizer->Tokenize(line).size();
    }
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    least = round == 0 ? seconds : std::min(least, seconds);
  }
  std::printf("%zu %.6f\n", pieces, least);
  return 0;
}
