// SPDX-License-Identifier: Apache-2.0
// The page of a whole server: what viewers may, and what other sites' pages may not.
#include <grpcpp/client_context.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "coordinator/access/method_table.h"
#include "coordinator/access/tokens.h"
#include "coordinator/page/page_server.h"
#include "tests/coordinator/server/server_fixture.h"
#include "tests/testing/http_client.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

using Json = nlohmann::json;

struct Answer {
  int status = 0;
  std::string head;
  std::string body;
  Json json() const { return Json::parse(body, nullptr, /*allow_exceptions=*/false); }
};

// Request that a browser or a program sends.
struct Ask {
  std::string method = "GET";
  std::string path;
  std::vector<std::string> headers = {};
  std::string body = {};
  std::string host = "127.0.0.1:7449";
};

class PageTest : public ServerTest {
 protected:
  void SetUp() override {
    options_.page_listen = "127.0.0.1:0";
    ServerTest::SetUp();
  }

  // The same server, where tokens count.
  void RequireTokens() {
    options_.without_authentication = false;
    Restart();
  }

  std::string address() const {
    const std::string page = server().page_address();
    absl::string_view address = page;
    absl::ConsumePrefix(&address, "http://");
    absl::ConsumeSuffix(&address, "/");
    return std::string(address);
  }

  Answer Send(const Ask& ask) const {
    std::string text = absl::StrCat(ask.method, " ", ask.path, " HTTP/1.1\r\nHost: ", ask.host,
                                    "\r\nConnection: close\r\n");
    for (const std::string& header : ask.headers) {
      absl::StrAppend(&text, header, "\r\n");
    }
    if (!ask.body.empty()) {
      absl::StrAppend(&text, "Content-Type: application/json\r\nContent-Length: ", ask.body.size(),
                      "\r\n");
    }
    const std::string all = SendRaw(address(), absl::StrCat(text, "\r\n", ask.body));
    Answer answer;
    const size_t end = all.find("\r\n\r\n");
    if (end != std::string::npos) {
      EXPECT_TRUE(absl::SimpleAtoi(all.substr(9, 3), &answer.status)) << all;
      answer.head = all.substr(0, end);
      answer.body = all.substr(end + 4);
    }
    return answer;
  }
  Answer Get(const std::string& path, std::vector<std::string> headers = {kCsrf}) const {
    return Send({"GET", path, std::move(headers)});
  }
  Answer Post(const std::string& path, const std::string& body,
              std::vector<std::string> headers = {kCsrf}) const {
    return Send({"POST", path, std::move(headers), body});
  }

  // The header with a new token of that role.
  std::string TokenHeader(const std::string& user, Role role) const {
    const NewToken token =
        CreateToken(options_.data_directory, user, role, absl::InfiniteFuture(), absl::Now())
            .value();
    return absl::StrCat("Authorization: Bearer ", token.token);
  }
  std::string Link() const {
    return std::string(absl::StripAsciiWhitespace(
        ReadFile(page::PageServer::LinkPath(options_.data_directory)).value()));
  }
  std::string Code() const {
    const std::string link = Link();
    return link.substr(link.find("#login=") + 7);
  }
  // The cookie header and the CSRF header of a new session.
  std::pair<std::string, std::string> LogIn() const {
    const Answer answer = Post("/api/v1/login", Json({{"code", Code()}}).dump(), {});
    EXPECT_EQ(answer.status, 200) << answer.body;
    const size_t begin = answer.head.find("Set-Cookie: ") + 12;
    const size_t end = answer.head.find(';', begin);
    return {absl::StrCat("Cookie: ", answer.head.substr(begin, end - begin)),
            absl::StrCat("X-Concur-CSRF: ", answer.json()["csrf"].get<std::string>())};
  }

  static constexpr char kCsrf[] = "X-Concur-CSRF: none";
};

TEST_F(PageTest, AMethodAnswersTheJsonOfItsMessage) {
  const std::string sweep = Submit(Spec("a", 2));
  const Answer answer = Get("/api/v1/GetSweep?sweep=" + sweep);
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.head, HasSubstr("Content-Type: application/json"));
  EXPECT_EQ(answer.json()["id"], sweep);
  EXPECT_EQ(answer.json()["counts"]["failed"], 0) << "zeros are there, too";
  const Json jobs =
      Get(absl::StrCat("/api/v1/ListJobs?sweep=", sweep, "&page_size=1&states=STATE_READY")).json();
  EXPECT_THAT(jobs["jobs"], SizeIs(1));
  EXPECT_NE(jobs["next_page_token"], "");
}

