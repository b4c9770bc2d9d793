// SPDX-License-Identifier: Apache-2.0
#include "cli/output/failures.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

v1::Job Failed(int index, const std::string& approach, const std::string& message,
               const std::string& benchmark = "news") {
  v1::Job job;
  job.set_id(absl::StrCat("s1/", index));
  job.set_kind(v1::Job::KIND_EVAL);
  job.set_state(v1::Job::STATE_FAILED);
  job.set_approach(approach);
  job.set_train_set("squad");
  job.set_test_benchmark(benchmark);
  job.set_failure(v1::FAILURE_CLASS_FAILED);
  job.mutable_result()->set_message(message);
  return job;
}

TEST(FailuresTest, EqualFailuresAreOneRowWithAnExample) {
  FailureGroups failures;
  for (int i = 0; i < 20; ++i) {
    failures.Add(Failed(i, "lr", absl::StrCat("no model in /runs/s1-", i, " (exit code 1)")));
  }
  failures.Add(Failed(20, "lr", "KeyError: 'rarity' (exit code 1)"));
  failures.Add(Failed(21, "bert", "KeyError: 'rarity' (exit code 1)"));
  EXPECT_EQ(
      analysis::WriteTable(failures.ToTable(/*summed=*/true), analysis::TableFormat::kText),
      "JOBS  APPROACH  BENCHMARK  KIND  FAILURE  EXAMPLE  MESSAGE\n"
      "  20  lr        news       eval  failed   s1/0     no model in /runs/s1-0 (exit code "
      "1)\n"
      "   2  bert, lr  news       eval  failed   s1/20    KeyError: 'rarity' (exit code 1)\n");
}

TEST(FailuresTest, EqualFailuresOfManyCellsAreOneRow) {
  // A broken script was a line for each of its 12 benchmarks, and a broken disk one for every cell.
  FailureGroups failures;
  int index = 0;
  for (const char* approach : {"a", "b"}) {
    for (const char* benchmark : {"x", "y", "z"}) {
      for (int seed = 1; seed <= 2; ++seed) {
        failures.Add(Failed(index, approach, absl::StrCat("disk ", index, " full"), benchmark));
        ++index;
      }
    }
  }
  for (const char* benchmark : {"v", "w", "x", "y", "z"}) {
    failures.Add(Failed(index++, "c", "no module", benchmark));
  }
  for (const char* approach : {"c", "d", "e"}) {
    failures.Add(Failed(index++, approach, "no column", "x"));
  }
  EXPECT_EQ(analysis::WriteTable(failures.ToTable(/*summed=*/true), analysis::TableFormat::kText),
            "JOBS  APPROACH  BENCHMARK    KIND  FAILURE  EXAMPLE  MESSAGE\n"
            "  12  a, b      x, y, z      eval  failed   s1/0     disk 0 full\n"
            "   5  c         5 data sets  eval  failed   s1/12    no module\n"
            "   3  c, d, e   x            eval  failed   s1/17    no column\n");
  EXPECT_EQ(failures.ToTable(/*summed=*/false).rows.size(), 6 + 5 + 3) << "for programs";
}

TEST(FailuresTest, AMessageIsWholeAtAnyWidth) {
  FailureGroups failures;
  const std::string message = std::string(300, 'x') + "END";
  failures.Add(Failed(0, "lr", message));
  std::string joined;
  for (const char c : analysis::WriteTable(failures.ToTable(/*summed=*/true),
                                           analysis::TableFormat::kText, {.width = 80})) {
    joined += c == '\n' || c == ' ' ? "" : std::string(1, c);
  }
  EXPECT_THAT(joined, HasSubstr(message));
}

TEST(FailuresTest, WithoutBoundThereWouldBeARowForEveryMessage) {
  FailureGroups failures;
  for (char a = 'a'; a <= 'z'; ++a) {
    for (char b = 'a'; b <= 'z'; ++b) {
      for (const char* c : {"x", "y"}) {
        failures.Add(Failed(0, "lr", absl::StrCat(std::string(1, a), std::string(1, b), c)));
      }
    }
  }
  EXPECT_EQ(failures.ToTable(/*summed=*/true).rows.size(), FailureGroups::kGroupsMax);
  EXPECT_EQ(failures.others(), 26 * 26 * 2 - FailureGroups::kGroupsMax);
}

}  // namespace
}  // namespace concur::cli
