// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/content_key.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::concur::testing::AddStages;
using ::concur::testing::AddValidationSet;
using ::concur::testing::Benchmark;
using ::concur::testing::FileOf;
using ::concur::testing::SmallSweep;
using ::concur::testing::TrainedApproach;

// Keys of all jobs by description.
std::map<std::string, Digest> KeysOf(const SweepSpec& spec) {
  absl::StatusOr<Expansion> expansion = Expansion::Make(spec);
  CONCUR_CHECK_OK(expansion.status());
  const ContentKeys keys(*expansion);
  std::map<std::string, Digest> by_name;
  for (uint32_t job = 0; job < expansion->job_count(); ++job) {
    by_name[expansion->Describe(job)] = keys.KeyOf(job);
  }
  return by_name;
}

struct FileText {
  const char* path;
  const char* text;
  bool is_executable;
};

Code CodeOf(const std::vector<FileText>& files) {
  std::vector<CodeFile> code;
  for (const FileText& file : files) {
    code.push_back({file.path, Sha256Of(file.text), 1, file.is_executable});
  }
  return MakeCode(Digest(), 1, std::move(code));
}

struct Change {
  const char* name;
  std::function<void(SweepSpec&)> apply;
};

// The environment of the first approach, made if need be.
Environment& EnvironmentOf(SweepSpec& spec) {
  std::optional<Environment>& environment = spec.approaches[0].environment;
  return environment ? *environment : environment.emplace();
}

TEST(ContentKeyTest, TheKeyOfAStageCoversTheWholeChainBeforeIt) {
  const std::string kStage = "b on x, setting 1, seed 1";
  SweepSpec spec = SmallSweep();
  spec.approaches.push_back(TrainedApproach("b"));
  AddStages(&spec, "t", /*chain=*/true);  // b from a, a from p
  const auto before = KeysOf(spec);
  const std::vector<Change> changes = {
      {"version", [](SweepSpec& s) { s.approaches[3].version = "2"; }},
      {"command", [](SweepSpec& s) { s.approaches[3].train_command[1] = "other"; }},
      {"default", [](SweepSpec& s) { s.approaches[3].hyperparameters.defaults["lr"] = 0.2; }},
      {"text", [](SweepSpec& s) { s.benchmarks[3].train = FileOf("new"); }},
      {"another text", [](SweepSpec& s) { s.approaches[0].train_from->train_set.reset(); }},
      {"version in between", [](SweepSpec& s) { s.approaches[0].version = "2"; }},
  };
  std::set<Digest> distinct = {before.at(kStage), before.at("b on x, setting 1, seed 2")};
  for (const Change& change : changes) {
    SweepSpec changed = spec;
    change.apply(changed);
    EXPECT_TRUE(distinct.insert(KeysOf(changed).at(kStage)).second) << change.name;
  }
  SweepSpec renamed = spec;
  renamed.approaches[3].name = "q";
  renamed.benchmarks[3].name = renamed.train_sets[2].name = "u";
  EXPECT_EQ(KeysOf(renamed).at(kStage), before.at(kStage));
  // A source that a system starts from is not what it is evaluated on.
  EXPECT_EQ(KeysOf(spec).at("r, setting 0, seed 1, evaluated on x"),
            KeysOf(SmallSweep()).at("r, setting 0, seed 1, evaluated on x"));
  const absl::StatusOr<Expansion> expansion = Expansion::Make(spec);
  CONCUR_CHECK_OK(expansion.status());
  std::vector<std::string> names;
  for (const auto& [name, value] : ContentKeys(*expansion).FieldsOf(0)) {
    names.push_back(name);
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf({"train_from approach version",
                                              "train_from train data 1", "train_from setting lr"}));
}

