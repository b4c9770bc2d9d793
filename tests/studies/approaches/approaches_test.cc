// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "base/random.h"
#include "qa/dataset_io.h"
#include "qa/http/question_server.h"
#include "qa/score.h"
#include "qa/serve.h"
#include "studies/approaches/approach.h"
#include "studies/approaches/commands.h"
#include "tests/testing/http_client.h"
#include "tests/testing/test.h"

namespace concur::approaches {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

const std::vector<std::string> kPeople = {"Alice", "Bruno", "Carla",  "Dmitri", "Elena",
                                          "Farid", "Greta", "Hassan", "Irene",  "Jonas"};
const std::vector<std::string> kCities = {"Paris", "Rome",   "Lisbon", "Vienna", "Dublin",
                                          "Oslo",  "Madrid", "Prague", "Athens", "Riga"};

// Passages that say where people live and when they came; questions about one of them.
qa::Dataset SmallWorld(uint64_t seed, int passages) {
  Random random(seed, "small world");
  qa::Dataset dataset;
  for (int p = 0; p < passages; ++p) {
    std::vector<std::string> people = kPeople;
    std::vector<std::string> cities = kCities;
    random.Shuffle(people);
    random.Shuffle(cities);
    qa::Passage passage;
    for (size_t i = 0; i < 5; ++i) {
      const std::string year = absl::StrCat(1900 + random.Below(100));
      const std::string start = absl::StrCat(people[i], " lives in ");
      const std::string middle = ", where the family arrived in ";
      const auto at = static_cast<int64_t>(passage.context.size() + start.size());
      const auto city_end = at + static_cast<int64_t>(cities[i].size());
      const auto year_at = city_end + static_cast<int64_t>(middle.size());
      absl::StrAppend(&passage.context, start, cities[i], middle, year, ". ");
      passage.questions.push_back({absl::StrCat(p, "-city-", i),
                                   absl::StrCat("Where does ", people[i], " live?"),
                                   {cities[i]},
                                   {{at, city_end}}});
      passage.questions.push_back({absl::StrCat(p, "-year-", i),
                                   absl::StrCat("When did the family of ", people[i], " arrive?"),
                                   {year},
                                   {{year_at, year_at + 4}}});
    }
    dataset.passages.push_back(passage);
  }
  return dataset;
}

void WriteDataset(const qa::Dataset& dataset, const std::string& path) {
  ASSERT_OK_AND_ASSIGN(const auto writer, qa::DatasetWriter::Create(path, {}));
  for (const qa::Passage& passage : dataset.passages) {
    ASSERT_OK(writer->Write(passage));
  }
  ASSERT_OK(writer->Finish());
}

class ApproachesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteDataset(SmallWorld(1, 40), File("train.jsonl"));
    WriteDataset(SmallWorld(2, 10), File("test.jsonl"));
  }

  std::string File(const std::string& name) { return directory_.File(name); }
  std::string Contents(const std::string& name) {
    return ReadFile(File(name)).value_or("unreadable");
  }

  absl::Status TrainAs(const std::string& approach, const std::string& model, uint64_t seed = 1,
                       const std::vector<std::string>& assignments = {}) {
    return Train({approach, File("train.jsonl"), File(model), seed, assignments});
  }
  absl::Status PredictAs(const std::string& model, const std::string& predictions) {
    return Predict({File(model), File("test.jsonl"), File(predictions)});
  }
  absl::Status ServeLines(const std::string& model, std::istream& in, std::ostream& out) {
    return Serve(File(model),
                 [&](qa::Answerer answer) { return qa::ServeAnswers(in, out, answer); });
  }
  qa::ScoreReport ScoreOf(const std::string& predictions) {
    return qa::Score(*qa::ReadDataset(File("test.jsonl")), *qa::ReadPredictions(File(predictions)));
  }

  TempDir directory_;
};

TEST_F(ApproachesTest, EveryApproachBeatsRandomSpanOnAWorldItCanLearn) {
  ASSERT_OK(TrainAs("random-span", "random.model"));
  ASSERT_OK(PredictAs("random.model", "random.json"));
  const qa::ScoreReport random = ScoreOf("random.json");
  EXPECT_LT(random.exact_match, 20);
  for (const auto& approach : AllApproaches()) {
    const std::string name = approach->name();
    ASSERT_OK(TrainAs(name, name + ".model")) << name;
    ASSERT_OK(PredictAs(name + ".model", name + ".json")) << name;
    const qa::ScoreReport report = ScoreOf(name + ".json");
    EXPECT_EQ(report.n, 100);
    EXPECT_EQ(report.missing, 0) << name;
    EXPECT_EQ(report.extra, 0) << name;
    if (name == "random-span") {
      continue;
    }
    EXPECT_GT(report.f1, random.f1 + 5) << name;
    if (absl::string_view(name).substr(0, 7) != "sliding") {
      EXPECT_GT(report.exact_match, 80) << name;
    }
  }
}

