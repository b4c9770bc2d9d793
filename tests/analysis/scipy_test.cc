// SPDX-License-Identifier: Apache-2.0
// Coefficients and p-values against SciPy's, from tests/analysis/data/scipy_vectors.txt.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/spearman_null.h"
#include "base/file.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

double Number(absl::string_view text) {
  double value = 0;
  EXPECT_TRUE(absl::SimpleAtod(text, &value)) << text;
  return value;
}

void ExpectSame(const Correlation& ours, absl::string_view value, absl::string_view p_value,
                double tolerance, absl::string_view line) {
  if (value == "nan") {
    EXPECT_FALSE(ours.defined()) << line;
    return;
  }
  EXPECT_TRUE(ours.defined()) << line;
  EXPECT_NEAR(ours.value, Number(value), 1e-12) << line;
  if (p_value == "nan") {
    EXPECT_TRUE(std::isnan(ours.p_value)) << line;
    return;
  }
  const double expected = Number(p_value);
  EXPECT_NEAR(ours.p_value, expected, tolerance) << line;
  // Small ones agree in their digits too, down to where doubles lose them.
  if (expected > 1e-280 && std::abs(ours.value) < 1 - 1e-9) {
    EXPECT_NEAR(ours.p_value / expected, 1, 1e-7) << line;
  }
}

TEST(ScipyTest, CoefficientsAndPValuesAreScipys) {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_NE(source, nullptr) << "run through ctest, which sets CONCUR_SOURCE_DIR";
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       ReadFile(std::string(source) + "/tests/analysis/data/scipy_vectors.txt"));
  int lines = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (absl::StartsWith(line, "#")) {
      continue;
    }
    const std::vector<std::string> fields = absl::StrSplit(line, ' ');
    ASSERT_EQ(fields.size(), 10U) << line;
    auto state = static_cast<uint64_t>(Number(fields[0]));
    const auto n = static_cast<size_t>(Number(fields[1]));
    const auto levels = static_cast<uint64_t>(Number(fields[2]));
    const double weight = Number(fields[3]);
    const auto draw = [&] {
      state = state * 6364136223846793005U + 1442695040888963407U;
      return static_cast<double>((state >> 33) % levels);
    };
    std::vector<double> x(n);
    std::vector<double> y(n);
    for (size_t i = 0; i < n; ++i) {
      x[i] = draw();
      const double noise = draw();
      y[i] = x[i] * weight + noise;
    }
    ExpectSame(KendallTauB(x, y), fields[4], fields[5], 1e-12, line);
    ExpectSame(PearsonR(x, y), fields[6], fields[7], 1e-9, line);
    // SciPy has Student's t for any n, which is wrong for few values (see correlation_test.cc).
    const Correlation rho = SpearmanRho(x, y);
    if (rho.defined() && n <= SpearmanNull::kSizeMax) {
      EXPECT_NEAR(rho.value, Number(fields[8]), 1e-12) << line;
    } else {
      ExpectSame(rho, fields[8], fields[9], 1e-9, line);
    }
    ++lines;
  }
  EXPECT_GT(lines, 1500);
}

}  // namespace
}  // namespace concur::analysis