TEST_F(PageTest, ErrorsAreThoseOfTheCall) {
  const Answer missing = Get("/api/v1/GetSweep?sweep=s99");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.json()["error"]["code"], "NOT_FOUND");
  EXPECT_THAT(missing.body, HasSubstr("s99"));
  EXPECT_EQ(Get("/api/v1/GetSweep?sweep=%ff").status, 404) << "what is not UTF-8 is replaced";
  for (const char* path :
       {"/api/v1/GetSweep?sweeps=s1", "/api/v1/ListJobs?page_size=many",
        "/api/v1/ListJobs?states=UP", "/api/v1/GetSweep?sweep=a&sweep=b", "/api/v1/matrix",
        "/api/v1/matrix?sweep=s1&coefficient=gamma", "/api/v1/scores?sweep=s1&format=svg",
        "/api/v1/scores?sweep=s1&nonsense=1"}) {
    EXPECT_EQ(Get(path).status, 400) << path;
  }
  for (const char* body : {"", "{", "[]", "{\"sweeps\":\"s1\"}", "{\"sweep\":{\"a\":1}}"}) {
    EXPECT_EQ(Post("/api/v1/PauseSweep", body).status, 400) << body;
  }
  EXPECT_EQ(Post("/api/v1/PauseSweep", std::string(2 << 20, ' ')).status, 413);
  EXPECT_EQ(Get("/api/v1/Format").status, 404);
  EXPECT_EQ(Get("/api/v1/CreateSweep").status, 404) << "not served";
  EXPECT_EQ(Get("/elsewhere").status, 404);
}

// "INVALID_ARGUMENT:: Root element must be a message." and two lines with a caret were shown.
TEST_F(PageTest, AWrongBodyIsSaidInOneLineInWordsOfTheApi) {
  const auto reason = [this](const std::string& body) {
    const std::string text = Json::parse(Post("/api/v1/PauseSweep", body).body)["error"]["message"];
    return std::string(
        absl::StripPrefix(text, "PauseSweep: expected the JSON of PauseSweepRequest: "));
  };
  EXPECT_EQ(reason(R"({"sweeep": "s1"})"), "sweeep: no such field");
  EXPECT_EQ(reason("[1]"), "expected an object");
  EXPECT_EQ(reason(R"({"sweep": {}})"), "expected no object for sweep");
  EXPECT_EQ(reason(R"({"sweep": "s1")"),
            "Unexpected end of string. Expected , or } after key:value pair");
}

TEST_F(PageTest, NothingIsChangedByAGet) {
  const std::string sweep = Submit(Spec("a", 1));
  for (const MethodRule& rule : MethodRules()) {
    if (rule.page == PageUse::kPost) {
      const Answer answer = Get(absl::StrCat("/api/v1/", rule.name(), "?sweep=", sweep));
      EXPECT_EQ(answer.status, 405) << rule.name();
      EXPECT_THAT(answer.head, HasSubstr("Allow: POST"));
    } else if (rule.page != PageUse::kNone) {
      EXPECT_EQ(Post(absl::StrCat("/api/v1/", rule.name()), "{}").status, 405) << rule.name();
    }
  }
  EXPECT_EQ(GetSweep(sweep).state(), v1::Sweep::STATE_ACTIVE);
}

TEST(PageMethodsTest, WhatIsServedByGetIsNotAuditedAndWhatIsPostedIs) {
  for (const MethodRule& rule : MethodRules()) {
    if (rule.page != PageUse::kNone) {
      EXPECT_EQ(rule.audited, rule.page == PageUse::kPost) << rule.path;
      EXPECT_EQ(rule.streams != StreamLimit::kNoStream,
                rule.page == PageUse::kEvents || rule.page == PageUse::kUpdates)
          << rule.path;
      EXPECT_NE(rule.least, Role::kWorker) << rule.path;
    }
  }
}