TEST(ContentKeyTest, WhateverChangesTheResultChangesTheKey) {
  const std::string kTrain = "a on x, setting 0, seed 1";
  const std::string kEval = "a on x, setting 0, seed 1, evaluated on x";
  const std::vector<Change> train_changes = {
      {"version", [](SweepSpec& s) { s.approaches[0].version = "2"; }},
      {"train command", [](SweepSpec& s) { s.approaches[0].train_command[1] = "other"; }},
      {"split argument",
       [](SweepSpec& s) {
         s.approaches[0].train_command = {"learna", "", "{train}", "{model}", "{hp.lr}", "{seed}"};
       }},
      {"environment", [](SweepSpec& s) { s.approaches[0].env["A"] = "1"; }},
      {"code",
       [](SweepSpec& s) {
         s.approaches[0].code = CodeOf({{"a.py", "1", false}});
       }},
      {"contents of code",
       [](SweepSpec& s) {
         s.approaches[0].code = CodeOf({{"a.py", "2", false}});
       }},
      {"executable",
       [](SweepSpec& s) {
         s.approaches[0].code = CodeOf({{"a.py", "1", true}});
       }},
      {"file of another name",
       [](SweepSpec& s) {
         s.approaches[0].code = CodeOf({{"b.py", "1", false}});
       }},
      {"second file",
       [](SweepSpec& s) {
         s.approaches[0].code = CodeOf({{"a.py", "1", false}, {"b.py", "", false}});
       }},
      {"train program", [](SweepSpec& s) { s.approaches[0].train_program = Sha256Of("1"); }},
      {"root", [](SweepSpec& s) { EnvironmentOf(s).digest = Sha256Of("a"); }},
      {"contents of the root", [](SweepSpec& s) { EnvironmentOf(s).digest = Sha256Of("b"); }},
      {"the same file as another kind",
       [](SweepSpec& s) {
         EnvironmentOf(s).kind = EnvironmentKind::kImage;
         EnvironmentOf(s).digest = Sha256Of("a");
       }},
      {"setup line",
       [](SweepSpec& s) {
         EnvironmentOf(s).digest = Sha256Of("a");
         EnvironmentOf(s).setup = {"true"};
       }},
      {"image of a registry",
       [](SweepSpec& s) {
         EnvironmentOf(s).kind = EnvironmentKind::kImage;
         EnvironmentOf(s).reference = "a@sha256:" + Sha256Of("a").ToHex();
       }},
      {"python",
       [](SweepSpec& s) {
         EnvironmentOf(s).kind = EnvironmentKind::kVenv;
         EnvironmentOf(s).digest = Sha256Of("a");
         EnvironmentOf(s).python = "python3.11";
       }},
      {"default", [](SweepSpec& s) { s.approaches[0].hyperparameters.defaults["lr"] = 0.2; }},
      {"data", [](SweepSpec& s) { s.benchmarks[0].train = FileOf("new"); }},
      {"cap", [](SweepSpec& s) { s.train_sets[0].parts[0].examples_max = 10; }},
      {"mixture",
       [](SweepSpec& s) {
         s.train_sets[0].parts.push_back({1, 0});
       }},
  };
  const auto before = KeysOf(SmallSweep());
  std::set<Digest> distinct;
  for (const Change& change : train_changes) {
    SweepSpec spec = SmallSweep();
    change.apply(spec);
    const auto after = KeysOf(spec);
    EXPECT_NE(after.at(kTrain), before.at(kTrain)) << change.name;
    EXPECT_TRUE(distinct.insert(after.at(kTrain)).second) << change.name;
    EXPECT_NE(after.at(kEval), before.at(kEval)) << change.name;
  }
  const std::vector<Change> eval_changes = {
      {"predict command", [](SweepSpec& s) { s.approaches[0].predict_command.push_back("-v"); }},
      {"predict program", [](SweepSpec& s) { s.approaches[0].predict_program = Sha256Of("1"); }},
      {"code of predict alone",
       [](SweepSpec& s) {
         s.approaches[0].predict_code = CodeOf({{"a.py", "1", false}});
       }},
      {"test data", [](SweepSpec& s) { s.benchmarks[0].test = FileOf("new"); }},
      {"metric", [](SweepSpec& s) { s.benchmarks[0].metric = "f1"; }},
      {"format", [](SweepSpec& s) { s.benchmarks[0].format = DataFormat::kFile; }},
      {"variants", [](SweepSpec& s) { s.benchmarks[0].format = DataFormat::kQaVariants; }},
      {"parameters",
       [](SweepSpec& s) {
         s.benchmarks[0].parameters = {{"task", "mmlu"}};
       }},
  };
  for (const Change& change : eval_changes) {
    SweepSpec spec = SmallSweep();
    change.apply(spec);
    const auto after = KeysOf(spec);
    EXPECT_EQ(after.at(kTrain), before.at(kTrain)) << change.name;
    EXPECT_NE(after.at(kEval), before.at(kEval)) << change.name;
  }
}

