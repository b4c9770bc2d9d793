// SPDX-License-Identifier: Apache-2.0
// Services with real programs: an HTTP server that is started once, asked by many jobs, killed, and
// gone when nobody needs it.
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr int kBenchmarks = 10;

// Answers every request with a score, and writes its process to a file at the first.
constexpr char kServer[] = R"(#!/usr/bin/env python3
import http.server, os, sys, time
time.sleep(float(os.environ["LOAD"]))
asked = False
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global asked
        if self.path == "/score" and not asked:
            asked = True
            with open(sys.argv[2], "a") as file: file.write(f"{os.getpid()}\n")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"0.75")
    def log_message(self, *arguments): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("listening", flush=True)
server.serve_forever()
)";

constexpr char kClient[] = R"(#!/usr/bin/env python3
import json, sys, time, urllib.request
score = float(urllib.request.urlopen(sys.argv[1] + "/score").read())
time.sleep(float(sys.argv[3]))
urllib.request.urlopen(sys.argv[1] + "/score").read()
json.dump({"accuracy": score}, open(sys.argv[2], "w"))
)";

// Asks a model and a judge, each twice.
constexpr char kJudgedClient[] = R"(#!/usr/bin/env python3
import json, sys, time, urllib.request
def ask(url): return float(urllib.request.urlopen(url + "/score").read())
score = ask(sys.argv[1])
judged = ask(sys.argv[2])
time.sleep(float(sys.argv[4]))
assert score == ask(sys.argv[1]) and judged == ask(sys.argv[2])
json.dump({"accuracy": (score + judged) / 2}, open(sys.argv[3], "w"))
)";

constexpr char kApproach[] = R"(apiVersion: concur/v1
kind: Approach
metadata: {name: served}
spec:
  version: "1"
  env: {LOAD: "LOAD_SECONDS"}
  service:
    command: [./server.py, "{port}", PIDS]
    ready: {http: /health, within: 1m}
    resources: {cpus: 1}
    serves: 4
    idle: 2s
  predict:
    command: [./client.py, "{service.url}", "{metrics}", "SECONDS"]
    resources: {cpus: 0.1}
)";

class ServicesTest : public ::testing::Test {
 protected:
  // A sweep of so many jobs, each of which asks the server twice, `seconds` apart.
  void WriteSweep(const std::string& load, const std::string& seconds) {
    for (const auto& [name, text] :
         {std::pair("server.py", kServer), std::pair("client.py", kClient)}) {
      cluster_.Write(name, text);
      ASSERT_EQ(chmod(cluster_.File(name).c_str(), 0755), 0);
    }
    cluster_.Write("approach.yaml",
                   absl::StrReplaceAll(kApproach, {{"LOAD_SECONDS", load},
                                                   {"SECONDS", seconds},
                                                   {"PIDS", cluster_.File("pids")}}));
    std::string sweep =
        "apiVersion: concur/v1\nkind: Sweep\nmetadata: {name: served}\nspec:\n"
        "  approaches: [{file: approach.yaml}]\n  benchmarks:\n";
    for (int i = 0; i < kBenchmarks; ++i) {
      cluster_.Write(absl::StrCat("b", i, ".txt"), absl::StrCat(i, "\n"));
      absl::StrAppend(&sweep, "    - {metadata: {name: b", i, "}, spec: {format: file, test: b", i,
                      ".txt, metric: accuracy}}\n");
    }
    cluster_.Write("sweep.yaml", sweep);
  }
  // The processes of the servers that were asked.
  std::vector<pid_t> Servers() const {
    std::vector<pid_t> pids;
    const absl::StatusOr<std::string> text = ReadFile(cluster_.File("pids"));
    for (absl::string_view line : absl::StrSplit(text.value_or(""), '\n', absl::SkipEmpty())) {
      int pid = 0;
      if (absl::SimpleAtoi(line, &pid)) {
        pids.push_back(pid);
      }
    }
    return pids;
  }
  bool AllHaveEnded() const {
    for (const pid_t pid : Servers()) {
      if (kill(pid, 0) == 0) {
        return false;
      }
    }
    return true;
  }

  Cluster cluster_;
};