TEST_F(ApproachesTest, SeedFixesModelAndAnswersBitForBit) {
  for (const auto& approach : AllApproaches()) {
    const std::string name = approach->name();
    for (const char* run : {"a", "b"}) {
      ASSERT_OK(TrainAs(name, absl::StrCat(run, ".model"), 7));
      ASSERT_OK(PredictAs(absl::StrCat(run, ".model"), absl::StrCat(run, ".json")));
    }
    EXPECT_TRUE(Contents("a.model") == Contents("b.model")) << name;
    EXPECT_TRUE(Contents("a.json") == Contents("b.json")) << name;
  }
}

TEST_F(ApproachesTest, AnotherSeedGivesAnotherModelWhereChanceHasAPart) {
  for (const std::string name :
       {"random-span", "logistic-regression", "max-margin", "neural-reader"}) {
    ASSERT_OK(TrainAs(name, "a.model", 1));
    ASSERT_OK(TrainAs(name, "b.model", 2));
    EXPECT_FALSE(Contents("a.model") == Contents("b.model")) << name;
  }
}

TEST_F(ApproachesTest, EveryHyperparameterChangesTheModel) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> changes = {
      {"random-span", {"max_span_tokens=1"}},
      {"sliding-window", {"max_span_tokens=1", "window_extra=3", "sentences=all"}},
      {"sliding-window-distance",
       {"max_span_tokens=1", "window_extra=3", "sentences=all", "distance_weight=2"}},
      {"logistic-regression",
       {"lr=0.3", "epochs=1", "l2=0.01", "max_span_tokens=1", "hash_bits=12"}},
      {"max-margin",
       {"aggressiveness=0.0001", "epochs=1", "margin=3", "max_span_tokens=1", "hash_bits=12"}},
      {"neural-reader",
       {"lr=0.01", "epochs=1", "embedding=8", "hidden=16", "dropout=0.5", "batch=4",
        "features=none"}},
  };
  // Answers of one token: a longer candidate must exist for max_span_tokens to matter.
  qa::Dataset data = SmallWorld(1, 10);
  data.passages[0].questions[0].answers = {"Alice lives"};
  data.passages[0].questions[0].spans.clear();
  data.passages[0].context = "Alice lives here. " + data.passages[0].context;
  for (size_t i = 1; i < data.passages[0].questions.size(); ++i) {
    data.passages[0].questions[i].spans.clear();
  }
  WriteDataset(data, File("train.jsonl"));
  for (const auto& [name, assignments] : changes) {
    ASSERT_OK(TrainAs(name, "default.model"));
    for (const std::string& assignment : assignments) {
      ASSERT_OK(TrainAs(name, "changed.model", 1, {assignment})) << assignment;
      EXPECT_FALSE(Contents("default.model") == Contents("changed.model"))
          << name << " " << assignment;
    }
  }
}

// The world has its names in train and test alike, so that embeddings alone can learn it; a name of
// its own for every question can only be matched.
TEST_F(ApproachesTest, WithoutFeaturesTheNeuralReaderCannotMatchUnknownWords) {
  qa::Dataset unseen = SmallWorld(2, 10);
  int64_t number = 0;
  for (qa::Passage& passage : unseen.passages) {
    for (qa::Question& question : passage.questions) {
      question.spans.clear();
    }
    for (const std::string& name : kPeople) {
      const std::string strange = absl::StrCat("Zyx", ++number, "q");
      passage.context = absl::StrReplaceAll(passage.context, {{name, strange}});
      for (qa::Question& question : passage.questions) {
        question.text = absl::StrReplaceAll(question.text, {{name, strange}});
      }
    }
  }
  WriteDataset(unseen, File("test.jsonl"));
  std::map<std::string, double> f1;
  for (const std::string features : {"all", "none"}) {
    ASSERT_OK(TrainAs("neural-reader", "m", 1, {"features=" + features}));
    ASSERT_OK(PredictAs("m", "p.json"));
    f1[features] = ScoreOf("p.json").f1;
  }
  EXPECT_GT(f1["all"], f1["none"] + 5);
}

