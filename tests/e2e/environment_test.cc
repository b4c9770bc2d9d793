// SPDX-License-Identifier: Apache-2.0
// One sweep whose approaches need environments that exclude one another: a root of busybox alone,
// an image with a program of its own, and Python with a package. Two workers run it, one under
// bubblewrap and one under Podman, as far as this machine has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/digest.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"

namespace concur::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kBusybox[] = "/bin/busybox";

constexpr char kApproachHead[] = R"(apiVersion: concur/v1
kind: Approach
metadata: {name: NAME}
spec:
  version: "1"
)";

constexpr char kEnvironmentSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: environments}
spec:
  approaches: [APPROACHES]
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, test: task.txt, metric: accuracy}
  seeds: [1, 2, 3]
)";

// Writes the package "tinypackage", whose number is 0.75, as a wheel.
constexpr char kMakeWheel[] = R"(
import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + "/tinypackage-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("tinypackage.py", "number = 0.75\n")
    info = "tinypackage-1.0.dist-info/"
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: tinypackage\nVersion: 1.0\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "RECORD", "")
)";

class EnvironmentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.Write("task.txt", "x");
    cluster_.StartCoordinator();
  }
  // Whether a program of PATH ends well.
  bool Works(std::vector<std::string> argv) const {
    argv.insert(argv.begin(), "/usr/bin/env");
    return Cluster::Run(argv, cluster_.File("scratch")).exit_code == 0;
  }
  static bool Has(const std::string& program) {
    return std::filesystem::exists("/usr/bin/" + program);
  }
  void WriteApproach(const std::string& name, const std::string& spec) {
    cluster_.Write(name + ".yaml", absl::StrReplaceAll(kApproachHead, {{"NAME", name}}) + spec);
  }
  void WriteSweep(const std::string& approaches) {
    cluster_.Write("sweep.yaml",
                   absl::StrReplaceAll(kEnvironmentSweep, {{"APPROACHES", approaches}}));
  }
  void StartWorkerWith(const std::string& name, const std::string& kinds) {
    cluster_.StartWorker(
        name, 2,
        {"--environments", kinds, "--environment-dir", cluster_.File("environments-" + name)});
  }

  // A root with busybox and a file that says which one it is.
  void MakeRoot(const std::string& name) {
    const std::string root = cluster_.File(name);
    ASSERT_TRUE(MakeDirectories(root + "/bin").ok());
    std::filesystem::copy_file(kBusybox, root + "/bin/busybox");
    for (const char* applet : {"sh", "cat", "test"}) {
      std::filesystem::create_symlink("busybox", absl::StrCat(root, "/bin/", applet));
    }
    cluster_.Write(name + "/number", name == "first" ? "0.25" : "0.5");
    ASSERT_TRUE(Works({"tar", "-C", root, "-czf", cluster_.File(name + ".tar.gz"), "."}));
  }
  // The same root as an OCI archive, as tools write it.
  void MakeImage(const std::string& name) {
    MakeRoot(name);
    const std::string layout = cluster_.File(name + "-layout");
    ASSERT_TRUE(MakeDirectories(layout + "/blobs/sha256").ok());
    const auto add = [&](const std::string& contents) {
      const std::string digits = Sha256Of(contents).ToHex();
      cluster_.Write(absl::StrCat(name, "-layout/blobs/sha256/", digits), contents);
      return absl::StrCat(R"({"digest": "sha256:)", digits, R"("})");
    };
    const std::string layer = add(ReadFile(cluster_.File(name + ".tar.gz")).value_or(""));
    const std::string config = add(R"({"config": {"Env": ["PATH=/bin", "OF_IMAGE=yes"]}})");
    const std::string manifest =
        add(absl::StrCat(R"({"config": )", config, R"(, "layers": [)", layer, "]}"));
    cluster_.Write(name + "-layout/index.json", absl::StrCat(R"({"manifests": [)", manifest, "]}"));
    ASSERT_TRUE(Works({"tar", "-C", layout, "-cf", cluster_.File(name + "-image.tar"), "."}));
  }
  std::string Submit() {
    const Output output =
        cluster_.Concur({"-o", "json", "sweep", "submit", "--wait", cluster_.File("sweep.yaml")});
    EXPECT_EQ(output.exit_code, 0)
        << output.out << output.err << cluster_.Concur({"sweep", "failures", "s1"}).out;
    return output.out;
  }

  Cluster cluster_;
};

