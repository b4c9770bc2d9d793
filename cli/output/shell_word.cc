// SPDX-License-Identifier: Apache-2.0
#include "cli/output/shell_word.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace concur::cli {

std::string ShellWord(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("._-/+=@,:", c);
  });
  return plain ? word : absl::StrCat("'", absl::StrReplaceAll(word, {{"'", R"('\'')"}}), "'");
}

}  // namespace concur::cli