TEST(ContentKeyTest, AChosenSettingHasTheKeyOfASampledOneAndOneThatIsNotChosenNobodys) {
  SweepSpec sampled = SmallSweep();
  AddValidationSet(0, &sampled);
  AddValidationSet(1, &sampled);
  SweepSpec searched = sampled;
  searched.search = SearchSpec{.parallel = 2};
  searched.search->proposals = {
      {0, 2, SampleSetting(sampled.approaches[0].hyperparameters, 0, "a", 2)}};
  const std::map<std::string, Digest> keys = KeysOf(searched);
  std::set<Digest> different;
  for (const auto& [name, key] : keys) {
    different.insert(key);
  }
  EXPECT_EQ(different.size(), keys.size());
  for (const auto& [name, key] : KeysOf(sampled)) {
    const bool is_chosen = name.find("setting 0") != std::string::npos ||
                           name.find("a on x, setting 2") != std::string::npos;
    EXPECT_EQ(keys.at(name) == key, is_chosen) << name;
  }
}

TEST(ContentKeyTest, AGoalThatIsCorrectedRunsNothingAgain) {
  SweepSpec spec = SmallSweep();
  spec.benchmarks[0].format = DataFormat::kFile;
  spec.benchmarks[0].metric = "perplexity";
  const auto before = KeysOf(spec);
  spec.benchmarks[0].meaning = {Goal::kMinimize, Scale{Scale::Kind::kNone}};
  EXPECT_EQ(KeysOf(spec), before);
}

TEST(ContentKeyTest, WhateverDoesNotChangeTheResultKeepsTheKey) {
  SweepSpec spec = SmallSweep();
  spec.name = "other";
  spec.priority = 7;
  spec.approaches[0].train_resources.gpus = 1;
  spec.approaches[0].train_timeout = absl::Hours(1);
  spec.approaches[0].train_labels = {{"gpu", "a100"}};
  spec.approaches[0].predict_labels = {{"disk", "fast"}};
  spec.benchmarks[0].labels = {{"vault", "yes"}};
  spec.benchmarks[0].meaning.scale.kind = Scale::Kind::kPercent;
  spec.approaches[0].tags = {{"kind", "neural"}};
  spec.approaches[0].rerun = true;
  spec.approaches.insert(spec.approaches.begin(), TrainedApproach("first"));
  spec.benchmarks.push_back(Benchmark("w"));
  spec.benchmarks[0].train->path = "/elsewhere";
  spec.train_sets[0].seed = 99;  // seed of a plain train set: without effect
  spec.random_settings = 9;
  spec.seeds = {2, 5, 1};
  spec.keep.systems = false;
  const auto before = KeysOf(SmallSweep());
  const auto after = KeysOf(spec);
  for (const auto& [name, key] : before) {
    if (name.find("setting 0") != std::string::npos) {
      EXPECT_EQ(after.at(name), key) << name;
    }
  }
}

