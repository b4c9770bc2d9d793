// SPDX-License-Identifier: Apache-2.0
#include "readers/text/piece.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "absl/strings/match.h"

namespace concur::readers {

bool Knows(Implementation implementation, int32_t code_point) {
  constexpr int kPythonVersion = 14;
  constexpr int kRustVersion = 8;
  UVersionInfo age;
  u_charAge(code_point, age);
  return age[0] <= (implementation == Implementation::kPython ? kPythonVersion : kRustVersion);
}

void AppendCodePoint(int32_t code_point, std::string& text) {
  char encoded[U8_MAX_LENGTH];
  size_t length = 0;
  U8_APPEND_UNSAFE(encoded, length, code_point);
  text.append(encoded, length);
}

std::vector<Piece> FindSpecials(absl::string_view text,
                                absl::Span<const absl::string_view> specials,
                                absl::FunctionRef<int32_t(absl::string_view)> id_of) {
  constexpr absl::string_view kFirst = "[<";
  std::vector<Piece> found;
  for (size_t at = text.find_first_of(kFirst); at != absl::string_view::npos;
       at = text.find_first_of(kFirst, at + 1)) {
    for (const absl::string_view special : specials) {
      const int32_t id = absl::StartsWith(text.substr(at), special) ? id_of(special) : -1;
      if (id >= 0) {
        found.push_back(
            {id, static_cast<uint32_t>(at), static_cast<uint32_t>(at + special.size())});
        break;
      }
    }
  }
  return found;
}

}  // namespace concur::readers
