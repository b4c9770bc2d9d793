// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/campaign_report.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"

namespace concur::testing {

std::string CampaignReport::ToString() const {
  constexpr size_t kFindingsShown = 20;
  std::string text = absl::StrCat(
      "killed: the coordinator ", coordinator_kills, " times (", kills_while_starting,
      " before it listened), workers ", worker_kills, " times\nacknowledged: ", submissions,
      " submissions and ", repeated_submissions, " repeats of them, ", cancels, " cancels, ",
      retries, " retries, ", results_read, " results; ", reads, " reads, ",
      unexplained.empty() ? "in one order" : unexplained, "\nin the end: ", sweeps, " sweeps, ",
      jobs, " jobs, ", attempts_started, " attempts started; lost ", lost.size(), ", duplicated ",
      duplicated.size(), ", scores that differ ", different.size(), "\n");
  for (const auto* findings : {&lost, &duplicated, &different}) {
    for (size_t i = 0; i < findings->size() && i < kFindingsShown; ++i) {
      absl::StrAppend(&text, "  ", (*findings)[i], "\n");
    }
  }
  return text;
}

}  // namespace concur::testing
