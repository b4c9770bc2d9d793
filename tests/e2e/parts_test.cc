// SPDX-License-Identifier: Apache-2.0
// A sweep of which one job gives the scores of several parts of a benchmark.
#include <signal.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// Lines of per-example scores: by part, a digit for each example.
std::string Examples(const std::map<std::string, std::string>& parts) {
  std::string lines;
  for (const auto& [part, right] : parts) {
    for (size_t i = 0; i < right.size(); ++i) {
      absl::StrAppend(&lines, "{\"id\": \"", i, "\", \"part\": \"", part,
                      "\", \"acc\": ", right.substr(i, 1), "}\n");
    }
  }
  return lines;
}

TEST(PartsEndToEndTest, OneJobFillsAColumnForEachPart) {
  Cluster cluster;
  const auto model = [&](const std::string& name, const std::string& metrics,
                         const std::map<std::string, std::string>& examples) {
    cluster.Write(absl::StrCat(name, ".json"), metrics);
    cluster.Write(absl::StrCat(name, ".jsonl"), Examples(examples));
    return absl::StrCat("    - metadata: {name: ", name, R"(}
      spec:
        version: "1"
        code: [)",
                        name, ".json, ", name, R"(.jsonl]
        predict:
          command: [sh, -c, 'if test "$0" = squad; then echo "{{\"acc\": 0.5}}" > "$1";
                    else cp "$3.json" "$1"; cp "$3.jsonl" "$2"; fi',
                    "{benchmark.task}", "{metrics}", "{examples}", "{code}/)",
                        name, "\"]\n");
  };
  cluster.Write(
      "sweep.yaml",
      absl::StrCat(
          "apiVersion: concur/v1\nkind: Sweep\nmetadata: {name: study}\nspec:\n  approaches:\n",
          model(
              "a",
              R"({"parts": {"art": {"acc": 1, "n": 2}, "law": {"acc": 0.5}, "math": {"acc": 0}}})",
              {{"art", "11"}, {"law", "10"}, {"math", "000"}}),
          model("b", R"({"acc": 0.6, "parts": {"art": {"acc": 0.5}, "law": {"acc": 1},
                         "math": {"acc": 1}}})",
                {{"art", "01"}, {"law", "11"}, {"math", "111"}}),
          model("c", R"({"parts": {"art": {"acc": 0.5}, "law": {"acc": 0}}})",
                {{"art", "10"}, {"law", "000"}}),
          R"(  benchmarks:
    - {metadata: {name: mmlu}, spec: {parameters: {task: mmlu}, metric: acc}}
    - {metadata: {name: squad}, spec: {parameters: {task: squad}, metric: acc}}
)"));
  cluster.StartCoordinator();
  cluster.StartWorker("w1");
  const Output run = cluster.RunSweep("sweep.yaml");
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const std::string table =
      "approach,mmlu/art,mmlu/law,mmlu/math,squad\n"
      "a,1,0.5,0,0.5\n"
      "b,0.5,1,1,0.5\n"
      "c,0.5,0,,0.5\n";
  EXPECT_EQ(cluster.Concur({"-o", "csv", "scores", "study"}).out, table);
  EXPECT_THAT(cluster.Concur({"scores", "study"}).out,
              AllOf(HasSubstr("c on mmlu/math; --columns mmlu"),
                    HasSubstr("1 part of mmlu has scores over different numbers of examples: on "
                              "mmlu/law a has 2, c 3")));
  EXPECT_THAT(cluster.Concur({"-o", "csv", "scores", "study", "--by-job"}).out,
              AllOf(HasSubstr("a,,mmlu,0,1,acc,0.5,"), HasSubstr("b,,mmlu,0,1,acc,0.6,"),
                    HasSubstr("c,,mmlu,0,1,acc,0.25,")));
  EXPECT_THAT(cluster.Concur({"-o", "csv", "matrix", "study", "--columns", "mmlu,squad"}).out,
              AllOf(HasSubstr("mmlu"), Not(HasSubstr("mmlu/"))));
  EXPECT_THAT(cluster.Concur({"-o", "csv", "rank", "study"}).out, HasSubstr("mmlu"));
  EXPECT_THAT(cluster.Concur({"job", "get", "s1/0"}).out,
              AllOf(HasSubstr("part art"), HasSubstr("acc 1.0000 over 2 examples")));
  const Output compared = cluster.Concur({"significance", "study", "--benchmark", "mmlu/math"});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("mmlu/math"));

  const std::string bundle = cluster.File("bundle");
  const Output written = cluster.Concur({"bundle", "write", "study", "--out", bundle});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  const Output verified = cluster.Concur({"bundle", "verify", bundle});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_EQ(cluster.Concur({"-o", "csv", "scores", bundle}).out, table);

  cluster.KillCoordinator(SIGKILL);
  cluster.StartCoordinator();
  EXPECT_EQ(cluster.Concur({"-o", "csv", "scores", "study"}).out, table) << "after a restart";
}

}  // namespace
}  // namespace concur::testing
