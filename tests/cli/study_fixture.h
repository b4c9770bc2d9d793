// SPDX-License-Identifier: Apache-2.0
// A finished sweep on a fake coordinator, with per-example scores: what reports are made of.
//
// Three approaches ("lr" with two settings, the second better) on two benchmarks of 40 examples;
// one more approach failed.
#ifndef CONCUR_TESTS_CLI_STUDY_FIXTURE_H_
#define CONCUR_TESTS_CLI_STUDY_FIXTURE_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "concur/v1/coordinator.pb.h"
#include "tests/cli/fake_coordinator.h"
#include "tests/cli/run_concur.h"

namespace concur::cli {

// Per-example scores as workers store them; F1 is 1 where right, 0.25 else.
std::string ExampleLines(const std::vector<std::pair<std::string, bool>>& examples);

class StudyFixture : public ::testing::Test {
 protected:
  StudyFixture();

  Output Concur(std::vector<std::string> args);
  // The digest of the first such job's per-example scores.
  Digest ExamplesDigest(const std::string& approach, const std::string& benchmark) const;
  // Gives an eval job its scores: `right` of 40 examples right.
  void AddScores(int right, v1::Job& job);

  testing::FakeCoordinator fake_;

 private:
  // Every job that the spec implies.
  void AddJobs(const v1::SweepSpec& proto);
};

}  // namespace concur::cli

#endif  // CONCUR_TESTS_CLI_STUDY_FIXTURE_H_