TEST_F(PageTest, ActionsArePosted) {
  const std::string sweep = Submit(Spec("a", 1));
  const std::string body = Json({{"sweep", sweep}}).dump();
  EXPECT_EQ(Post("/api/v1/PauseSweep", body).json()["state"], "STATE_PAUSED");
  EXPECT_EQ(Post("/api/v1/ResumeSweep", body).json()["state"], "STATE_ACTIVE");
  EXPECT_EQ(Post("/api/v1/CancelSweep", body).status, 200);
  EXPECT_EQ(Post("/api/v1/RetryJobs", body).json()["retried"], 2);
}

TEST_F(PageTest, EventsOfASweepEndWithIt) {
  const std::string sweep = Submit(Spec("a", 1));
  RunAll(absl::Seconds(1));
  const Answer answer = Get("/api/v1/WatchSweep?sweep=" + sweep);
  EXPECT_THAT(answer.head, HasSubstr("text/event-stream"));
  EXPECT_THAT(answer.body, HasSubstr("event: message\ndata: {\"sweep\":{\"id\":\"" + sweep));
  EXPECT_THAT(answer.body, HasSubstr("event: end\n"));
  EXPECT_THAT(Get("/api/v1/WatchSweep?sweep=s99").body,
              AllOf(HasSubstr("event: error\n"), HasSubstr("NOT_FOUND")));
}

TEST_F(PageTest, ScoresAndTheMatrixAreThoseOfTheCommands) {
  const std::string sweep = Submit(Spec("a", 1));
  RunAll(absl::Seconds(1));
  const Json scores = Get("/api/v1/scores?sweep=" + sweep).json();
  EXPECT_THAT(scores["approaches"], SizeIs(1));
  EXPECT_THAT(scores["benchmarks"], SizeIs(2));
  EXPECT_THAT(Get("/api/v1/scores?format=csv&sweep=" + sweep).body, HasSubstr("approach,"));
  const Answer matrix = Get("/api/v1/matrix?sweep=" + sweep);
  EXPECT_EQ(matrix.json()["coefficient"], "kendall");
  EXPECT_EQ(Get("/api/v1/matrix?sweep=" + sweep).body, matrix.body) << "from what was kept";
  EXPECT_THAT(Get("/api/v1/matrix?format=svg&sweep=" + sweep).body, HasSubstr("<svg"));
  EXPECT_EQ(Get("/api/v1/matrix?sweep=s99").status, 404);
  const Json ranking = Get("/api/v1/rank?sweep=" + sweep).json();
  EXPECT_THAT(ranking["title"], HasSubstr("ranked by all (2 benchmarks)"));
  EXPECT_EQ(ranking["rows"][0]["rank"], 1);
  EXPECT_FALSE(ranking["rows"][0].contains("rank_low")) << "of one approach";
  EXPECT_THAT(Get("/api/v1/rank?format=csv&sweep=" + sweep).body, HasSubstr("rank,approach,all"));
  EXPECT_EQ(Get("/api/v1/rank?format=svg&sweep=" + sweep).status, 400);
}

TEST_F(PageTest, AHostileTextIsTextEverywhere) {
  SweepSpec spec = Spec("a", 1);
  spec.description = "</script><script>alert(1)</script>";
  const std::string sweep = Submit(spec);
  const Answer answer = Get("/api/v1/GetSweep?include_spec=true&sweep=" + sweep);
  EXPECT_THAT(answer.head, AllOf(HasSubstr("application/json"), HasSubstr("nosniff")));
  EXPECT_EQ(answer.json()["spec"]["description"], spec.description);
}

TEST_F(PageTest, EveryAnswerForbidsForeignScriptsAndFrames) {
  for (const char* path :
       {"/", "/page.js", "/page.css", "/icon.svg", "/none", "/api/v1/ListSweeps", "/api/v1/none"}) {
    const Answer answer = Get(path);
    EXPECT_THAT(answer.head, HasSubstr("script-src 'self'")) << path;
    EXPECT_THAT(answer.head, HasSubstr("frame-ancestors 'none'")) << path;
    EXPECT_THAT(answer.head, HasSubstr("X-Frame-Options: DENY")) << path;
    EXPECT_THAT(answer.head, HasSubstr("X-Content-Type-Options: nosniff")) << path;
    EXPECT_THAT(answer.head, HasSubstr("Cross-Origin-Resource-Policy: same-origin")) << path;
    EXPECT_THAT(answer.head, Not(HasSubstr("unsafe-inline"))) << path;
    EXPECT_THAT(answer.head, Not(HasSubstr("Access-Control-Allow"))) << path;
  }
  EXPECT_THAT(Get("/").body, Not(HasSubstr("<script>"))) << "nothing inline";
}

