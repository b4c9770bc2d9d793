// SPDX-License-Identifier: Apache-2.0
// `concur strata` by attributes of the text and by labels of the user.

#include <string>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

// Questions "a" and "b" of one passage.
constexpr char kQuestions[] = R"({"context": "Ada wrote it in 1843", "qas": [)"
                              R"({"qid": "a", "question": "Who wrote it?", "answers": ["Ada"]},)"
                              R"( {"qid": "b", "question": "When?", "answers": ["1843"]}]})";

class StrataTest : public ::testing::Test {
 protected:
  StrataTest() {
    Write("data.jsonl", kQuestions);
    Write("scores.jsonl",
          "{\"id\": \"a\", \"exact_match\": 1, \"f1\": 1}\n"
          "{\"id\": \"b\", \"exact_match\": 0, \"f1\": 0.5}\n");
    Write("labels.csv", "id,reasoning,hard\na,lexical,yes\nb,syntactic,no\n");
    Write("new-labels.csv", "id,hard,reasoning\nb,yes,lexical\n");
  }

  void Write(const std::string& name, const std::string& text) {
    CONCUR_CHECK_OK(WriteFileAtomically(dir_.File(name), text));
  }
  Output Strata(const std::vector<std::string>& more) {
    std::vector<std::string> args = {"strata",
                                     "--data",
                                     dir_.File("data.jsonl"),
                                     "--examples",
                                     dir_.File("scores.jsonl"),
                                     "--new-data",
                                     dir_.File("data.jsonl"),
                                     "-o",
                                     "csv"};
    args.insert(args.end(), more.begin(), more.end());
    return RunConcur(args);
  }

  TempDir dir_;
};

TEST_F(StrataTest, EveryColumnOfLabelsDividesTheExamples) {
  const Output output =
      Strata({"--labels", dir_.File("labels.csv"), "--new-labels", dir_.File("new-labels.csv")});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("reasoning,lexical,1,50,100,1,50"));
  EXPECT_THAT(output.out, HasSubstr("reasoning,(no label),0,0,,1,50"));
  EXPECT_THAT(output.out, HasSubstr("hard,yes,1,50,100,1,50"));
  EXPECT_THAT(output.out, Not(HasSubstr("answer-type"))) << "attributes only when asked for";
}

TEST_F(StrataTest, WithoutLabelsEveryAttributeCounts) {
  const Output output = Strata({});
  ASSERT_EQ(output.code, 0) << output.err;
  for (const char* stratum : {"question-word,when,1,50,50,1,50", "question-word,who,1,50,100,1,50",
                              "overlap,002 words,1,50,100,1,50", "answer-form,date,1,50,50,1,50"}) {
    EXPECT_THAT(output.out, HasSubstr(stratum));
  }
}

TEST_F(StrataTest, BadLabelsAreRefusedWithTheirPlace) {
  EXPECT_THAT(Strata({"--labels", dir_.File("labels.csv")}).err,
              HasSubstr("--labels and --new-labels: expected both, or neither"));
  const struct {
    const char* labels;
    const char* message;
  } cases[] = {{"id\na\n", ":1: expected a header with two columns or more"},
               {"id,x\na,1\na,2\n", ":3: expected each question once, got \"a\" again"},
               {"id,x\na\n", ":2: expected 2 fields, got 1"},
               {"id,x\na,1\n", "new-labels.csv:1: expected the columns of"}};
  for (const auto& bad : cases) {
    Write("bad.csv", bad.labels);
    const Output output =
        Strata({"--labels", dir_.File("bad.csv"), "--new-labels", dir_.File("new-labels.csv")});
    EXPECT_EQ(output.code, 2) << bad.labels;
    EXPECT_THAT(output.err, HasSubstr(bad.message));
  }
}

}  // namespace
}  // namespace concur::cli
