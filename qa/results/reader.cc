// SPDX-License-Identifier: Apache-2.0
#include "qa/results/reader.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/suggest.h"
#include "base/utf8.h"

namespace concur::imports {

const std::vector<Format>& Formats() {
  static const auto& formats =
      *new std::vector<Format>{LmEvalFormat(), HelmFormat(),          InspectFormat(),
                               MtebFormat(),   EveryEvalEverFormat(), LeaderboardFormat()};
  return formats;
}

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const Format& format : Formats()) {
    names.emplace_back(format.name);
  }
  return names;
}

absl::StatusOr<Format> FindFormat(absl::string_view name) {
  for (const Format& format : Formats()) {
    if (format.name == name) {
      return format;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("format: ", ExpectedOneOf(FormatNames(), std::string(name))));
}

namespace {

// True if the part before a name can be an organisation: letters and digits with "._-" between, and
// no name that folders of models usually have.
bool IsOrganisation(absl::string_view name) {
  static constexpr absl::string_view kFolders[] = {
      "checkpoint", "checkpoints", "ckpt", "ckpts",   "data",    "exp",      "experiments", "home",
      "mnt",        "models",      "out",  "output",  "outputs", "results",  "root",        "run",
      "runs",       "saved",       "tmp",  "weights", "work",    "workspace"};
  return !name.empty() && absl::ascii_isalnum(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) {
                       return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                              absl::StrContains("._-", c);
                     }) &&
         std::find(std::begin(kFolders), std::end(kFolders), absl::AsciiStrToLower(name)) ==
             std::end(kFolders);
}

}  // namespace

std::string FamilyInName(absl::string_view model) {
  for (const char* mark : {"/", "__"}) {
    const size_t at = model.find(mark);
    const absl::string_view before = model.substr(0, at);
    // Paths go on; names of Inspect are PROVIDER/ORG/MODEL.
    if (at != absl::string_view::npos && IsOrganisation(before) &&
        !absl::StrContains(model.substr(at + 1), '/')) {
      return std::string(before);
    }
  }
  // A number and a unit: thousands, millions, billions or trillions of parameters.
  const size_t open = model.rfind(" (");
  if (open != absl::string_view::npos && open > 0 && absl::EndsWith(model, ")")) {
    absl::string_view size = model.substr(open + 2, model.size() - open - 3);
    double parameters = 0;
    if (size.size() > 1 && absl::StrContains("KMBTkmbt", size.back()) &&
        absl::SimpleAtod(size.substr(0, size.size() - 1), &parameters)) {
      return std::string(model.substr(0, open));
    }
  }
  return "";
}

void AddTag(Tags& tags, const std::string& name, absl::string_view value) {
  constexpr size_t kTagBytesMax = 200;
  if (value.empty()) {
    return;
  }
  std::string clean = CleanUtf8(value, kTagBytesMax);
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      c = ' ';
    }
  }
  tags.emplace(name, clean);
}

}  // namespace concur::imports