TEST_F(PageTest, ANameReboundToThisMachineGetsNothing) {
  for (const char* path : {"/", "/page.js", "/api/v1/ListSweeps", "/api/v1/openapi.json"}) {
    Ask ask{"GET", path, {kCsrf}};
    ask.host = "evil.example:7449";
    EXPECT_EQ(Send(ask).status, 403) << path;
  }
}

TEST_F(PageTest, AnotherSitesPageChangesAndReadsNothing) {
  const std::string sweep = Submit(Spec("a", 1));
  const std::string body = Json({{"sweep", sweep}}).dump();
  EXPECT_EQ(Post("/api/v1/PauseSweep", body, {kCsrf, "Origin: http://evil.example"}).status, 403);
  EXPECT_EQ(Post("/api/v1/PauseSweep", body, {kCsrf, "Sec-Fetch-Site: cross-site"}).status, 403);
  EXPECT_EQ(Post("/api/v1/PauseSweep", body, {}).status, 403) << "a form cannot set the header";
  EXPECT_EQ(Get("/api/v1/ListSweeps", {"Sec-Fetch-Site: cross-site", kCsrf}).status, 403);
  EXPECT_EQ(Get("/api/v1/ListSweeps", {}).status, 403);
  // The content types that a form can send.
  const Ask form{
      "POST", "/api/v1/PauseSweep", {kCsrf, "Content-Type: text/plain", "Content-Length: 0"}};
  EXPECT_EQ(Send(form).status, 400);
  EXPECT_EQ(GetSweep(sweep).state(), v1::Sweep::STATE_ACTIVE);
}

// The page's form finds the field by the path that an error begins with.
TEST_F(PageTest, APoolIsAddedAndRemovedAndAnErrorNamesItsField) {
  Json spec = {
      {"name", "here"}, {"provider", "PROVIDER_LOCAL"}, {"resources", {{"cpu_millis", "500"}}}};
  const auto create = [&](bool validate_only) {
    return Post("/api/v1/CreatePool",
                Json({{"spec", spec}, {"validate_only", validate_only}}).dump());
  };
  Answer answer = create(false);
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.json()["error"]["message"].get<std::string>(),
              StartsWith("spec.workers.max: expected 1 to 10000"));
  spec["workers_max"] = 2;
  spec["setup"] = {"true", "a\nb"};
  answer = create(false);
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.json()["error"]["message"].get<std::string>(), StartsWith("spec.setup[1]: "));
  spec.erase("setup");
  spec["slurm"]["nonsense"] = 1;
  answer = create(false);
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.json()["error"]["message"].get<std::string>(), HasSubstr("(spec.slurm)"));
  spec.erase("slurm");
  spec["worker_program"] = "/bin/true";
  EXPECT_EQ(create(true).status, 200);
  EXPECT_THAT(Get("/api/v1/ListPools").json()["pools"], SizeIs(0)) << "it was only tried";
  EXPECT_EQ(create(false).status, 200);
  EXPECT_EQ(create(false).status, 200) << "the same again";
  EXPECT_THAT(Get("/api/v1/ListPools").json()["pools"], SizeIs(1));
  EXPECT_EQ(Post("/api/v1/DeletePool", R"({"pool":"here"})").status, 200);
  EXPECT_EQ(Post("/api/v1/DeletePool", R"({"pool":"there"})").status, 404);
}

