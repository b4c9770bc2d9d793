// SPDX-License-Identifier: Apache-2.0
// .eval files of Inspect: zip archives that hold a log in parts.

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "qa/results/import.h"
#include "tests/qa/results/import_fixture.h"
#include "tests/testing/shared_data.h"
#include "tests/testing/test.h"
#include "tests/testing/zip_builder.h"

namespace concur::imports {
namespace {

using ::concur::testing::ZipBuilder;

constexpr char kHeader[] = R"({"version": 2, "status": "success",
  "eval": {"eval_id": "e1", "task": "arc", "model": "org/m", "created": "2025"},
  "results": {"completed_samples": 2, "scores": [{"name": "choice", "metrics":
     {"stderr": {"value": 0.2}, "accuracy": {"value": 0.75}}}]},
  "stats": {"started_at": "2025-01-01T00:00:00+00:00",
            "completed_at": "2025-01-01T00:01:00+00:00"}})";

std::string Sample(const std::string& id, int epoch, const std::string& letter) {
  return absl::StrCat(R"({"id": ")", id, R"(", "epoch": )", epoch,
                      R"(, "scores": {"choice": {"value": ")", letter, R"("}}})");
}

class InspectTest : public ImportFixture {
 protected:
  absl::StatusOr<ImportedResults> ImportZip(const ZipBuilder& zip) {
    return ImportAs("inspect", {Write("log.eval", zip.Build())});
  }
};

TEST_F(InspectTest, AMetricMayBeAskedForWithoutItsOnlyScorer) {
  ZipBuilder zip;
  zip.Add("header.json", kHeader);
  request_.metrics = {"accuracy"};
  ASSERT_OK_AND_ASSIGN(const ImportedResults results, ImportZip(zip));
  EXPECT_EQ(results.runs[0].run.metrics[0].name, "choice/accuracy");
  request_.metrics = {"curacy"};
  EXPECT_THAT(ImportZip(zip), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("no score has the metric \"curacy\"")));
}

TEST_F(InspectTest, AnEvalFileIsReadFromItsHeaderAndSummaries) {
  ZipBuilder zip;
  zip.Add("_journal/start.json", "{}")
      .Add("samples/1_epoch_1.json", "not read where there are summaries")
      .Add("_journal/summaries/1.json", "[]")
      .Add("summaries.json", absl::StrCat("[", Sample("1", 1, "C"), ",", Sample("x", 1, "P"), "]"))
      .Add("header.json", kHeader);
  const auto results = ImportZip(zip);
  ASSERT_TRUE(results.ok()) << results.status();
  const imports::Run* const run = RunOf(*results, "org/m", "arc");
  ASSERT_NE(run, nullptr);
  ASSERT_THAT(run->metrics, SizeIs(1));
  EXPECT_EQ(run->metrics[0].value, 0.75);
  EXPECT_EQ(run->metrics[0].standard_error, 0.2);
  EXPECT_EQ(run->metrics[0].examples, 2);
  EXPECT_EQ(run->seconds, 60);
  EXPECT_EQ(run->repeat, "2025");
  ASSERT_THAT(run->examples, SizeIs(2));
  EXPECT_EQ(run->examples[0].id, "1");
  EXPECT_EQ(run->examples[0].value, 1);
  EXPECT_EQ(run->examples[1].id, "x");
  EXPECT_EQ(run->examples[1].value, 0.5);
  EXPECT_EQ(results->models[0].tags.at("family"), "org");
  EXPECT_EQ(results->files[0].digest, DigestFile(dir_.File("log.eval"))->digest);
  EXPECT_THAT(results->skipped, IsEmpty());
}

