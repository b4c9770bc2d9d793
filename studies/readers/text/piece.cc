// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/text/piece.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>

#include "absl/strings/match.h"
#include "base/check.h"

namespace concur::readers {
namespace {

const UNormalizer2* NormalizerOf(Decomposition kind) {
  UErrorCode error = U_ZERO_ERROR;
  const UNormalizer2* made = kind == Decomposition::kCanonical ? unorm2_getNFDInstance(&error)
                                                               : unorm2_getNFKDInstance(&error);
  CONCUR_CHECK(U_SUCCESS(error));
  return made;
}

}  // namespace

bool Knows(Implementation implementation, int32_t code_point) {
  constexpr int kPythonVersion = 14;
  constexpr int kRustVersion = 8;
  UVersionInfo age;
  u_charAge(code_point, age);
  return age[0] <= (implementation == Implementation::kPython ? kPythonVersion : kRustVersion);
}

void ForEachDecomposed(int32_t code_point, Decomposition kind,
                       absl::FunctionRef<void(int32_t)> take) {
  static const UNormalizer2* const canonical = NormalizerOf(Decomposition::kCanonical);
  static const UNormalizer2* const compatible = NormalizerOf(Decomposition::kCompatible);
  constexpr int32_t kUnitsMax = 64;  // Unicode's longest has 18
  UChar units[kUnitsMax];
  UErrorCode error = U_ZERO_ERROR;
  const int32_t count =
      unorm2_getDecomposition(kind == Decomposition::kCanonical ? canonical : compatible,
                              code_point, units, kUnitsMax, &error);
  if (count < 0) {
    take(code_point);
    return;
  }
  for (int32_t i = 0; i < count;) {
    UChar32 part = 0;
    U16_NEXT(units, i, count, part);
    take(part);
  }
}

std::vector<uint32_t> CodePointsBefore(absl::string_view text) {
  std::vector<uint32_t> before(1, 0);
  for (size_t i = 0; i < text.size(); ++i) {
    const bool ends = i + 1 == text.size() || (text[i + 1] & '\xC0') != '\x80';
    before.push_back(before.back() + (ends ? 1 : 0));
  }
  return before;
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