TEST(ContentKeyTest, ARenamedBenchmarkKeepsItsResults) {
  SweepSpec spec = SmallSweep();
  spec.benchmarks[0].name = "renamed";
  spec.train_sets[0].name = "renamed";
  EXPECT_EQ(KeysOf(spec).at("a on renamed, setting 0, seed 1, evaluated on renamed"),
            KeysOf(SmallSweep()).at("a on x, setting 0, seed 1, evaluated on x"));
}

// Two keys were equal although the sample differed: its stream bears the benchmark's name.
TEST(ContentKeyTest, TheNamesInAMixtureArePartOfItsKey) {
  SweepSpec spec = SmallSweep();
  spec.train_sets = {TrainSet{"both", {{0, 0}, {1, 100}}, 1, {}}};
  SweepSpec other = spec;
  other.benchmarks[1].name = "renamed";
  EXPECT_NE(KeysOf(spec).at("a on both, setting 0, seed 1"),
            KeysOf(other).at("a on both, setting 0, seed 1"));
}

TEST(ContentKeyTest, AValidationSetThatNoCommandReadsRunsNothingAgain) {
  SweepSpec spec = SmallSweep();
  AddValidationSet(0, &spec);
  AddValidationSet(1, &spec);
  spec.select = Selection::kBestOnTest;
  const auto after = KeysOf(spec);
  for (const auto& [name, key] : KeysOf(SmallSweep())) {
    EXPECT_EQ(after.at(name), key) << name;
  }
}

TEST(ContentKeyTest, ValidationDataThatTheTrainCommandReadsArePartOfItsKey) {
  const std::string kTrain = "a on both, setting 0, seed 1";
  SweepSpec spec = SmallSweep();
  spec.train_sets = {TrainSet{"both", {{0, 0}, {1, 0}}, 1, {}}};
  spec.approaches[0].train_command.emplace_back("{validation}");
  AddValidationSet(0, &spec);
  std::set<Digest> keys = {KeysOf(spec).at(kTrain)};
  SweepSpec other = spec;
  other.benchmarks[3].test = FileOf("another");
  EXPECT_TRUE(keys.insert(KeysOf(other).at(kTrain)).second) << "other data";
  other = spec;
  other.benchmarks[3].name = "renamed";
  EXPECT_FALSE(keys.insert(KeysOf(other).at(kTrain)).second) << "one set alone is not mixed";
  AddValidationSet(1, &spec);
  EXPECT_TRUE(keys.insert(KeysOf(spec).at(kTrain)).second) << "a second set";
  other = spec;
  other.benchmarks[3].name = "renamed";
  EXPECT_TRUE(keys.insert(KeysOf(other).at(kTrain)).second) << "a mixture's streams bear names";
  absl::StatusOr<Expansion> expansion = Expansion::Make(spec);
  ASSERT_OK(expansion.status());
  EXPECT_THAT(
      ContentKeys(*expansion).FieldsOf(0),
      Contains(std::make_pair(std::string("validation data 2"),
                              FileOf("y.validation").digest.ToHex() + ", as y.validation")));
}