TEST_F(EnvironmentTest, ThreeEnvironmentsThatExcludeOneAnotherOnTwoWorkers) {
  if (!std::filesystem::exists(kBusybox) || !Has("bwrap")) {
    GTEST_SKIP() << "needs the packages of scripts/packages-environments.txt";
  }
  ASSERT_NO_FATAL_FAILURE(MakeRoot("first"));
  ASSERT_NO_FATAL_FAILURE(MakeImage("second"));
  WriteApproach("root", R"(  environment: {root: first.tar.gz}
  predict:
    command: [sh, -euc, 'test ! -e /usr && echo "{{\"accuracy\": $(cat /number)}}" > {metrics}']
)");
  WriteApproach("image", R"(  environment:
    image: second-image.tar
    setup: ["echo done > /setup"]
  predict:
    command: [sh, -euc, 'test $OF_IMAGE = yes; cat /setup; echo "{{\"accuracy\": $(cat /number)}}" > {metrics}']
)");
  std::string approaches = "root.yaml, image.yaml";
  if (Works({"python3", "-c", "import venv, ensurepip"})) {
    cluster_.Write("wheel.py", kMakeWheel);
    ASSERT_TRUE(Works({"python3", cluster_.File("wheel.py"), cluster_.File("")}));
    cluster_.Write("requirements.txt", absl::StrCat("--no-index\n--find-links ", cluster_.File(""),
                                                    "\ntinypackage==1.0\n"));
    cluster_.Write("score.py",
                   "import json, sys, tinypackage\n"
                   "json.dump({'accuracy': tinypackage.number}, open(sys.argv[1], 'w'))\n");
    WriteApproach("python", R"(  environment: {venv: requirements.txt}
  code: [score.py]
  predict: {command: [python, "{code}/score.py", "{metrics}"]}
)");
    approaches += ", python.yaml";
  }
  WriteSweep(approaches);
  StartWorkerWith("w1", "bubblewrap,venv");
  StartWorkerWith("w2", "podman,venv");
  EXPECT_THAT(Submit(), HasSubstr("\"reused\": 0"));
  const std::string scores = cluster_.Concur({"-o", "csv", "scores", "s1"}).out;
  EXPECT_THAT(scores, AllOf(HasSubstr("0.25"), HasSubstr("0.5"))) << scores;
  if (approaches.ends_with("python.yaml")) {
    EXPECT_THAT(scores, HasSubstr("0.75"));
  }
  EXPECT_THAT(cluster_.Concur({"worker", "list"}).out, HasSubstr("bubblewrap"));

  // Nothing runs again, and what an environment was made from decides.
  EXPECT_THAT(Submit(), Not(HasSubstr("\"reused\": 0")));
  WriteApproach("image", R"(  environment:
    image: second-image.tar
    setup: ["echo other > /setup"]
  predict:
    command: [sh, -euc, 'test $OF_IMAGE = yes; cat /setup; echo "{{\"accuracy\": $(cat /number)}}" > {metrics}']
)");
  WriteSweep("image.yaml");
  EXPECT_THAT(Submit(), HasSubstr("\"reused\": 0"));
  EXPECT_THAT(cluster_.Concur({"job", "explain", "s3/0"}).out,
              AllOf(HasSubstr("differs in environment"), HasSubstr("echo other")));
}

TEST_F(EnvironmentTest, AJobThatNoWorkerCanRunSaysSo) {
  ASSERT_TRUE(MakeDirectories(cluster_.File("empty/etc")).ok());
  ASSERT_TRUE(
      Works({"tar", "-C", cluster_.File("empty"), "-cf", cluster_.File("empty.tar"), "etc"}));
  WriteApproach("root", R"(  environment: {root: empty.tar}
  predict: {command: [sh, -c, "echo > {metrics}"]}
)");
  WriteSweep("root.yaml");
  StartWorkerWith("w1", "none");
  ASSERT_TRUE(Eventually([&] {
    return cluster_.Concur({"worker", "list"}).out.find("w1") != std::string::npos;
  }));
  const Output submitted = cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")});
  EXPECT_EQ(submitted.exit_code, 0);
  EXPECT_THAT(submitted.err, HasSubstr("no worker known now has"));
  EXPECT_THAT(cluster_.Concur({"job", "explain", "s1/0"}).out,
              AllOf(HasSubstr("environment.root"), HasSubstr("install bubblewrap")));
}

}  // namespace
}  // namespace concur::testing