TEST_F(PageTest, RolesAreThoseOfTheTokens) {
  const std::string sweep = Submit(Spec("a", 1));
  RequireTokens();
  const std::string body = Json({{"sweep", sweep}}).dump();
  const std::string viewer = TokenHeader("vera", Role::kViewer);
  const std::string other = TokenHeader("otto", Role::kSubmitter);
  const std::string owner = TokenHeader("ada", Role::kSubmitter);
  const std::string worker = TokenHeader("w", Role::kWorker);
  EXPECT_EQ(Get("/api/v1/ListSweeps", {}).status, 401);
  EXPECT_EQ(Get("/api/v1/ListSweeps").status, 401);
  EXPECT_EQ(Get("/api/v1/ListSweeps", {"Authorization: Bearer nonsense"}).status, 401);
  // It ended the coordinator.
  EXPECT_EQ(Get("/api/v1/ListSweeps", {"Authorization: Bearer a\rb"}).status, 401);
  EXPECT_EQ(Get("/api/v1/ListSweeps", {"Authorization: Bearer \xff"}).status, 401);
  EXPECT_EQ(Get("/api/v1/matrix?sweep=" + sweep, {}).status, 401);
  EXPECT_EQ(Get("/api/v1/ListSweeps", {viewer}).status, 200);
  EXPECT_EQ(Get("/api/v1/session", {viewer}).json()["role"], "viewer");
  EXPECT_EQ(Post("/api/v1/PauseSweep", body, {viewer}).status, 403);
  EXPECT_EQ(Post("/api/v1/PauseSweep", body, {other}).status, 403);
  EXPECT_EQ(Post("/api/v1/PauseSweep", body, {owner}).status, 200);
  EXPECT_EQ(Post("/api/v1/DrainWorker", R"({"worker":"w"})", {owner}).status, 403);
  EXPECT_EQ(Post("/api/v1/CreatePool", "{}", {owner}).status, 403);
  EXPECT_EQ(Post("/api/v1/DeletePool", R"({"pool":"here"})", {owner}).status, 403);
  EXPECT_THAT(Get("/api/v1/ListSweeps", {worker}).status, AnyOf(401, 403));
  EXPECT_EQ(Get("/api/v1/session", {worker}).status, 403);
  EXPECT_EQ(Get("/api/v1/WatchSweep?sweep=" + sweep, {}).status, 401);
  const std::string admin = TokenHeader("root", Role::kAdmin);
  for (const std::string& lesser : {viewer, other, owner, worker}) {
    EXPECT_EQ(Get("/api/v1/ListAuditEntries", {lesser}).status, 403);
    EXPECT_EQ(Get("/api/v1/ListAuditEntries?strangers=true", {lesser}).status, 403);
  }
  EXPECT_EQ(Get("/api/v1/ListAuditEntries", {}).status, 401);
  const Json refused = Get("/api/v1/ListAuditEntries?failed_only=true&user=vera", {admin}).json();
  ASSERT_THAT(refused["entries"], SizeIs(3)) << "the pause and both attempts to read the log";
  EXPECT_EQ(refused["entries"][2]["method"], "PauseSweep");
  EXPECT_EQ(refused["entries"][2]["outcome"], "permission_denied");
  const Json strangers = Get("/api/v1/ListAuditEntries?strangers=true", {admin}).json();
  EXPECT_EQ(strangers["entries"][0]["user"], "");
}

TEST_F(PageTest, ActionsAreAuditedWithTheirUserAndAddress) {
  const std::string sweep = Submit(Spec("a", 1));
  RequireTokens();
  const std::string owner = TokenHeader("ada", Role::kSubmitter);
  EXPECT_EQ(Post("/api/v1/PauseSweep", Json({{"sweep", sweep}}).dump(), {owner}).status, 200);
  EXPECT_EQ(Post("/api/v1/login", R"({"token":"guessed"})", {}).status, 401);
  const std::string calls = ReadFile(options_.data_directory + "/audit/calls.jsonl").value();
  EXPECT_THAT(calls, HasSubstr("\"method\":\"PauseSweep\""));
  EXPECT_THAT(calls, HasSubstr("\"peer\":\"ipv4:127.0.0.1:"));
  EXPECT_THAT(ReadFile(options_.data_directory + "/audit/refused.jsonl").value(),
              HasSubstr("\"method\":\"LogIn\""));
}

