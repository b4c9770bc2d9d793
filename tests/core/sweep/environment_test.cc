// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/environment.h"

#include <string>
#include <vector>

#include "core/pools/pool.h"
#include "core/sweep/capacity.h"
#include "core/sweep/expansion.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

const std::string kDigits(64, 'a');

Environment MakeEnvironment(EnvironmentKind kind, const std::string& reference = "",
                            const std::string& python = "") {
  Environment environment;
  environment.kind = kind;
  environment.reference = reference;
  environment.python = python;
  return environment;
}

TEST(EnvironmentTest, WhatCannotBeMeantIsRefusedByItsField) {
  struct Mistake {
    std::string field;
    Environment environment;
  };
  const std::string image = "docker.io/library/debian@sha256:" + kDigits;
  for (const Mistake& c : std::vector<Mistake>{
           {"environment.reference", MakeEnvironment(EnvironmentKind::kRoot, image)},
           {"environment.reference",
            MakeEnvironment(EnvironmentKind::kImage, "docker.io/library/debian:12")},
           {"environment.reference",
            MakeEnvironment(EnvironmentKind::kImage, "--all@sha256:" + kDigits)},
           {"environment.reference",
            MakeEnvironment(EnvironmentKind::kImage, "a b@sha256:" + kDigits)},
           {"environment.python", MakeEnvironment(EnvironmentKind::kVenv)},
           {"environment.python", MakeEnvironment(EnvironmentKind::kVenv, "", "/bin/python3")},
           {"environment.python", MakeEnvironment(EnvironmentKind::kVenv, "", "python3.11x")},
           {"environment.python", MakeEnvironment(EnvironmentKind::kRoot, "", "python3")},
       }) {
    EXPECT_THAT(CheckEnvironmentSpec(FieldPath("environment"), c.environment),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.field)));
  }
  EXPECT_OK(CheckEnvironmentSpec(FieldPath("e"), MakeEnvironment(EnvironmentKind::kImage, image)));
  Environment wrong;
  wrong.bytes = -1;
  EXPECT_THAT(CheckEnvironmentSpec(FieldPath("e"), wrong),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("e.size_bytes")));
  wrong.bytes = 0;
  wrong.setup = std::vector<std::string>(kSetupLinesMax + 1, "true");
  EXPECT_THAT(CheckEnvironmentSpec(FieldPath("e"), wrong),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("e.setup")));
  EXPECT_OK(CheckEnvironmentSpec(FieldPath("e"),
                                 MakeEnvironment(EnvironmentKind::kVenv, "", "python3.12")));
}

TEST(EnvironmentTest, JobsAskForWorkersThatCanRunThem) {
  SweepSpec spec = testing::SmallSweep();
  spec.approaches[0].environment.emplace().digest = Sha256Of("a");
  ASSERT_OK_AND_ASSIGN(const Expansion expansion, Expansion::Make(spec));
  EXPECT_TRUE(expansion.has_labels());
  const Labels wants = expansion.LabelsOf(expansion.blocks()[0], std::nullopt);
  EXPECT_EQ(LabelsText(wants), "environment.root=yes");
  EXPECT_FALSE(LabelsMatch(wants, {}));
  EXPECT_TRUE(LabelsMatch(wants, {{"environment.root", "yes"}, {"disk", "fast"}}));
  // Nobody knows of the workers that a pool will start, unless its labels say so.
  PoolSpec pool;
  pool.name = "pool";
  EXPECT_TRUE(LabelsMatch(wants, WorkerLabels(pool)));
  EXPECT_FALSE(LabelsMatch({{"disk", "fast"}}, WorkerLabels(pool)));
  pool.labels = {{"environment.conda", "yes"}};
  EXPECT_FALSE(LabelsMatch(wants, WorkerLabels(pool)));
  EXPECT_THAT(CapacityWarnings(spec, {{.capacity = {.cpu_millis = 64'000, .memory_bytes = 1 << 30},
                                       .labels = {}}}),
              ElementsAre(HasSubstr("environment.root=yes"), HasSubstr("environment.root=yes")));
}

TEST(EnvironmentTest, AnImageIsFoundInItsOwnContainersOrMade) {
  Environment image;
  image.kind = EnvironmentKind::kImage;
  image.reference =
      "docker.io/library/debian@sha256:"
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  const Labels wants = LabelsOfEnvironment(image);
  EXPECT_EQ(wants, (Labels{{"environment.image", image.reference}}));
  const Labels in_it = {{"environment.image", image.reference}, {"pool", "pods"}};
  EXPECT_TRUE(LabelsMatch(wants, in_it));
  EXPECT_FALSE(LabelsMatch({}, in_it)) << "other jobs have no programs there";
  EXPECT_FALSE(LabelsMatch({{"environment.root", "yes"}}, in_it));
  EXPECT_FALSE(LabelsMatch(wants, {{"environment.image", "docker.io/library/other"}}));
  EXPECT_TRUE(LabelsMatch(wants, {{"environment.root", "yes"}, {"environment.registry", "yes"}}));
  EXPECT_FALSE(LabelsMatch(wants, {{"environment.root", "yes"}}));
  EXPECT_FALSE(LabelsMatch(wants, {}));
  EXPECT_TRUE(LabelsMatch(wants, {{"environment.any", "yes"}}));
  // A sandbox that was asked for is none of a container's.
  Labels sandboxed = wants;
  sandboxed["environment.sandbox"] = "podman";
  EXPECT_FALSE(LabelsMatch(sandboxed, in_it));
  // A setup that changes the image needs a sandbox, and so does an image whose name is no label.
  image.setup = {"true"};
  const Labels built = {{"environment.registry", "yes"}, {"environment.root", "yes"}};
  EXPECT_EQ(LabelsOfEnvironment(image), built);
  image.setup.clear();
  image.reference = std::string(200, 'a') + image.reference;
  EXPECT_EQ(LabelsOfEnvironment(image), built);
}

}  // namespace
}  // namespace concur