TEST_F(ApproachesTest, PredictionsDoNotDependOnTheOtherQuestions) {
  ASSERT_OK(TrainAs("random-span", "m"));
  ASSERT_OK(PredictAs("m", "all.json"));
  qa::Dataset one = SmallWorld(2, 10);
  one.passages.erase(one.passages.begin(), one.passages.begin() + 9);
  WriteDataset(one, File("test.jsonl"));
  ASSERT_OK(PredictAs("m", "one.json"));
  ASSERT_OK_AND_ASSIGN(const qa::Predictions all, qa::ReadPredictions(File("all.json")));
  ASSERT_OK_AND_ASSIGN(const qa::Predictions few, qa::ReadPredictions(File("one.json")));
  EXPECT_EQ(few.size(), 10);
  for (const qa::Question& question : one.passages[0].questions) {
    ASSERT_TRUE(few.Find(question.id).has_value());
    EXPECT_EQ(all.Find(question.id), few.Find(question.id));
  }
}

TEST_F(ApproachesTest, WrongConfigurationIsNamedBeforeDataIsRead) {
  const std::string absent = File("absent.jsonl");
  const auto train = [&](const std::string& approach, const std::vector<std::string>& sets) {
    return Train({approach, absent, File("m"), 1, sets});
  };
  EXPECT_THAT(train("logistic-regresion", {}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("unknown approach \"logistic-regresion\""),
                             HasSubstr("did you mean \"logistic-regression\"?"))));
  EXPECT_THAT(train("max-margin", {"epoch=3"}),
              StatusIs(kInvalid, AllOf(HasSubstr("--set epoch: unknown hyperparameter"),
                                       HasSubstr("did you mean \"epochs\"?"))));
  EXPECT_THAT(train("max-margin", {"epochs"}), StatusIs(kInvalid, HasSubstr("name=value")));
  EXPECT_THAT(train("max-margin", {"epochs=2.5"}),
              StatusIs(kInvalid, HasSubstr("expected an integer from 1 to 100, got \"2.5\"")));
  EXPECT_THAT(train("max-margin", {"epochs=0"}), StatusIs(kInvalid, HasSubstr("got \"0\"")));
  EXPECT_THAT(train("neural-reader", {"lr=fast"}), StatusIs(kInvalid, HasSubstr("got \"fast\"")));
  EXPECT_THAT(train("neural-reader", {"lr=nan"}), StatusIs(kInvalid, HasSubstr("got \"nan\"")));
  EXPECT_THAT(train("sliding-window", {"sentences=some"}),
              StatusIs(kInvalid, HasSubstr("expected one of best, all")));
  EXPECT_THAT(train("max-margin", {"epochs=2", "epochs=3"}),
              StatusIs(kInvalid, HasSubstr("given twice")));
  EXPECT_THAT(train("max-margin", {}), StatusIs(absl::StatusCode::kNotFound, HasSubstr(absent)));
}

TEST_F(ApproachesTest, DataWithoutSpansTeachesNothing) {
  qa::Dataset data;
  data.passages.push_back({"", "Some text.", {{"q", "What?", {"absent"}, {}}}});
  data.passages.push_back({"", "", {{"r", "", {"absent"}, {}}}});
  WriteDataset(data, File("train.jsonl"));
  for (const std::string name : {"logistic-regression", "max-margin", "neural-reader"}) {
    EXPECT_THAT(TrainAs(name, "m"),
                StatusIs(kInvalid, AllOf(HasSubstr("train.jsonl"), HasSubstr("nothing to learn"))));
    EXPECT_FALSE(std::filesystem::exists(File("m")));
  }
}

// Passages that break naive readers: empty, without words, without any known character class.
TEST_F(ApproachesTest, StrangePassagesAreAnswered) {
  qa::Dataset strange;
  const std::vector<std::string> contexts = {"",
                                             " \n\t",
                                             "...",
                                             "¿?",
                                             "the of a",
                                             "日本語のテキスト",
                                             "a\xCC\x81 \xF0\x9F\x98\x80",
                                             std::string("nul\0byte", 8),
                                             "x",
                                             "\"quoted\\\" text",
                                             std::string(3000, 'y')};
  for (size_t i = 0; i < contexts.size(); ++i) {
    for (const std::string question : {"", "?", "Who is who?", "XXXXX", "___ and @placeholder"}) {
      strange.passages.push_back(
          {"", contexts[i], {{absl::StrCat(i, question), question, {"x"}, {}}}});
    }
  }
  WriteDataset(strange, File("test.jsonl"));
  for (const auto& approach : AllApproaches()) {
    ASSERT_OK(TrainAs(approach->name(), "m"));
    ASSERT_OK(PredictAs("m", "p.json")) << approach->name();
    const qa::ScoreReport report = ScoreOf("p.json");
    EXPECT_EQ(report.missing, 0);
    EXPECT_EQ(report.extra, 0);
  }
}

