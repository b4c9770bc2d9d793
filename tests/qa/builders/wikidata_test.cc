// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "qa/builders/builder.h"
#include "qa/dataset_io.h"
#include "tests/testing/shared_data.h"
#include "tests/testing/test.h"

namespace concur::qa {
namespace {

// A world of 60 towns: each lies in one of six lands; town i twins town i+1; one town has no label.
class WikidataBuilderTest : public ::testing::Test {
 protected:
  WikidataBuilderTest() {
    std::string triples;
    std::string labels =
        "node1\tlabel\tnode2\tid\nP17\tlabel\t'lies in'@en\tx\n"
        "P190\tlabel\t'twins'@en\tx\nP99\tlabel\t'holds'@en\tx\n"
        "Q500\tlabel\t'the town\\'s kind'@en\tx\n";
    std::string ranks = "node1\tlabel\tnode2\tid\n";
    std::string kinds = "id\tnode1\tlabel\tnode2\n";
    for (int i = 0; i < 60; ++i) {
      absl::StrAppend(&triples, "Q", i, "\tP17\tQ", 100 + i % 6, "\nQ", i, "\tP190\tQ",
                      (i + 1) % 60, "\nQ", i, "\tP1000\tQ", i, "\n");
      if (i != 7) {
        absl::StrAppend(&labels, "Q", i, "\tlabel\t'town ", i, "'@en\tx\n");
      }
      absl::StrAppend(&ranks, "Q", i, "\tPundirected_pagerank\t0.0", 100 + i, "\tr", i, "\nr", i,
                      "\tP1545\t1\tz\n");
      absl::StrAppend(&kinds, "x\tQ", i, "\tP31\tQ500\n");
    }
    for (int i = 0; i < 6; ++i) {
      absl::StrAppend(&labels, "Q", 100 + i, "\tlabel\t'land ", i, "'@en\tx\n");
    }
    Write("triples", triples);
    Write("labels", labels);
    Write("aliases", "node1\tlabel\tnode2\nQ0\talias\t'old town'@en\nP17\talias\t'is in'@en\n");
    Write("pagerank", ranks);
    Write("kinds", kinds);
    Write("inverses", "P17\tP1696\tP99\nP190\tP1696\tP190\n");
  }

  void Write(const std::string& name, const std::string& contents) {
    EXPECT_OK(WriteFileAtomically(dir_.File(name), contents));
  }
  BuildRequest Request(std::map<std::string, std::string> parameters = {}) const {
    BuildRequest request;
    request.builder = "wikidata";
    request.directory = dir_.File("out");
    request.seed = 5;
    request.parameters = {{"graph", dir_.File("triples")},
                          {"labels", dir_.File("labels")},
                          {"train-questions", "60"},
                          {"test-questions", "30"}};
    for (auto& [name, value] : parameters) {
      request.parameters[name] = value;
    }
    return request;
  }
  Dataset BuildTrain(const BuildRequest& request) {
    EXPECT_OK(Build(request).status());
    absl::StatusOr<Dataset> set = ReadDataset(request.directory + "/train.jsonl");
    EXPECT_OK(set.status());
    return set.ok() ? *std::move(set) : Dataset();
  }
  std::map<std::string, std::string> AllFiles() const {
    return {{"aliases", dir_.File("aliases")},
            {"pagerank", dir_.File("pagerank")},
            {"hypernyms", dir_.File("kinds")},
            {"inverses", dir_.File("inverses")}};
  }

