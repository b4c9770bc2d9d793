// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run/published_reference.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "analysis/score_table.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/app/companion.h"

namespace concur::cli {
namespace {

constexpr absl::string_view kPublishedIdPrefix = "published=";

// Lower case, with one "-" for what is neither letter nor digit.
std::string PublishedKey(absl::string_view name) {
  std::string key;
  for (const char c : name) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      key += absl::ascii_tolower(static_cast<unsigned char>(c));
    } else if (!key.empty() && key.back() != '-') {
      key += '-';
    }
  }
  return std::string(absl::StripSuffix(key, "-"));
}

}  // namespace

std::string PublishedId(absl::string_view reference) {
  return absl::StrCat(kPublishedIdPrefix,
                      PublishedKey(absl::StripPrefix(reference, kPublishedPrefix)));
}

std::string ReferenceOfId(absl::string_view id) {
  return absl::ConsumePrefix(&id, kPublishedIdPrefix) ? absl::StrCat(kPublishedPrefix, id)
                                                      : std::string(id);
}

bool IsPublished(absl::string_view reference) {
  return absl::StartsWith(reference, kPublishedPrefix);
}

absl::StatusOr<analysis::ScoreTable> PublishedScores(absl::string_view reference) {
  const absl::string_view asked = absl::StripPrefix(reference, kPublishedPrefix);
  CONCUR_ASSIGN_OR_RETURN(const std::string configs, ConfigsDirectory());
  const std::string path = absl::StrCat(configs, "/references/published.csv");
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  CONCUR_ASSIGN_OR_RETURN(const analysis::ParsedScores parsed,
                          analysis::ParseScoresCsv(text, path));
  const std::vector<std::string> names = analysis::NamesOf(parsed.table.benchmarks());
  for (size_t b = 0; b < names.size(); ++b) {
    if (PublishedKey(names[b]) != PublishedKey(asked)) {
      continue;
    }
    analysis::AxisEntry entry = parsed.table.benchmarks()[b];
    entry.name = absl::StrCat(kPublishedPrefix, names[b]);
    CONCUR_ASSIGN_OR_RETURN(
        analysis::ScoreTable column,
        analysis::ScoreTable::Create(parsed.table.approaches(), {std::move(entry)}));
    for (size_t i = 0; i < column.approaches().size(); ++i) {
      column.cell(i, 0) = parsed.table.cell(i, b);
    }
    return column;
  }
  return absl::NotFoundError(absl::StrCat("--with: expected a published benchmark, got \"",
                                          std::string(reference), "\"", DidYouMean(asked, names),
                                          "; there are ", absl::StrJoin(names, ", ")));
}

}  // namespace concur::cli