// The same bytes as a.jsonl and as a.tsv shared a result, although the command saw test.tsv.
TEST(ContentKeyTest, TheSuffixThatACommandSeesIsPartOfItsKey) {
  const std::string kTrain = "a on x, setting 0, seed 1";
  const std::string kEval = "a on x, setting 0, seed 1, evaluated on x";
  SweepSpec spec = SmallSweep();
  spec.approaches[0].train_command.emplace_back("{validation}");
  AddValidationSet(0, &spec);
  AddValidationSet(1, &spec);
  const auto before = KeysOf(spec);
  std::set<Digest> train_keys = {before.at(kTrain)};
  std::set<Digest> eval_keys = {before.at(kEval)};
  for (const char* suffix : {"", ".tsv", ".jsonl.gz"}) {
    for (DataFile* file : {&*spec.benchmarks[0].train, &*spec.benchmarks[3].test}) {
      file->suffix = suffix;
      EXPECT_TRUE(train_keys.insert(KeysOf(spec).at(kTrain)).second) << suffix;
      file->suffix = ".jsonl";
    }
    spec.benchmarks[0].test->suffix = suffix;
    EXPECT_EQ(KeysOf(spec).at(kTrain), before.at(kTrain)) << suffix;
    EXPECT_TRUE(eval_keys.insert(KeysOf(spec).at(kEval)).second) << suffix;
    spec.benchmarks[0].test->suffix = ".jsonl";
  }
  spec.benchmarks[0].test->suffix = ".tsv";
  const absl::StatusOr<Expansion> expansion = Expansion::Make(spec);
  ASSERT_OK(expansion.status());
  EXPECT_THAT(ContentKeys(*expansion).FieldsOf(1),
              Contains(std::make_pair(std::string("test data"),
                                      FileOf("x-test").digest.ToHex() + ", as test.tsv")));
}

// A mixture is a file of lines whatever its parts are.
TEST(ContentKeyTest, TheSuffixesOfAMixturesPartsRunNothingAgain) {
  SweepSpec spec = SmallSweep();
  spec.train_sets = {TrainSet{"both", {{0, 0}, {1, 100}}, 1, {}}};
  SweepSpec other = spec;
  other.benchmarks[0].train->suffix = ".json";
  EXPECT_EQ(KeysOf(spec).at("a on both, setting 0, seed 1"),
            KeysOf(other).at("a on both, setting 0, seed 1"));
}

TEST(ContentKeyTest, TheSeedOfAMixtureIsPartOfItsKey) {
  SweepSpec spec = SmallSweep();
  spec.train_sets = {TrainSet{"both", {{0, 0}, {1, 100}}, 1, {}}};
  SweepSpec other = spec;
  other.train_sets[0].seed = 2;
  EXPECT_NE(KeysOf(spec).at("a on both, setting 0, seed 1"),
            KeysOf(other).at("a on both, setting 0, seed 1"));
}

TEST(ContentKeyTest, JobsOfOneSweepHaveDifferentKeys) {
  const auto keys = KeysOf(SmallSweep());
  std::set<Digest> distinct;
  for (const auto& [name, key] : keys) {
    distinct.insert(key);
  }
  EXPECT_EQ(distinct.size(), keys.size());
}

TEST(ContentKeyTest, TheFieldsOfAJobTellWhatItsKeyIsMadeOf) {
  absl::StatusOr<Expansion> expansion = Expansion::Make(SmallSweep());
  ASSERT_TRUE(expansion.ok());
  const ContentKeys keys(*expansion);
  const auto fields = keys.FieldsOf(1);
  const auto has = [&](const std::string& name, const std::string& value) {
    return std::find(fields.begin(), fields.end(), std::make_pair(name, value)) != fields.end();
  };
  EXPECT_TRUE(has("approach version", "1"));
  EXPECT_TRUE(has("setting lr", "0.1"));
  EXPECT_TRUE(has("seed", "1"));
  EXPECT_TRUE(has("train data 1", FileOf("x-train").digest.ToHex()));
  EXPECT_TRUE(has("test data", FileOf("x-test").digest.ToHex()));
  EXPECT_TRUE(has("metric", "exact_match"));
  EXPECT_TRUE(has("scorer version", kScorerVersion));
}

// Guards promise P3 over releases: finished cells must be found again.
TEST(ContentKeyTest, KeysAreTheSameOnEveryMachine) {
  const auto keys = KeysOf(SmallSweep());
  EXPECT_EQ(keys.at("a on x, setting 0, seed 1").ToHex(),
            "c7580b78140f090909fdda4968e21abb2198fa313e4616c8050ae30bd44ff74f");
  EXPECT_EQ(keys.at("a on x, setting 0, seed 1, evaluated on x").ToHex(),
            "c89cbaeffd98bf1794092d786c3c0449c0e99354c29ed96a2c3ba36b225e6c79");
}