TEST_F(InspectTest, SamplesAreReadWhereThereAreNoSummaries) {
  ZipBuilder zip;
  zip.Add("samples/../../1_epoch_1.json", Sample("1", 1, "C"), ZipBuilder::kStored)
      .Add("samples/1_epoch_2.json", Sample("1", 2, "I"))
      .Add("samples/\xc3\xa9_epoch_1.json", Sample("\xc3\xa9", 1, "C"))
      .Add("reductions.json", "[]")
      .Add("header.json", kHeader);
  const auto results = ImportZip(zip);
  ASSERT_TRUE(results.ok()) << results.status();
  const imports::Run* const run = RunOf(*results, "org/m", "arc");
  ASSERT_THAT(run->examples, SizeIs(2));
  EXPECT_EQ(run->examples[0].id, "1");
  EXPECT_EQ(run->examples[0].value, 0.5) << "the mean of its epochs";
  EXPECT_EQ(run->examples[1].id, "\xc3\xa9");
}

// Inspect packs with Zstandard since 2026.
TEST_F(InspectTest, EntriesPackedWithZstandardAreRead) {
  ZipBuilder zip;
  zip.Add("header.json", kHeader, ZipBuilder::kZstd);
  const auto results = ImportZip(zip);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(Score(*results, "org/m", "arc"), 0.75);
}

TEST_F(InspectTest, ALogThatIsThereInBothFormsCountsOnce) {
  Write("logs/b.json", kHeader);
  ZipBuilder zip;
  zip.Add("header.json", kHeader);
  Write("logs/a.eval", zip.Build());
  const auto results = ImportAs("inspect", {dir_.File("logs")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->seeds, 1);
  ASSERT_THAT(results->files, SizeIs(1));
  EXPECT_THAT(results->files[0].path, EndsWith("a.eval"));
  EXPECT_EQ(SkippedOf(*results, "a file of the same evaluation as another"), 1);
}

TEST_F(InspectTest, AnEpochOfASampleThatComesTwiceCostsTheExamples) {
  ZipBuilder zip;
  zip.Add("header.json", kHeader)
      .Add("samples/1_epoch_1.json", Sample("1", 1, "C"))
      .Add("samples/1_epoch_1.json", Sample("1", 1, "C"))
      .Add("samples/2_epoch_1.json", Sample("2", 1, "P"));
  const auto results = ImportZip(zip);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(Score(*results, "org/m", "arc"), 0.75);
  EXPECT_THAT(RunOf(*results, "org/m", "arc")->examples, IsEmpty());
  EXPECT_EQ(SkippedOf(*results, "per-example scores with an epoch of a sample twice"), 1);
}

TEST_F(InspectTest, AnUnfinishedEvaluationIsCounted) {
  ZipBuilder zip;
  zip.Add("_journal/start.json", "{}").Add("samples/1_epoch_1.json", Sample("1", 1, "C"));
  EXPECT_THAT(ImportZip(zip), StatusIs(absl::StatusCode::kInvalidArgument,
                                       AllOf(HasSubstr("an evaluation with status started: 1"),
                                             HasSubstr("log.eval"))));
}

TEST_F(InspectTest, BrokenArchivesAreErrorsThatNameFileAndEntry) {
  const std::string good = ZipBuilder().Add("header.json", kHeader).Build();
  const std::string header(kHeader);
  const std::string of_version_9 = "{\n\"version\": 9," + header.substr(header.find("\"status\""));
  struct Case {
    const char* name;
    std::string bytes;
    const char* message;
  };
  for (const Case& wrong : std::vector<Case>{
           {"empty", "", ": expected a whole zip archive: "},
           {"json", kHeader, ": expected a whole zip archive: "},
           {"cut", good.substr(0, good.size() / 2), ": expected a whole zip archive: "},
           {"no-header", ZipBuilder().Add("samples/1.json", "{}").Build(),
            ": header.json: expected this entry"},
           {"folder", ZipBuilder().Add("logs/header.json", kHeader).Build(),
            ": header.json: expected this entry"},
           {"header-twice",
            ZipBuilder().Add("header.json", kHeader).Add("header.json", kHeader).Build(),
            ": header.json: expected once, the archive has it twice"},
           {"summaries-twice",
            ZipBuilder()
                .Add("header.json", kHeader)
                .Add("summaries.json", "[]")
                .Add("summaries.json", "[]")
                .Build(),
            ": summaries.json: expected once, the archive has it twice"},
           {"no-json", ZipBuilder().Add("header.json", "{\n\"version\": 2,\n]").Build(),
            ": header.json:"},
           {"list", ZipBuilder().Add("header.json", "[2]").Build(),
            ": header.json: eval: expected an object, as in a log of Inspect, got nothing"},
           {"version", ZipBuilder().Add("header.json", of_version_9).Build(),
            ": header.json: version: expected 1, 2 or 3, the versions that are known, got 9"},
           {"summaries",
            ZipBuilder().Add("header.json", kHeader).Add("summaries.json", "{}").Build(),
            ": summaries.json: the document: expected a list of samples, got an object"},
           {"sample",
            ZipBuilder().Add("header.json", kHeader).Add("samples/7_epoch_1.json", "{").Build(),
            ": samples/7_epoch_1.json:"},
           {"checksum",
            ZipBuilder()
                .AddPacked("header.json", kHeader, ZipBuilder::kStored, header.size(), 1)
                .Build(),
            ": header.json: cannot be unpacked: ZIP bad CRC"},
           {"deflate",
            ZipBuilder()
                .AddPacked("header.json", kHeader, ZipBuilder::kDeflated, header.size(), 1)
                .Build(),
            ": header.json: cannot be unpacked: "},
           {"encrypted",
            ZipBuilder()
                .AddPacked("header.json", kHeader, ZipBuilder::kStored, header.size(), 1, 1)
                .Build(),
            ": header.json: cannot be unpacked: "},
           {"method", ZipBuilder().AddPacked("header.json", kHeader, 94, header.size(), 1).Build(),
            "; inspect log convert FILE --to json --output-dir DIR makes a log to read"}}) {
    const std::string file = absl::StrCat(wrong.name, ".eval");
    EXPECT_THAT(ImportAs("inspect", {Write(file, wrong.bytes)}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(file), HasSubstr(wrong.message))))
        << wrong.name;
  }
}