TEST_F(PageTest, ACallOverASocketCannotClaimAnotherAddress) {
  const std::string sweep = Submit(Spec("a", 1));
  grpc::ClientContext context;
  context.AddMetadata(page::kPagePeerMetadata, "ipv4:10.9.8.7:1");
  v1::PauseSweepRequest request;
  request.set_sweep(sweep);
  v1::Sweep response;
  EXPECT_TRUE(client().PauseSweep(&context, request, &response).ok());
  EXPECT_THAT(ReadFile(options_.data_directory + "/audit/calls.jsonl").value(),
              AllOf(HasSubstr("PauseSweep"), Not(HasSubstr("10.9.8.7"))));
}

TEST_F(PageTest, TheLinkLogsInOnceAndTheCookieAloneOpensNothing) {
  const std::string sweep = Submit(Spec("a", 1));
  RequireTokens();
  EXPECT_THAT(Link(), StartsWith(server().page_address() + "#login="));
  const std::string used = Code();
  const auto [cookie, csrf] = LogIn();
  EXPECT_EQ(Post("/api/v1/login", Json({{"code", used}}).dump(), {}).status, 401);
  EXPECT_EQ(Get("/api/v1/session", {cookie, csrf}).json()["user"], "ada");
  EXPECT_EQ(Get("/api/v1/ListSweeps", {cookie}).status, 403)
      << "servers on other ports of this machine see the cookie";
  EXPECT_EQ(Get("/api/v1/ListSweeps", {cookie, kCsrf}).status, 403);
  EXPECT_EQ(Get("/api/v1/ListSweeps", {csrf}).status, 401);
  const std::string body = Json({{"sweep", sweep}}).dump();
  EXPECT_EQ(Post("/api/v1/PauseSweep", body, {cookie}).status, 403);
  EXPECT_EQ(Post("/api/v1/PauseSweep", body, {cookie, csrf}).status, 200);
  EXPECT_EQ(Get("/api/v1/ListSweeps", {cookie, csrf, "Origin: http://evil.example"}).status, 403);
}

TEST_F(PageTest, TheCookieIsForThisSiteAloneAndSurvivesARestart) {
  options_.without_authentication = false;
  Restart();
  const Answer answer = Post("/api/v1/login", Json({{"code", Code()}}).dump(), {});
  EXPECT_THAT(answer.head, AllOf(HasSubstr("HttpOnly"), HasSubstr("SameSite=Strict"),
                                 HasSubstr("Path=/api/"), HasSubstr("Max-Age=604800")));
  auto [cookie, csrf] = LogIn();
  const std::string port = address().substr(address().rfind(':') + 1);
  EXPECT_THAT(cookie, HasSubstr("concur_session_" + port));
  options_.page_listen = address();
  Restart();
  EXPECT_EQ(Get("/api/v1/session", {cookie, csrf}).status, 200);
}

TEST_F(PageTest, ARevokedTokenEndsItsSessions) {
  RequireTokens();
  const NewToken token = CreateToken(options_.data_directory, "vera", Role::kViewer,
                                     absl::InfiniteFuture(), absl::Now())
                             .value();
  const Answer login = Post("/api/v1/login", Json({{"token", token.token}}).dump(), {});
  EXPECT_EQ(login.json()["user"], "vera");
  const size_t begin = login.head.find("Set-Cookie: ") + 12;
  const std::string cookie =
      absl::StrCat("Cookie: ", login.head.substr(begin, login.head.find(';', begin) - begin));
  const std::string csrf = absl::StrCat("X-Concur-CSRF: ", login.json()["csrf"].get<std::string>());
  EXPECT_EQ(Get("/api/v1/ListSweeps", {cookie, csrf}).status, 200);
  EXPECT_OK(RevokeToken(options_.data_directory, token.record.id, absl::Now()));
  EXPECT_EQ(Get("/api/v1/ListSweeps", {cookie, csrf}).status, 401);
}

TEST_F(PageTest, OnlyTheLoopbackDeviceIsListenedOn) {
  for (const char* address :
       {"0.0.0.0:0", "[::]:0", "192.0.2.1:0", "localhost", "example.org:80"}) {
    page::PageOptions options;
    options.listen = address;
    options.data_directory = options_.data_directory;
    SystemClock clock;
    EXPECT_THAT(page::PageServer::Start(clock, std::move(options), nullptr),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_))
        << address;
  }
}