// 3.1 and 3.10 reach a command as different texts, and "3.1" as the same one as 3.1.
TEST(ContentKeyTest, AValueCountsAsTheCommandSeesIt) {
  const auto with = [](const ParamValue& value) {
    SweepSpec spec = SmallSweep();
    spec.approaches[0].hyperparameters.defaults["release"] = value;
    return KeysOf(spec);
  };
  EXPECT_NE(with(WrittenNumber{"3.10"}), with(3.1));
  EXPECT_EQ(with(NumberWrittenAs(3.1, "3.1")), with(3.1));
  EXPECT_EQ(with(std::string("3.1")), with(3.1));
}

// The same files may be packed otherwise by another version of the library.
TEST(ContentKeyTest, HowCodeWasPackedChangesNoKey) {
  SweepSpec spec = SmallSweep();
  spec.approaches[0].code = CodeOf({{"a.py", "1", false}});
  SweepSpec other = spec;
  other.approaches[0].code->digest = Sha256Of("another tar");
  other.approaches[0].code->bytes = 99;
  EXPECT_EQ(KeysOf(spec), KeysOf(other));
}

TEST(ContentKeyTest, AServiceIsPartOfTheKeysOfEvalJobsByItsProgramAlone) {
  const std::string kTrain = "a on x, setting 0, seed 1";
  const std::string kEval = "a on x, setting 0, seed 1, evaluated on x";
  SweepSpec spec = SmallSweep();
  ServiceSpec service;
  service.command = {"serve", "{port}"};
  const auto before = KeysOf(spec);
  spec.approaches[0].service = service;
  spec.approaches[0].predict_command.emplace_back("{service.url}");
  const auto keys = KeysOf(spec);
  EXPECT_EQ(keys.at(kTrain), before.at(kTrain));
  spec.approaches[0].service->idle = absl::Hours(1);
  spec.approaches[0].service->resources.gpus = 8;
  spec.approaches[0].service->ready_http = "/health";
  EXPECT_EQ(KeysOf(spec), keys);
  spec.approaches[0].service->command = {"other", "{port}"};
  EXPECT_NE(KeysOf(spec).at(kEval), keys.at(kEval));
  spec.approaches[0].service->command = service.command;
  spec.approaches[0].service->program = Sha256Of("edited");
  EXPECT_NE(KeysOf(spec).at(kEval), keys.at(kEval));
}

TEST(ContentKeyTest, CellsShareAServiceUnlessItReadsWhatTheyDifferIn) {
  SweepSpec spec = SmallSweep();
  const auto services_with = [&](const std::vector<std::string>& command) {
    spec.approaches[0].service = ServiceSpec();
    spec.approaches[0].service->command = command;
    const absl::StatusOr<Expansion> expansion = Expansion::Make(spec);
    CONCUR_CHECK_OK(expansion.status());
    const ContentKeys keys(*expansion);
    std::set<Digest> all;
    for (uint32_t job = 0; job < expansion->job_count(); ++job) {
      const JobCoordinates at = expansion->Locate(job);
      if (!at.is_train && expansion->blocks()[at.block].approach == 0) {
        all.insert(keys.ServiceKeyOf(job));
      }
    }
    return all.size();
  };
  // Three settings, two seeds, trained on two sets.
  EXPECT_EQ(services_with({"serve", "{port}"}), 3u);
  EXPECT_EQ(services_with({"serve", "{port}", "{seed}"}), 6u);
  EXPECT_EQ(services_with({"serve", "{port}", "{model}"}), 12u);
}

TEST(ContentKeyTest, SecretsChangeNoKey) {
  SweepSpec spec = SmallSweep();
  SweepSpec other = spec;
  other.approaches[0].secrets["KEY"] = "openai";
  EXPECT_EQ(KeysOf(spec), KeysOf(other));
}