  TempDir dir_;
};

TEST_F(WikidataBuilderTest, QuestionsAreTriplesOfThePassageWithAMask) {
  const Dataset set = BuildTrain(Request({{"invert-rate", "0"}, {"hypernym-rate", "0"}}));
  EXPECT_EQ(set.QuestionCount(), 60);
  EXPECT_EQ(set.header.at("triples.read"), "180");
  // Town 7 has no label, P1000 neither: 59 towns in lands, 58 pairs of twins.
  EXPECT_EQ(set.header.at("triples.with_labels"), "117");
  for (const Passage& passage : set.passages) {
    EXPECT_OK(CheckPassage(passage));
    EXPECT_THAT(passage.context, Not(HasSubstr("town 7 ")));
    for (const Question& question : passage.questions) {
      // Every label is the only one, so the mask's answer gives back the triple.
      std::string triple = question.text;
      triple.replace(triple.find(std::string(kMask)), kMask.size(), question.answers[0]);
      EXPECT_THAT(passage.context, HasSubstr(triple + " ."));
    }
  }
}

TEST_F(WikidataBuilderTest, AliasesInversesAndHypernymsAreUsed) {
  std::map<std::string, std::string> files = AllFiles();
  files["invert-rate"] = "1";
  files["hypernym-rate"] = "1";
  const Dataset set = BuildTrain(Request(files));
  std::string contexts;
  bool inverted = false;
  for (const Passage& passage : set.passages) {
    contexts += passage.context;
    for (const Question& question : passage.questions) {
      const bool predicate_masked = absl::StrContains(question.text, absl::StrCat(" ", kMask, " "));
      if (!predicate_masked && !absl::StrContains(question.text, "twins")) {
        EXPECT_THAT(question.text, HasSubstr(" holds "));
        inverted = true;
      }
      if (absl::EndsWith(question.text, kMask) && !predicate_masked &&
          absl::StrContains(question.text, "twins")) {
        EXPECT_EQ(question.text, absl::StrCat("the town's kind twins ", kMask));
      }
    }
  }
  EXPECT_TRUE(inverted);
  EXPECT_THAT(contexts, HasSubstr("old town"));
  EXPECT_THAT(contexts, HasSubstr(" is in "));
}

TEST_F(WikidataBuilderTest, WithoutInversesNothingIsInverted) {
  const Dataset set = BuildTrain(Request({{"invert-rate", "1"}, {"hypernym-rate", "0"}}));
  for (const Passage& passage : set.passages) {
    for (const Question& question : passage.questions) {
      std::string triple = question.text;
      triple.replace(triple.find(std::string(kMask)), kMask.size(), question.answers[0]);
      EXPECT_THAT(passage.context, HasSubstr(triple + " ."));
    }
  }
}

TEST_F(WikidataBuilderTest, ConstraintsAndLabelItemsOfPropertiesSayTheirInversesToo) {
  // KGTK: a qualifier has the id of the edge that it qualifies. P2306 also qualifies constraints of
  // other kinds.
  const std::string head = "id\tnode1\tlabel\tnode2\n";
  const std::string constraint = head + "e2\te1\tP2306\tP99\ne1\tP17\tP2302\tQ21510855\n";
  const std::string other = head + "e1\tP17\tP2302\tQ21502838\ne2\te1\tP2306\tP99\n";
  const std::string item = "P17\tP7087\tQ300\n";
  const std::string symmetric = "P190\tP2302\tQ21510862\n";
  Write("item-labels", "Q300\tlabel\t'has within'@en\n");
  // The predicates of questions whose predicate is not masked, by what --inverses reads.
  const auto predicates = [&](const std::string& inverses) {
    Write("inverses", inverses);
    const Dataset set =
        BuildTrain(Request({{"inverses", dir_.File("inverses")},
                            {"labels", dir_.File("labels") + "," + dir_.File("item-labels")},
                            {"invert-rate", "1"},
                            {"hypernym-rate", "0"}}));
    std::set<std::string> found;
    for (const Passage& passage : set.passages) {
      for (const Question& question : passage.questions) {
        for (const char* predicate : {"lies in", "holds", "has within", "twins"}) {
          if (absl::StrContains(question.text, absl::StrCat(" ", predicate, " "))) {
            found.insert(predicate);
          }
        }
      }
    }
    return found;
  };
  using Found = std::set<std::string>;
  EXPECT_EQ(predicates(constraint), (Found{"holds", "twins"}));
  EXPECT_EQ(predicates(other), (Found{"lies in", "twins"}));
  EXPECT_EQ(predicates(item), (Found{"has within", "twins"}));
  // An inverse property counts before a constraint, and that before an item with a label.
  EXPECT_EQ(predicates(head + "e2\te1\tP2306\tP99\nx\tP17\tP7087\tQ300\n"
                              "e1\tP17\tP2302\tQ21510855\n"),
            (Found{"holds", "twins"}));
  EXPECT_EQ(predicates(item + "P17\tP1696\tP99\n"), (Found{"holds", "twins"}));
  // Both count before a symmetric constraint, in whatever order the lines are.
  const std::string also_symmetric = "P17\tP2302\tQ21510862\n";
  EXPECT_EQ(predicates(also_symmetric + "P17\tP1696\tP99\n"), (Found{"holds", "twins"}));
  EXPECT_EQ(predicates("P17\tP1696\tP99\n" + also_symmetric), (Found{"holds", "twins"}));
  EXPECT_EQ(predicates(head + "e3\tP17\tP2302\tQ21510862\ne2\te1\tP2306\tP99\n"
                              "e1\tP17\tP2302\tQ21510855\n"),
            (Found{"holds", "twins"}));
  // Without a column of ids, a field more is none.
  EXPECT_EQ(predicates("node1\tlabel\tnode2\nP17\tP2302\tQ21510855\te1\ne1\tP2306\tP99\n"),
            (Found{"lies in", "twins"}));
  // A symmetric property keeps its label; its triple is swapped.
  Write("inverses", symmetric);
  const Dataset set = BuildTrain(
      Request({{"inverses", dir_.File("inverses")}, {"invert-rate", "1"}, {"hypernym-rate", "0"}}));
  bool swapped = false;
  for (const Passage& passage : set.passages) {
    for (const Question& question : passage.questions) {
      std::string triple = question.text;
      triple.replace(triple.find(std::string(kMask)), kMask.size(), question.answers[0]);
      swapped = swapped || !absl::StrContains(passage.context, triple + " .");
    }
  }
  EXPECT_TRUE(swapped);
}

TEST_F(WikidataBuilderTest, TrainPassagesShareTheQuestionsEvenly) {
  const Dataset set = BuildTrain(Request({{"train-passages", "45"}}));
  EXPECT_EQ(set.QuestionCount(), 60);
  ASSERT_EQ(set.passages.size(), 45u);
  for (const Passage& passage : set.passages) {
    EXPECT_GE(passage.questions.size(), 1u);
    EXPECT_LE(passage.questions.size(), 2u);
  }
  EXPECT_EQ(set.header.at("parameter.train-passages"), "45");
  // Data sets that were built before there was the parameter keep their bytes.
  EXPECT_EQ(BuildTrain(Request()).header.count("parameter.train-passages"), 0u);
  EXPECT_THAT(Build(Request({{"train-passages", "61"}})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--train-passages: expected at most --train-questions, 60")));
  EXPECT_THAT(
      Build(Request({{"train-passages", "45"}, {"train-questions-per-passage", "2"}})),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected either --train-passages")));
}

TEST_F(WikidataBuilderTest, SeedsAreTheEntitiesOfHighestPageRank) {
  std::map<std::string, std::string> files = AllFiles();
  files["seed-entities"] = "4";
  files["train-questions"] = "20";
  files["test-questions"] = "20";
  const Dataset set = BuildTrain(Request(files));
  for (const Passage& passage : set.passages) {
    EXPECT_THAT(passage.title, AnyOf("town 59", "town 58", "town 57", "town 56"));
  }
}

TEST_F(WikidataBuilderTest, SameSeedSameBytesAndAnotherSeedOthers) {
  BuildRequest request = Request(AllFiles());
  ASSERT_OK_AND_ASSIGN(const BuildResult first, Build(request));
  ASSERT_OK_AND_ASSIGN(const BuildResult again, Build(request));
  EXPECT_EQ(first.train.sha256, again.train.sha256);
  EXPECT_EQ(first.test.sha256, again.test.sha256);
  request.seed = 6;
  ASSERT_OK_AND_ASSIGN(const BuildResult other, Build(request));
  EXPECT_NE(first.train.sha256, other.train.sha256);
}

TEST_F(WikidataBuilderTest, LabelsMayBeJsonAndFilesSeveral) {
  Write("more.json", R"({"/m/1": {"wikidata_id": "Q7", "label": "seventh", "alternatives": ["VII"]},
                         "P1000": {"label": "is"}})");
  const Dataset set =
      BuildTrain(Request({{"labels", dir_.File("labels") + "," + dir_.File("more.json")}}));
  EXPECT_EQ(set.header.at("triples.with_labels"), "120");
  EXPECT_EQ(set.header.at("parameter.labels"), "labels,more.json");
  EXPECT_EQ(set.header.count("sha256.more.json"), 1);
}

// A hub's neighbourhood is not listed; every triple must still be as likely.
TEST_F(WikidataBuilderTest, LargeNeighbourhoodsAreSampledEvenly) {
  std::string triples;
  std::string labels = "P1\tlabel\t'p'@en\nQhub\tlabel\t'hub'@en\n";
  for (int i = 0; i < 1500; ++i) {
    absl::StrAppend(&triples, "Qhub\tP1\tQa", i, "\nQa", i, "\tP1\tQb", i, "\n");
    absl::StrAppend(&labels, "Qa", i, "\tlabel\t'a", i, "'@en\nQb", i, "\tlabel\t'b", i, "'@en\n");
  }
  Write("triples", triples);
  Write("labels", labels);
  Write("pagerank", "Qhub\tpagerank\t0.9\nQa0\tpagerank\t0.8\n");
  const BuildRequest request = Request({{"pagerank", dir_.File("pagerank")},
                                        {"train-questions", "400"},
                                        {"test-questions", "400"},
                                        {"test-questions-per-passage", "1"}});
  Dataset set = BuildTrain(request);
  if (set.passages[0].title != "hub") {  // one of the two seeds is in each set
    ASSERT_OK_AND_ASSIGN(set, ReadDataset(request.directory + "/test.jsonl"));
  }
  ASSERT_EQ(set.passages[0].title, "hub");
  // Half of the 3,000 triples have the hub, which both of their ends bring in.
  int64_t hub = 0;
  int64_t all = 0;
  for (const Passage& passage : set.passages) {
    std::set<absl::string_view> different;
    for (const absl::string_view triple : absl::StrSplit(passage.context, " . ")) {
      hub += absl::StartsWith(triple, "hub ") ? 1 : 0;
      ++all;
      EXPECT_TRUE(different.insert(triple).second) << triple;
    }
  }
  ASSERT_EQ(all, 400 * 50);
  EXPECT_NEAR(static_cast<double>(hub) / static_cast<double>(all), 0.5, 0.02);
}

TEST_F(WikidataBuilderTest, MissingAndMalformedFilesAreRefusedWithTheirLine) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Build(Request({{"graph", ""}})), StatusIs(kInvalid, HasSubstr("--graph")));
  EXPECT_THAT(Build(Request({{"labels", dir_.File("absent")}})),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("absent")));
  Write("bad", "Q1\tP17\tQ2\nQ1\tP17\n");
  EXPECT_THAT(Build(Request({{"graph", dir_.File("bad")}})),
              StatusIs(kInvalid, HasSubstr("bad:2: expected 3 fields between tabs, got 2")));
  Write("bad", "node1\tnode2\n");
  EXPECT_THAT(Build(Request({{"labels", dir_.File("bad")}})),
              StatusIs(kInvalid, HasSubstr("bad:1: expected the columns")));
  Write("bad", "Q1\tpagerank\tmuch\n");
  EXPECT_THAT(Build(Request({{"pagerank", dir_.File("bad")}})),
              StatusIs(kInvalid, HasSubstr("bad:1: expected a PageRank from 0 to 1")));
  Write("bad.json", "{\"Q1\": 3}");
  EXPECT_THAT(Build(Request({{"labels", dir_.File("bad.json")}})),
              StatusIs(kInvalid, HasSubstr("\"Q1\": expected an object with a label")));
  Write("bad", "Q900\tlabel\t'x'\n");
  EXPECT_THAT(Build(Request({{"labels", dir_.File("bad")}})),
              StatusIs(kInvalid, HasSubstr("none of the 180 triples")));
}

TEST_F(WikidataBuilderTest, RealCodexAndWikidataFilesGiveASet) {
  CONCUR_SHARED_DATA_OR_SKIP(data, "wikidata");
  BuildRequest request = Request();
  request.parameters = {
      {"graph", data + "/codex-m/train.txt"},
      {"labels", data + "/labels.en.tsv.gz," + data + "/fb15k-entity2wikidata.json," + data +
                     "/codex-relations/en/relations.json"},
      {"aliases", data + "/aliases.en.tsv.gz"},
      {"hypernyms", data + "/derived.P31.tsv.gz," + data + "/derived.P279.tsv.gz"},
      {"train-questions", "500"},
      {"test-questions", "500"}};
  const Dataset set = BuildTrain(request);
  EXPECT_EQ(set.QuestionCount(), 500);
  EXPECT_EQ(set.header.at("triples.read"), "185584");
  for (const Passage& passage : set.passages) {
    EXPECT_OK(CheckPassage(passage));
  }
  // Liu et al., 2023: 10,000 questions over 8,376 passages to train on, 9,835 over 1,967 to test.
  request.parameters.erase("train-questions");
  request.parameters.erase("test-questions");
  request.parameters["train-passages"] = "8376";
  ASSERT_OK_AND_ASSIGN(const BuildResult published, Build(request));
  EXPECT_EQ(published.train.questions, 10'000);
  EXPECT_EQ(published.train.passages, 8'376);
  EXPECT_EQ(published.test.questions, 9'835);
  EXPECT_EQ(published.test.passages, 1'967);
}

}  // namespace
}  // namespace concur::qa