TEST_F(ApproachesTest, DamagedModelFilesAreRefused) {
  for (const auto& approach : AllApproaches()) {
    ASSERT_OK(TrainAs(approach->name(), "good"));
    const std::string good = Contents("good");
    for (const size_t size : {size_t{0}, size_t{4}, size_t{20}, good.size() / 2, good.size() - 1}) {
      ASSERT_OK(WriteFileAtomically(File("bad"), good.substr(0, size)));
      EXPECT_THAT(PredictAs("bad", "p.json"),
                  StatusIs(size == 0 ? kInvalid : kDataLoss, HasSubstr("bad")))
          << approach->name() << " " << size;
    }
    std::string flipped = good;
    flipped[good.size() - 1] ^= 1;
    ASSERT_OK(WriteFileAtomically(File("bad"), flipped));
    EXPECT_THAT(PredictAs("bad", "p.json"), StatusIs(kDataLoss, HasSubstr("checksum")));
  }
  ASSERT_OK(WriteFileAtomically(File("bad"), "not a model at all"));
  EXPECT_THAT(PredictAs("bad", "p.json"), StatusIs(kInvalid, HasSubstr("expected a model file")));
  EXPECT_FALSE(std::filesystem::exists(File("p.json")));
}

TEST_F(ApproachesTest, ModelWithForeignContentsIsDataLoss) {
  for (const auto& approach : AllApproaches()) {
    for (const int numbers : {0, 1, 50}) {
      ModelWriter writer;
      writer.Text(approach->name());
      writer.Number<uint32_t>(approach->version());
      for (int i = 0; i < numbers; ++i) {
        writer.Number<uint64_t>(0xFFFFFFFFFFFFFFFFULL);
      }
      ASSERT_OK(WriteModelFile(File("bad"), writer));
      EXPECT_THAT(PredictAs("bad", "p.json"), StatusIs(kDataLoss, HasSubstr("train it again")))
          << approach->name() << " " << numbers;
    }
  }
  ModelWriter writer;
  writer.Text("random-span");
  writer.Number<uint32_t>(999);
  ASSERT_OK(WriteModelFile(File("bad"), writer));
  EXPECT_THAT(PredictAs("bad", "p.json"), StatusIs(kInvalid, HasSubstr("version 999")));
}

TEST(CommandsTest, ListNamesEveryApproachAndHyperparameter) {
  const std::string list = ListApproaches();
  for (const auto& approach : AllApproaches()) {
    EXPECT_THAT(list, HasSubstr(approach->name()));
    for (const ParameterSpec& spec : approach->parameters()) {
      EXPECT_THAT(list, HasSubstr(spec.name));
      EXPECT_THAT(spec.help, Not(IsEmpty()));
    }
  }
  EXPECT_GE(AllApproaches().size(), 6);
}

TEST(CommandsTest, ExitCodesTellWorkersWhetherToRetry) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), 78);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("")), 78);
  EXPECT_EQ(ExitCodeOf(absl::ResourceExhaustedError("")), 75);
  EXPECT_EQ(ExitCodeOf(absl::DataLossError("")), 1);
}

TEST_F(ApproachesTest, ServingAnswersAsPredictingDoes) {
  ASSERT_OK(TrainAs("sliding-window", "a.model"));
  std::istringstream in(
      "{\"id\": \"1\", \"passage\": \"Ada lives in Bern.\", \"question\": \"Who lives in Bern?\"}\n"
      "{\"id\": \"\\n2\", \"passage\": \"\", \"question\": \"<script>?\"}");
  std::ostringstream out;
  ASSERT_OK(ServeLines("a.model", in, out));
  ASSERT_OK(WriteFileAtomically(File("test.jsonl"),
                                "{\"context\": \"Ada lives in Bern.\", \"qas\": [{\"qid\": \"1\", "
                                "\"question\": \"Who lives in "
                                "Bern?\", \"answers\": [\"Ada\"]}]}\n"));
  ASSERT_OK(PredictAs("a.model", "p.json"));
  const std::string predicted = Contents("p.json");
  const std::string answer = predicted.substr(predicted.find(": ") + 2);
  EXPECT_EQ(out.str(), "{\"id\": \"1\", \"answer\": " + answer.substr(0, answer.find('\n')) +
                           "}\n{\"id\": \"\\n2\", \"answer\": \"\"}\n");
}