TEST_F(InspectTest, AnArchiveCutAnywhereIsRefused) {
  const std::string good = ZipBuilder()
                               .Add("samples/1_epoch_1.json", Sample("1", 1, "C"))
                               .Add("header.json", kHeader)
                               .Build();
  for (size_t size = 0; size < good.size(); size += 17) {
    EXPECT_THAT(ImportAs("inspect", {Write("cut.eval", good.substr(0, size))}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cut.eval: ")))
        << size;
  }
}

TEST_F(InspectTest, RealLogsSayTheSameInBothForms) {
  for (const char* name : {"data_arc_qwen.json", "data_pubmedqa_gpt4o_mini.json",
                           "data_cyse2_vuln_exploit_challenges.json"}) {
    CONCUR_SHARED_DATA_OR_SKIP(path, absl::StrCat("leaderboards/every-eval-ever/inspect/", name));
    auto log = nlohmann::ordered_json::parse(*ReadFile(path));
    ZipBuilder zip;
    for (const auto& sample : log["samples"]) {
      zip.Add(absl::StrCat("samples/", sample["id"].dump(), "_epoch_1.json"), sample.dump());
    }
    log.erase("samples");
    zip.Add("header.json", log.dump());
    const auto json = ImportAs("inspect", {path});
    const auto eval = ImportZip(zip);
    ASSERT_TRUE(json.ok() && eval.ok()) << json.status() << eval.status();
    const imports::Run& a = json->runs[0].run;
    const imports::Run& b = eval->runs[0].run;
    EXPECT_EQ(Names(json->models), Names(eval->models));
    EXPECT_EQ(Names(json->tasks), Names(eval->tasks));
    EXPECT_EQ(a.metrics[0].value, b.metrics[0].value) << name;
    EXPECT_EQ(a.tokens, b.tokens) << name;
    ASSERT_EQ(a.examples.size(), b.examples.size()) << name;
    for (size_t i = 0; i < a.examples.size(); ++i) {
      EXPECT_EQ(a.examples[i].id, b.examples[i].id) << name;
      EXPECT_EQ(a.examples[i].value, b.examples[i].value) << name;
    }
  }
}

}  // namespace
}  // namespace concur::imports