// 200 viewers of a busy sweep halved the rate of its jobs.
TEST_F(PageTest, ManyChangesReachAViewerInFewMessages) {
  const std::string sweep = Submit(Spec("a", 1));
  const FileDescriptor viewer = ConnectTo(address());
  const std::string request = absl::StrCat("GET /api/v1/WatchSweep?sweep=", sweep,
                                           " HTTP/1.1\r\nHost: 127.0.0.1\r\n", kCsrf, "\r\n\r\n");
  ASSERT_EQ(send(viewer.get(), request.data(), request.size(), 0),
            static_cast<ssize_t>(request.size()));
  std::string text;
  char buffer[65536];
  const auto read_until = [&](const std::string& wanted) {
    while (!absl::StrContains(text, wanted)) {
      const ssize_t got = recv(viewer.get(), buffer, sizeof buffer, 0);
      ASSERT_GT(got, 0);
      text.append(buffer, static_cast<size_t>(got));
    }
  };
  read_until("event: message");
  const absl::Time begin = absl::Now();
  const std::string body = Json({{"sweep", sweep}}).dump();
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(Post("/api/v1/PauseSweep", body).status, 200);
    ASSERT_EQ(Post("/api/v1/ResumeSweep", body).status, 200);
  }
  ASSERT_EQ(Post("/api/v1/CancelSweep", body).status, 200);
  read_until("event: end");
  EXPECT_THAT(text, HasSubstr("STATE_CANCELED")) << "the last change is told of";
  // One message a tick of 200 ms, the snapshot, and the two that were under way at the ends.
  const auto messages_max =
      3 + static_cast<size_t>((absl::Now() - begin) / absl::Milliseconds(200));
  const std::vector<std::string> pieces = absl::StrSplit(text, "event: message\n");
  EXPECT_LE(pieces.size() - 1, messages_max);
}

TEST_F(PageTest, AStreamOpenAtTheEndOfTheServerIsClosed) {
  const std::string sweep = Submit(Spec("a", 1));
  const FileDescriptor viewer = ConnectTo(address());
  const std::string request = absl::StrCat("GET /api/v1/WatchSweep?sweep=", sweep,
                                           " HTTP/1.1\r\nHost: 127.0.0.1\r\n", kCsrf, "\r\n\r\n");
  ASSERT_EQ(send(viewer.get(), request.data(), request.size(), 0),
            static_cast<ssize_t>(request.size()));
  std::string text;
  char buffer[4096];
  while (!absl::StrContains(text, "event: message")) {
    const ssize_t got = recv(viewer.get(), buffer, sizeof buffer, 0);
    ASSERT_GT(got, 0);
    text.append(buffer, static_cast<size_t>(got));
  }
  Restart();
  for (ssize_t got; (got = recv(viewer.get(), buffer, sizeof buffer, 0)) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
  }
  EXPECT_THAT(text, Not(HasSubstr("event: end"))) << "the page must come back";
}

// docs/openapi.json is written anew with CONCUR_UPDATE_GOLDEN=1.
TEST_F(PageTest, TheOpenApiDocumentIsThatOfTheDocsAndListsEveryMethod) {
  const std::string served = Get("/api/v1/openapi.json", {}).body;
  const char* root = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  const std::string path = absl::StrCat(root == nullptr ? "." : root, "/docs/openapi.json");
  if (std::getenv("CONCUR_UPDATE_GOLDEN") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    ASSERT_OK(WriteFileAtomically(path, served));
  }
  EXPECT_EQ(ReadFile(path).value_or(""), served) << "run with CONCUR_UPDATE_GOLDEN=1";
  const Json document = Json::parse(served);
  size_t expected = 6;  // scores, matrix, rank, session, login, logout
  for (const MethodRule& rule : MethodRules()) {
    if (rule.page != PageUse::kNone) {
      ++expected;
      const Json& path_item = document["paths"][absl::StrCat("/", rule.name())];
      EXPECT_TRUE(path_item.contains(rule.page == PageUse::kPost ? "post" : "get")) << rule.name();
    }
  }
  EXPECT_EQ(document["paths"].size(), expected);
}

}  // namespace
}  // namespace concur::testing