TEST_F(ServicesTest, AModelThatTakesLongToLoadIsLoadedOnceForTenBenchmarks) {
  WriteSweep("1.5", "0.05");
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1", 2);
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(cluster_.Concur({"job", "explain", "s1/9"}).out,
                             "waits for its service, which loads on worker w1");
  }));
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(cluster_.Concur({"worker", "list", "-o", "jsonl"}).out,
                             R"("services":[{"approach":"served",)");
  }));
  const Output waited = cluster_.Concur({"sweep", "wait", "s1"});
  EXPECT_EQ(waited.exit_code, 0) << waited.err;
  EXPECT_EQ(Servers().size(), 1u);
  EXPECT_THAT(cluster_.Concur({"scores", "s1"}).out, HasSubstr("0.75"));
  EXPECT_TRUE(Eventually([&] { return AllHaveEnded(); })) << "it is idle for longer than 2 s";
  const auto usage = [&] {
    return cluster_.Concur({"usage", "s1", "--by", "kind", "-o", "csv"}).out;
  };
  EXPECT_THAT(usage(), HasSubstr("\njob,10,10,0,"));
  EXPECT_THAT(usage(), HasSubstr("\nservice,0,0,1,0.00"));
  // The next sweep's forecast has the time that this one took to load.
  cluster_.Write("next.yaml",
                 absl::StrCat(*ReadFile(cluster_.File("sweep.yaml")), "  seeds: [7]\n"));
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("next.yaml")}).exit_code, 0);
  double forecast = 0;
  EXPECT_TRUE(Eventually([&] {
    const std::string shown = cluster_.Concur({"sweep", "get", "s2", "-o", "json"}).out;
    const size_t at = shown.find("\"forecast_seconds\": ");
    return at != std::string::npos &&
           absl::SimpleAtod(shown.substr(at + 20, shown.find_first_of(",\n", at) - at - 20),
                            &forecast);
  }));
  EXPECT_GE(forecast, 1.5);
}

// The same server and client over a unix socket.
TEST_F(ServicesTest, AServiceThatListensOnASocketIsAskedThere) {
  WriteSweep("0.1", "0.05");
  const auto replace =
      [&](const char* file,
          std::initializer_list<std::pair<absl::string_view, absl::string_view>> replacements) {
        cluster_.Write(file, absl::StrReplaceAll(*ReadFile(cluster_.File(file)), replacements));
        ASSERT_EQ(chmod(cluster_.File(file).c_str(), 0755), 0);
      };
  replace("approach.yaml", {{"{port}", "{socket}"}, {"{service.url}", "{service.socket}"}});
  replace("server.py",
          {{"import http.server, os, sys, time", "import http.server, os, socketserver, sys, time"},
           {"server = http.server.ThreadingHTTPServer((\"127.0.0.1\", int(sys.argv[1])), Handler)",
            "class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer): pass\n"
            "server = Server(sys.argv[1], Handler)"}});
  replace("client.py", {{"import json, sys, time, urllib.request",
                         "import http.client, json, os, socket, sys, time\n"
                         "assert sys.argv[1] == os.environ[\"CONCUR_SERVICE_SOCKET\"]\n"
                         "def ask():\n"
                         "    connection = http.client.HTTPConnection(\"localhost\")\n"
                         "    connection.sock = socket.socket(socket.AF_UNIX)\n"
                         "    connection.sock.connect(sys.argv[1])\n"
                         "    connection.request(\"GET\", \"/score\")\n"
                         "    return connection.getresponse().read()"},
                        {"urllib.request.urlopen(sys.argv[1] + \"/score\").read()", "ask()"}});
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1", 2);
  const Output submitted = cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  const Output waited = cluster_.Concur({"sweep", "wait", "s1"});
  EXPECT_EQ(waited.exit_code, 0) << waited.out << waited.err;
  EXPECT_EQ(Servers().size(), 1u);
  EXPECT_THAT(cluster_.Concur({"scores", "s1"}).out, HasSubstr("0.75"));
  EXPECT_TRUE(Eventually([&] { return AllHaveEnded(); }));
}

// Jobs that need a judge beside their own model; the judge's server dies twice, and the cells that
// asked it are there nevertheless.
TEST_F(ServicesTest, AJudgeIsLoadedBesideTheModelAndMayDie) {
  WriteSweep("0.2", "0.4");
  cluster_.Write("judged.py", kJudgedClient);
  ASSERT_EQ(chmod(cluster_.File("judged.py").c_str(), 0755), 0);
  const std::string approach = *ReadFile(cluster_.File("approach.yaml"));
  cluster_.Write(
      "judged.yaml",
      absl::StrReplaceAll(approach, {{"./client.py, \"{service.url}\"",
                                      "./judged.py, \"{service.url}\", "
                                      "\"{service.judge.url}\""},
                                     {cluster_.File("pids"), cluster_.File("models")},
                                     {"version: \"1\"", "version: \"1\"\n  needs: [judge]"}}));
  cluster_.Write("judge.yaml", absl::StrReplaceAll(approach.substr(0, approach.find("  predict:")),
                                                   {{"name: served", "name: judge"}}));
  const std::string sweep = *ReadFile(cluster_.File("sweep.yaml"));
  cluster_.Write("sweep.yaml",
                 absl::StrReplaceAll(sweep, {{"{file: approach.yaml}",
                                              "{file: judged.yaml}, {file: judge.yaml}"}}));
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1", 3);
  const Output submitted = cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  for (size_t kills = 1; kills <= 2; ++kills) {
    ASSERT_TRUE(Eventually([&] { return Servers().size() >= kills; }));
    kill(Servers().back(), SIGKILL);
  }
  const Output waited = cluster_.Concur({"sweep", "wait", "s1"});
  EXPECT_EQ(waited.exit_code, 0) << waited.out << waited.err;
  EXPECT_THAT(cluster_.Concur({"scores", "s1"}).out, HasSubstr("0.75"));
  EXPECT_TRUE(Eventually([&] { return AllHaveEnded(); }));
  EXPECT_THAT(cluster_.Concur({"usage", "s1", "--by", "approach", "-o", "csv"}).out,
              HasSubstr("\njudge,"));
}

