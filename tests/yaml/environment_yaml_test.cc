// SPDX-License-Identifier: Apache-2.0
// `environment:` of approaches: what is read, what is refused with which remedy, what is warned of.
#include "yaml/environment_yaml.h"

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "tests/testing/test.h"
#include "yaml/sweep_yaml.h"

namespace concur::spec {
namespace {

class EnvironmentYamlTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) const {
    ASSERT_OK(WriteFileAtomically(temp_.File(name), text));
  }
  absl::StatusOr<LoadedSweep> Load(const std::string& environment) const {
    Write("approach.yaml", absl::StrCat(R"(apiVersion: concur/v1
kind: Approach
metadata: {name: mine}
spec:
  version: "1"
  environment: )",
                                        environment, R"(
  predict: {command: [python3, "{test}", "{metrics}"]}
)"));
    Write("task.txt", "x");
    Write("sweep.yaml", R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: s}
spec:
  approaches: [approach.yaml]
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, test: task.txt, metric: accuracy}
)");
    CONCUR_ASSIGN_OR_RETURN(LoadedSweep sweep, LoadSweep(temp_.File("sweep.yaml"), {}));
    CONCUR_RETURN_IF_ERROR(ResolveEnvironments(&sweep));
    return sweep;
  }

  concur::testing::TempDir temp_;
};

TEST_F(EnvironmentYamlTest, EveryKindIsRead) {
  const std::string digits(64, 'a');
  ASSERT_OK_AND_ASSIGN(
      const LoadedSweep image,
      Load(absl::StrCat("{image: \"docker.io/library/debian@sha256:", digits, "\"}")));
  const Environment& of_registry = *image.spec.approaches[0].environment;
  EXPECT_EQ(of_registry.kind, EnvironmentKind::kImage);
  EXPECT_EQ(of_registry.reference, "docker.io/library/debian@sha256:" + digits);
  EXPECT_FALSE(of_registry.HasFile());

  Write("requirements.txt",
        "# pinned\nnumpy==1.24.2  # by hand\nscipy == 1.10 ; python_version > '3'\n");
  ASSERT_OK_AND_ASSIGN(
      const LoadedSweep venv,
      Load("{venv: requirements.txt, python: python3.11, setup: [\"echo 1\", \"echo 2\"]}"));
  const Environment& of_pip = *venv.spec.approaches[0].environment;
  EXPECT_EQ(of_pip.kind, EnvironmentKind::kVenv);
  EXPECT_EQ(of_pip.python, "python3.11");
  EXPECT_THAT(of_pip.setup, ElementsAre("echo 1", "echo 2"));
  EXPECT_EQ(of_pip.digest, DigestFile(temp_.File("requirements.txt"))->digest);
  EXPECT_THAT(venv.warnings, IsEmpty());

  Write("environment.yml", "dependencies: [python=2.7]\n");
  ASSERT_OK_AND_ASSIGN(const LoadedSweep conda, Load("{conda: environment.yml}"));
  EXPECT_EQ(conda.spec.approaches[0].environment->kind, EnvironmentKind::kConda);
}

TEST_F(EnvironmentYamlTest, MistakesAreNamedWithTheirPlaceAndRemedy) {
  Write("text.tar", "no tar\n");
  Write("nested.txt", "numpy==1\n-r more.txt\n");
  struct Case {
    std::string yaml;
    std::string message;
  };
  for (const Case& c : std::vector<Case>{
           {"{}", "exactly one of the fields image, root, venv and conda, got none"},
           {"{root: a.tar, venv: b.txt}", "got root and venv"},
           {"{setup: [\"true\"]}", "got none"},
           {"{image: \"debian@latest\"}", "expected an image with its digest"},
           {"{image: \"debian:12\"}", "or REGISTRY/NAME@sha256:"},
           {"{root: nowhere.tar}", "expected a readable file"},
           {"{root: text.tar}", "expected a root file system as a tar"},
           {"{image: text.tar}", "podman save --format oci-archive"},
           {"{venv: nested.txt}", "nested.txt:2: expected a package"},
           {"{venv: nested.txt, python: python2}", "expected python3 or a version"},
           {"{conda: nested.txt, python: python3}", "beside venv only"},
           {"{root: text.tar, setup: \"true\"}", "a list of shell lines"},
           {"{roots: text.tar}", "did you mean \"root\"?"},
       }) {
    EXPECT_THAT(Load(c.yaml), StatusIs(absl::StatusCode::kInvalidArgument,
                                       AllOf(HasSubstr("approach.yaml:6:"), HasSubstr(c.message))))
        << c.yaml;
  }
}

TEST_F(EnvironmentYamlTest, PackagesWithoutAVersionAreWarnedOf) {
  Write("loose.txt", "numpy\nscipy>=1\n--no-index\ntorch==2.0\nx @ file:///y.whl\n");
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep, Load("{venv: loose.txt}"));
  EXPECT_THAT(sweep.warnings,
              ElementsAre(AllOf(HasSubstr("approach.yaml:6:"),
                                HasSubstr("no version is pinned of numpy, scipy"))));
}

}  // namespace
}  // namespace concur::spec
