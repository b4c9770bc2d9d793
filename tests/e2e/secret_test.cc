// SPDX-License-Identifier: Apache-2.0
// Secrets: jobs get them, and nothing else has them.
#include <signal.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr char kSecretValue[] = "sk-0123456789-abcdef";

// Prints the secret in two pieces, whole, and as its last words.
constexpr char kSecretProgram[] = R"(import os, sys
key = os.environ["API_KEY"]
sys.stdout.write("begin " + key[:9]); sys.stdout.flush()
sys.stdout.write(key[9:] + " end\n"); sys.stdout.flush()
print(f"length {len(key)}", flush=True)
if sys.argv[1] == "fail":
    sys.exit("refused: " + key)
open(sys.argv[2], "w").write('{"accuracy": 0.5}')
)";

std::string SecretSweep(const std::string& mode) {
  return absl::StrCat(R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: )",
                      mode, R"(}
spec:
  approaches:
    - metadata: {name: asks}
      spec:
        code: [ask.py]
        secrets: {API_KEY: openai}
        predict: {command: [python3, "{code}/ask.py", )",
                      mode, R"(, "{metrics}", "{test}"]}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, test: task.txt, metric: accuracy}
  retry: {failures_max: 1}
)");
}

// Files below `root` that contain `text`, by name.
std::vector<std::string> FilesWith(const std::string& root, const std::string& text) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) {
      continue;
    }
    const absl::StatusOr<std::string> read = ReadFile(entry.path().string());
    EXPECT_TRUE(read.ok()) << read.status();
    if (read.ok() && absl::StrContains(*read, text)) {
      found.push_back(entry.path().filename().string());
    }
  }
  return found;
}

class SecretTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.Write("ask.py", kSecretProgram);
    cluster_.Write("task.txt", "x");
    cluster_.Write("works.yaml", SecretSweep("works"));
    cluster_.Write("fail.yaml", SecretSweep("fail"));
    cluster_.StartCoordinator();
  }
  Output Set(const std::string& value) {
    const std::string shell =
        absl::StrCat("printf '%s\\n' '", value, "' | ", Cluster::Binary("concur"), " --server ",
                     cluster_.server(), " secret set openai");
    return Cluster::Run({"/bin/sh", "-c", shell}, scratch_.path());
  }
  Output Submit(const std::string& name) {
    return cluster_.Concur({"sweep", "submit", "--wait", cluster_.File(name + ".yaml")});
  }

  Cluster cluster_;
  TempDir scratch_;
};

TEST_F(SecretTest, JobsHaveItAndNoFileLogOrAnswer) {
  const Output missing = Submit("works");
  EXPECT_EQ(missing.exit_code, 4) << missing.err;
  EXPECT_THAT(missing.err, HasSubstr("concur secret set openai"));
  const Output set = Set(kSecretValue);
  ASSERT_EQ(set.exit_code, 0) << set.err;
  cluster_.StartWorker("w1");

  const Output works = Submit("works");
  EXPECT_EQ(works.exit_code, 0) << works.out << works.err;
  const std::string stars(std::string(kSecretValue).size(), '*');
  EXPECT_THAT(cluster_.Concur({"job", "logs", "s1/0"}).out,
              AllOf(HasSubstr(absl::StrCat("begin ", stars, " end")), HasSubstr("length 20")));
  EXPECT_EQ(Submit("fail").exit_code, 5);
  EXPECT_THAT(cluster_.Concur({"sweep", "failures", "s2"}).out,
              HasSubstr(absl::StrCat("refused: ", stars)));

  // A restart, and every answer that people get.
  cluster_.KillCoordinator(SIGKILL);
  cluster_.StartCoordinator();
  std::string all = works.out + works.err;
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"-o", "json", "sweep", "get", "s1"},
           {"-o", "json", "job", "get", "s2/0"},
           {"job", "explain", "s1/0"},
           {"-o", "json", "job", "list", "s2"},
           {"-o", "json", "secret", "list"},
           {"-o", "json", "audit"},
           {"bundle", "write", "s1", "--out", cluster_.File("bundle")}}) {
    const Output output = cluster_.Concur(command);
    EXPECT_EQ(output.exit_code, 0) << command[1] << output.err;
    all += output.out + output.err;
  }
  EXPECT_THAT(all, AllOf(HasSubstr("openai"), Not(HasSubstr(kSecretValue))));
  cluster_.KillWorker("w1", SIGKILL);  // else its files come and go
  EXPECT_THAT(FilesWith(cluster_.dir().path(), kSecretValue), ElementsAre("secrets.json"));

  // Deleted while a sweep needs it: the job says so, and runs once it is set again.
  cluster_.StartWorker("w1");
  ASSERT_EQ(cluster_.Concur({"secret", "delete", "openai"}).exit_code, 0);
  EXPECT_EQ(cluster_.Concur({"sweep", "retry", "s2"}).exit_code, 0);
  EXPECT_EQ(cluster_.Concur({"sweep", "wait", "s2"}).exit_code, 5);
  EXPECT_THAT(cluster_.Concur({"sweep", "failures", "s2"}).out,
              HasSubstr("has no secret \"openai\""));
}

}  // namespace
}  // namespace concur::testing