TEST_F(ServicesTest, ATrainedReaderIsLoadedOnceForAllBenchmarks) {
  const char* root = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  std::string sweep = absl::StrCat(
      "apiVersion: concur/v1\nkind: Sweep\nmetadata: {name: served}\nspec:\n  approaches: [{file: ",
      root, "/configs/approaches/served/logistic-regression-served.yaml}]\n  benchmarks:\n");
  std::string train;
  for (int i = 0; i < 9; ++i) {
    const std::string line =
        absl::StrCat(R"({"context": "Ada lives in Bern", "qas": [{"qid": "q)", i,
                     R"(", "question": "Who lives in Bern?", "answers": ["Ada"], )",
                     R"("detected_answers": [{"text": "Ada", "char_spans": [[0, 2]]}]}]})", "\n");
    train += line;
    cluster_.Write(absl::StrCat("b", i, ".jsonl"), line);
    absl::StrAppend(&sweep, "    - {metadata: {name: b", i, "}, spec: {",
                    i == 0 ? "train: train.jsonl, " : "", "test: b", i, ".jsonl}}\n");
  }
  cluster_.Write("train.jsonl", train);
  sweep += "  evaluate_on: all\n";
  cluster_.Write("sweep.yaml", sweep);
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1", 2);
  const Output submitted = cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  const Output waited = cluster_.Concur({"sweep", "wait", "s1"});
  EXPECT_EQ(waited.exit_code, 0) << waited.err << cluster_.Concur({"job", "list", "s1"}).out;
  EXPECT_THAT(cluster_.Concur({"usage", "s1", "--by", "kind", "-o", "csv"}).out,
              HasSubstr("\nservice,0,0,1,"));
}

TEST_F(ServicesTest, ServersWorkersAndTheCoordinatorAreKilledAndNoCellIsLost) {
  WriteSweep("0.2", "0.6");
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1", 2);
  cluster_.StartWorker("w2", 2);
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")}).exit_code, 0);
  for (size_t kills = 1; kills <= 3; ++kills) {
    ASSERT_TRUE(Eventually([&] { return Servers().size() >= kills; }));
    kill(Servers().back(), SIGKILL);
  }
  ASSERT_TRUE(Eventually([&] { return Servers().size() >= 4; }));
  cluster_.KillCoordinator(SIGKILL);
  cluster_.StartCoordinator();
  cluster_.KillWorker("w1", SIGKILL);
  cluster_.StartWorker("w1", 2);
  const Output waited = cluster_.Concur({"sweep", "wait", "s1"});
  EXPECT_EQ(waited.exit_code, 0) << waited.out << waited.err;
  EXPECT_TRUE(Eventually([&] { return AllHaveEnded(); }));
}

TEST_F(ServicesTest, ACellSaysWhyItsServiceDoesNotStart) {
  WriteSweep("0", "0");
  cluster_.Write("server.py", "#!/bin/bash\necho out of memory >&2\nexit 1\n");
  ASSERT_EQ(chmod(cluster_.File("server.py").c_str(), 0755), 0);
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1", 2);
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")}).exit_code, 0);
  EXPECT_NE(cluster_.Concur({"sweep", "wait", "s1"}).exit_code, 0);
  const std::string explained = cluster_.Concur({"job", "explain", "s1/3"}).out;
  EXPECT_THAT(absl::StrReplaceAll(explained, {{"\n", " "}}),
              HasSubstr("its service ended before it was ready, 3 times in a row: out of memory"));
  EXPECT_THAT(cluster_.Concur({"job", "logs", "s1/3"}).out, HasSubstr("out of memory"));
}

}  // namespace
}  // namespace concur::testing