TEST(ContentKeyTest, WhereAnEnvironmentsFileLayChangesNoKey) {
  SweepSpec spec = SmallSweep();
  EnvironmentOf(spec).digest = Sha256Of("a");
  EnvironmentOf(spec).path = "/here/root.tar";
  SweepSpec other = spec;
  other.approaches[0].environment->path = "/there/other.tar";
  other.approaches[0].environment->bytes = 99;
  EXPECT_EQ(KeysOf(spec), KeysOf(other));
}

TEST(CodeTest, FilesThatCannotLieInOneFolderAreRefused) {
  using ::testing::HasSubstr;
  const auto check = [](const std::vector<FileText>& files) {
    return CheckCode(FieldPath("code"), CodeOf(files));
  };
  EXPECT_OK(check({{"a", "", false}, {"a-b", "", false}, {"b/c", "", false}}));
  for (const char* path : {"", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a\nb"}) {
    EXPECT_THAT(check({{path, "", false}}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("code.files[0].path")))
        << path;
  }
  EXPECT_THAT(check({{"b", "", false}, {"a", "", false}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("order")));
  EXPECT_THAT(check({{"a", "", false}, {"a", "", false}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("order")));
  EXPECT_THAT(
      check({{"a", "", false}, {"a-b", "", false}, {"a/b", "", false}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"a\" is a file and a folder")));
  Code large = CodeOf({{"a", "", false}, {"b", "", false}});
  large.files[0].bytes = kCodeBytesMax;
  EXPECT_THAT(CheckCode(FieldPath("code"), large),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("code.files[1].size_bytes")));
  EXPECT_FALSE(
      CheckCode(FieldPath("code"), MakeCode(Digest(), 0, std::vector<CodeFile>(kCodeFilesMax + 1)))
          .ok());
}

TEST(CodeTest, DifferencesNameTheFiles) {
  EXPECT_THAT(CodeDifferences(
                  CodeOf({{"a.py", "1", false}, {"b.py", "1", true}, {"c.py", "1", false}}).files,
                  CodeOf({{"a.py", "2", false}, {"b.py", "1", false}, {"d.py", "1", false}}).files),
              ElementsAre("a.py (other contents)", "b.py (executable here)", "c.py (only here)",
                          "d.py (only there)"));
}

// Jobs of one kind: what fails on one worker can be compared with what succeeds on another.
TEST(ContentKeyTest, AKindIsTheContentWithoutSettingAndSeed) {
  SweepSpec spec = SmallSweep();
  spec.seeds = {1, 2};
  absl::StatusOr<Expansion> expansion = Expansion::Make(spec);
  CONCUR_CHECK_OK(expansion.status());
  const ContentKeys keys(*expansion);
  std::map<uint32_t, std::set<Digest>> kinds;  // keys by place in a cell
  for (uint32_t job = 0; job < expansion->job_count(); ++job) {
    kinds[expansion->Locate(job).kind].insert(keys.KindKeyOf(job));
  }
  std::set<Digest> all;
  for (const auto& [kind, digests] : kinds) {
    EXPECT_EQ(digests.size(), 1u);
    all.insert(digests.begin(), digests.end());
  }
  EXPECT_EQ(all.size(), kinds.size());
  spec.approaches[0].predict_command[0] = "mended";
  absl::StatusOr<Expansion> mended = Expansion::Make(spec);
  CONCUR_CHECK_OK(mended.status());
  const ContentKeys mended_keys(*mended);
  for (uint32_t job = 0; job < expansion->job_count(); ++job) {
    const bool same = expansion->Locate(job).is_train ||
                      expansion->blocks()[expansion->Locate(job).block].approach != 0;
    EXPECT_EQ(mended_keys.KindKeyOf(job) == keys.KindKeyOf(job), same) << expansion->Describe(job);
  }
}

}  // namespace
}  // namespace concur