TEST_F(ApproachesTest, ServingRefusesALineThatIsNoQuestion) {
  ASSERT_OK(TrainAs("random-span", "a.model"));
  const std::string good = "{\"id\": \"1\", \"passage\": \"A.\", \"question\": \"B?\"}\n";
  for (const std::string& bad : {std::string("x"), std::string("[]"), std::string("{}"),
                                 std::string(qa::kServeLineBytesMax + 1, 'x')}) {
    std::istringstream in(good + bad + "\n" + good);
    std::ostringstream out;
    EXPECT_THAT(ServeLines("a.model", in, out),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("standard input:2: ")));
  }
}

// --- over HTTP

// A reader that is served on a thread of its own.
class Served {
 public:
  Served(const std::function<absl::Status(qa::ServeLoop)>& serve)
      : server_(*qa::QuestionServer::Start(0)), thread_([this, serve] {
          status_ = serve([this](qa::Answerer answer) { return server_->Run(answer); });
        }) {}
  ~Served() { Stop().IgnoreError(); }
  absl::Status Stop() {
    server_->Stop();
    if (thread_.joinable()) {
      thread_.join();
    }
    return status_;
  }
  std::string url() const { return absl::StrCat("http://127.0.0.1:", server_->port()); }
  std::string Send(const std::string& head, const std::string& body) const {
    return concur::testing::SendRaw(
        absl::StrCat("127.0.0.1:", server_->port()),
        absl::StrCat(head, " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: ",
                     body.size(), "\r\n\r\n", body));
  }

 private:
  std::unique_ptr<qa::QuestionServer> server_;
  absl::Status status_;
  std::thread thread_;
};

TEST_F(ApproachesTest, AReaderIsLoadedOnceAndAskedOverHttpByManyAtATime) {
  ASSERT_OK(TrainAs("logistic-regression", "a.model"));
  ASSERT_OK(PredictAs("a.model", "expected.json"));
  Served served([this](qa::ServeLoop loop) { return Serve(File("a.model"), loop); });
  EXPECT_THAT(served.Send("GET /health", ""), HasSubstr("200 OK"));
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&, i] {
      EXPECT_OK(Predict({"", File("test.jsonl"), File(absl::StrCat(i, ".json")), served.url()}));
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Contents(absl::StrCat(i, ".json")), Contents("expected.json"));
  }
  EXPECT_OK(served.Stop());
}

TEST_F(ApproachesTest, AReaderThatIsServedSurvivesBadRequests) {
  ASSERT_OK(TrainAs("random-span", "a.model"));
  Served served([this](qa::ServeLoop loop) { return Serve(File("a.model"), loop); });
  EXPECT_THAT(served.Send("POST /answer", "{}"),
              AllOf(HasSubstr("400 Bad Request"), HasSubstr("request:1: id: missing")));
  EXPECT_THAT(served.Send("POST /answer", std::string(size_t{2} << 20, 'x')), HasSubstr(" 413 "));
  EXPECT_THAT(served.Send("GET /answer", ""), HasSubstr("404 Not Found"));
  EXPECT_THAT(concur::testing::SendRaw(
                  served.url().substr(7),
                  "GET /health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
              HasSubstr("403 Forbidden"));
  EXPECT_OK(Predict({"", File("test.jsonl"), File("p.json"), served.url()}));
}

TEST_F(ApproachesTest, AnErrorOfAReaderThatIsServedEndsItAndTellsTheClient) {
  Served served([](qa::ServeLoop loop) {
    return loop([](const std::string&, const qa::Question&) {
      return absl::ResourceExhaustedError("out of memory");
    });
  });
  EXPECT_THAT(Predict({"", File("test.jsonl"), File("p.json"), served.url()}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("500: out of memory")));
  EXPECT_THAT(served.Stop(), StatusIs(absl::StatusCode::kResourceExhausted, "out of memory"));
}

TEST_F(ApproachesTest, PredictingNeedsAModelOrAReaderThatAnswers) {
  for (const PredictOptions& options :
       {PredictOptions{"", File("test.jsonl"), File("p.json"), ""},
        {File("a"), File("test.jsonl"), File("p.json"), "http://x"}}) {
    EXPECT_THAT(Predict(options), StatusIs(kInvalid, HasSubstr("one of --model and --url")));
  }
  std::string gone;
  {
    const Served served([](qa::ServeLoop) { return absl::OkStatus(); });
    gone = served.url();
  }
  EXPECT_THAT(Predict({"", File("test.jsonl"), File("p.json"), gone}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("127.0.0.1")));
  EXPECT_THAT(qa::ServeOverHttp(65536, [](const std::string&, const qa::Question&) { return ""; }),
              StatusIs(kInvalid, HasSubstr("--http: expected a port from 1 to 65535")));
}

}  // namespace
}  // namespace concur::approaches
