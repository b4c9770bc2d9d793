// SPDX-License-Identifier: Apache-2.0
// The annotators' API: who may ask, what is saved, and what hostile requests get.
#include "studies/annotation/server.h"

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/notification.h"
#include "base/clock.h"
#include "base/file.h"
#include "tests/studies/annotation/scene.h"
#include "tests/testing/http_client.h"
#include "tests/testing/test.h"

namespace concur::annotation {
namespace {

using ::concur::testing::SendRaw;
using Json = nlohmann::json;

constexpr char kLines[] =
    "{\"id\": \"rhine\", \"text\": \"Der Rhein fließt von den Alpen.\"}\n"
    "{\"id\": \"danube\", \"text\": \"The Danube passes Vienna.\"}\n"
    "{\"id\": \"seine\", \"text\": \"The Seine passes Paris.\"}\n";
constexpr char kKnown[] =
    "{\"context\": \"Ada lives in Bern.\", \"qas\": [{\"qid\": \"1\", \"question\": \"Who?\", "
    "\"answers\": [\"Ada\"]}]}\n";

// Answers as the test says.
class FakeSystem : public System {
 public:
  absl::StatusOr<std::string> Answer(const std::string& passage,
                                     const std::string& question) override {
    before();
    asked += passage + "|" + question + "\n";
    return answer;
  }
  void Cancel() override {}
  absl::StatusOr<std::string> answer = std::string("Vienna");
  std::string asked;
  std::function<void()> before = [] {};
};

std::set<std::string> FieldsOf(const Json& object) {
  std::set<std::string> fields;
  for (const auto& item : object.items()) {
    fields.insert(item.key());
  }
  return fields;
}

struct Reply {
  int status = 0;
  std::string head;
  Json body;
};

class AnnotationServerTest : public ::testing::Test {
 protected:
  void Open(const std::string& known, bool with_system = true, bool answering = false) {
    ASSERT_OK(WriteFileAtomically(directory_.File("lines"), answering ? kKnown : kLines));
    std::string onboarding;
    if (!known.empty()) {
      onboarding = directory_.File("known");
      ASSERT_OK(WriteFileAtomically(onboarding, known));
    }
    Settings settings;
    settings.validators = 1;
    settings.answering = answering;
    if (!HasRoom(directory_.File("room"))) {
      ASSERT_OK(MakeRoom(directory_.File("room"), directory_.File("lines"), onboarding, settings,
                         kStart));
    }
    ASSERT_OK_AND_ASSIGN(RoomLock lock, RoomLock::Take(directory_.File("room")));
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<LiveRoom> room,
                         LiveRoom::Open(directory_.File("room"), std::move(lock)));
    std::vector<std::unique_ptr<System>> systems;
    if (with_system) {
      Event event;
      event.kind = EventKind::kSystem;
      event.systems = {SystemDigest()};
      ASSERT_OK(room->Commit(event));
      auto system = std::make_unique<FakeSystem>();
      system_ = system.get();
      systems.push_back(std::move(system));
    }
    ASSERT_OK_AND_ASSIGN(server_,
                         AnnotationServer::Start(clock_, std::move(room), std::move(systems),
                                                 {"127.0.0.1:0", directory_.File("key")}));
  }

  Reply Send(const std::string& name, const std::string& method, const std::string& path,
             const std::string& body, const std::string& more = "") {
    const std::string host(
        absl::StripSuffix(absl::StripPrefix(server_->address(), "http://"), "/"));
    const auto& [cookie, csrf] = sessions_[name];
    const std::string text = SendRaw(
        host, absl::StrCat(method, " ", path, " HTTP/1.1\r\nHost: ", host,
                           "\r\nConnection: close\r\nContent-Type: application/json\r\nCookie: ",
                           cookie, "\r\nX-Concur-CSRF: ", csrf, "\r\n", more,
                           "Content-Length: ", body.size(), "\r\n\r\n", body));
    Reply reply;
    const size_t end = text.find("\r\n\r\n");
    reply.head = text.substr(0, end);
    reply.status = text.size() > 12 ? std::stoi(text.substr(9, 3)) : 0;
    reply.body = end == std::string::npos
                     ? Json()
                     : Json::parse(text.substr(end + 4), nullptr, /*allow_exceptions=*/false);
    return reply;
  }
  Reply Post(const std::string& name, const std::string& method, const Json& body) {
    return Send(name, "POST", "/api/v1/" + method, body.dump());
  }

  void LogIn(const std::string& name, bool is_reviewer = false) {
    ASSERT_OK_AND_ASSIGN(const std::string link, server_->MakeLink(name, is_reviewer));
    Redeem(name, link);
  }
  void Redeem(const std::string& name, const std::string& link) {
    const Reply reply = Post("", "login", {{"code", link.substr(link.find('=') + 1)}});
    ASSERT_EQ(reply.status, 200) << reply.body;
    const size_t cookie = reply.head.find("Set-Cookie: ") + 12;
    sessions_[name] = {reply.head.substr(cookie, reply.head.find(';', cookie) - cookie),
                       reply.body["csrf"]};
  }

  TempDir directory_;
  SystemClock clock_;
  FakeSystem* system_ = nullptr;
  std::map<std::string, std::pair<std::string, std::string>> sessions_;  // cookie, CSRF value
  std::unique_ptr<AnnotationServer> server_;
};

TEST_F(AnnotationServerTest, ALinkLogsInOnceAndANewOneEndsTheSession) {
  Open("");
  ASSERT_OK_AND_ASSIGN(const std::string link, server_->MakeLink("ada"));
  Redeem("ada", link);
  EXPECT_EQ(Send("ada", "GET", "/api/v1/state", "").body["user"], "ada");
  EXPECT_EQ(Post("", "login", {{"code", link.substr(link.find('=') + 1)}}).status, 401);
  EXPECT_EQ(Post("", "login", {{"code", ""}}).status, 401);
  EXPECT_EQ(Post("", "login", {{"code", 7}}).status, 400);
  EXPECT_THAT(server_->MakeLink("no name"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("annotator")));
  ASSERT_OK(server_->MakeLink("ada"));
  EXPECT_EQ(Send("ada", "GET", "/api/v1/state", "").status, 401);
  const std::string log = ReadFile(directory_.File("room/log.jsonl")).value();
  EXPECT_THAT(log, Not(HasSubstr(link.substr(link.find('=') + 1))));
}

TEST_F(AnnotationServerTest, SessionsSurviveARestart) {
  Open("");
  LogIn("ada");
  server_.reset();
  Open("");
  // The port is another one, and the cookie's name with it.
  auto& cookie = sessions_["ada"].first;
  const std::string port = server_->address().substr(server_->address().rfind(':') + 1);
  cookie = absl::StrCat("concur_annotation_", absl::StripSuffix(port, "/"),
                        cookie.substr(cookie.find('=')));
  EXPECT_EQ(Send("ada", "GET", "/api/v1/state", "").body["user"], "ada");
}

TEST_F(AnnotationServerTest, WithoutASessionNothingIsSeen) {
  Open("");
  LogIn("ada");
  for (const char* method : {"task", "attempt", "validation", "onboarding", "logout"}) {
    EXPECT_EQ(Post("", method, {{"kind", "writing"}}).status, 401) << method;
  }
  EXPECT_EQ(Send("", "GET", "/api/v1/state", "").status, 401);
  // The cookie alone is not enough: other ports of this machine are sent it, too.
  sessions_["thief"] = {sessions_["ada"].first, "guessed"};
  EXPECT_EQ(Send("thief", "GET", "/api/v1/state", "").status, 403);
  EXPECT_EQ(Send("ada", "GET", "/api/v1/state", "", "Origin: http://evil.example\r\n").status, 403);
  EXPECT_EQ(Send("ada", "GET", "/api/v1/ListSweeps", "").status, 405);
  EXPECT_EQ(Post("ada", "ListSweeps", Json::object()).status, 404);
  EXPECT_EQ(Send("ada", "GET", "/page.js", "").status, 404) << "the coordinator's page";
}

TEST_F(AnnotationServerTest, AnAttemptIsAnsweredBySystemAndSaved) {
  Open("");
  LogIn("ada");
  const Json task = Post("ada", "task", {{"kind", "writing"}}).body;
  EXPECT_EQ(task["passage"]["id"], "rhine");
  // "Alpen" in code points; the ß before it has two bytes.
  const Json attempt = {{"key", "k1"},
                        {"passage", "rhine"},
                        {"question", "<script>Woher?"},
                        {"begin", 25},
                        {"end", 30}};
  const Reply saved = Post("ada", "attempt", attempt);
  EXPECT_EQ(saved.body["winner"], "person") << saved.body;
  EXPECT_EQ(saved.body["answers"][0]["text"], "Vienna");
  EXPECT_EQ(Post("ada", "attempt", attempt).body, saved.body) << "sent again";
  EXPECT_EQ(system_->asked, "Der Rhein fließt von den Alpen.|<script>Woher?\n");
  server_.reset();
  ASSERT_OK_AND_ASSIGN(const Room room, ReadRoom(directory_.File("room")));
  ASSERT_EQ(room.attempts().size(), 1u);
  EXPECT_EQ(qa::TextOf(room.passages()[0].text, room.attempts()[0].answer), "Alpen");
}

TEST_F(AnnotationServerTest, ASystemThatDoesNotAnswerSavesNothing) {
  Open("");
  LogIn("ada");
  Post("ada", "task", {{"kind", "writing"}});
  system_->answer = absl::UnavailableError("the system died (its log: /srv/system.log)");
  const Json attempt = {
      {"key", "k1"}, {"passage", "rhine"}, {"question", "Woher?"}, {"begin", 25}, {"end", 30}};
  const Reply failed = Post("ada", "attempt", attempt);
  EXPECT_EQ(failed.status, 503);
  EXPECT_THAT(failed.body["error"]["message"], HasSubstr("did not answer"));
  EXPECT_THAT(failed.body.dump(), Not(HasSubstr("/srv"))) << "paths are for who runs it";
  system_->answer = std::string("Alpen");
  EXPECT_EQ(Post("ada", "attempt", attempt).body["winner"], "system");
}

TEST_F(AnnotationServerTest, OthersValidateWithoutSeeingTheAnswer) {
  Open("");
  LogIn("ada");
  LogIn("bob");
  Post("ada", "task", {{"kind", "writing"}});
  Post("ada", "attempt",
       {{"key", "k"}, {"passage", "rhine"}, {"question", "Woher?"}, {"begin", 25}, {"end", 30}});
  EXPECT_EQ(Post("bob", "task", {{"kind", "validating"}}).status, 404) << "ada has the passage";
  EXPECT_EQ(Post("bob", "task", {{"kind", "writing"}}).body["passage"]["id"], "danube");
  Post("ada", "task", {{"kind", "writing"}, {"skip", true}});
  const Reply task = Post("bob", "task", {{"kind", "validating"}});
  EXPECT_EQ(task.body["question"], "Woher?");
  EXPECT_THAT(FieldsOf(task.body), ElementsAre("kind", "number", "passage", "question"));
  EXPECT_THAT(FieldsOf(task.body["passage"]), ElementsAre("id", "text", "title"));
  EXPECT_EQ(Post("ada", "validation", {{"number", 1}, {"unanswerable", true}}).status, 409);
  const Reply saved = Post("bob", "validation", {{"number", 1}, {"begin", 25}, {"end", 30}});
  EXPECT_EQ(saved.body["author_answer"], "Alpen") << saved.body;
  EXPECT_EQ(Send("ada", "GET", "/api/v1/state", "").body["mine"]["kept"], 1);
  EXPECT_EQ(Post("bob", "validation", {{"number", 1}, {"begin", 25}, {"end", 30}}).body, saved.body)
      << "sent again";
  EXPECT_EQ(Post("bob", "validation", {{"number", 1}, {"begin", 0}, {"end", 9}}).status, 409);
}

// Her second view takes her another passage meanwhile.
TEST_F(AnnotationServerTest, ASlowSystemDelaysNobodyElseAndNoQuestionIsLost) {
  Open("");
  LogIn("ada");
  LogIn("bob");
  ASSERT_EQ(Post("ada", "task", {{"kind", "writing"}}).body["passage"]["id"], "rhine");
  ASSERT_EQ(Post("bob", "task", {{"kind", "writing"}}).body["passage"]["id"], "danube");
  ASSERT_EQ(
      Post("bob", "attempt",
           {{"key", "b"}, {"passage", "danube"}, {"question", "What?"}, {"begin", 4}, {"end", 10}})
          .body["winner"],
      "person");
  absl::Notification asked;
  absl::Notification go;
  system_->before = [&] {
    asked.Notify();
    go.WaitForNotification();
  };
  Json attempt = {
      {"key", "k1"}, {"passage", "rhine"}, {"question", "Woher?"}, {"begin", 25}, {"end", 30}};
  auto first =
      std::async(std::launch::async, [this, attempt] { return Post("ada", "attempt", attempt); });
  asked.WaitForNotification();
  EXPECT_EQ(Post("ada", "attempt", attempt).status, 429) << "it is being answered";
  attempt["key"] = "k2";
  EXPECT_EQ(Post("ada", "attempt", attempt).status, 429) << "one at a time";
  EXPECT_EQ(Post("bob", "task", {{"kind", "writing"}, {"skip", true}}).body["passage"]["id"],
            "seine");
  EXPECT_EQ(Post("ada", "task", {{"kind", "validating"}}).body["number"], 1);
  EXPECT_EQ(Post("ada", "validation", {{"number", 1}, {"begin", 4}, {"end", 10}}).body["agrees"],
            true);
  go.Notify();
  const Reply answered = first.get();
  EXPECT_EQ(answered.body["winner"], "person") << answered.body;
}

TEST_F(AnnotationServerTest, OnboardingComesFirst) {
  Open(kKnown, /*with_system=*/false);
  LogIn("ada");
  EXPECT_EQ(Post("ada", "task", {{"kind", "writing"}}).body["kind"], "onboarding");
  const auto answer = [&](int round, int number, int begin, int end) {
    return Post("ada", "onboarding",
                {{"round", round}, {"number", number}, {"begin", begin}, {"end", end}});
  };
  for (int sent = 0; sent < 2; ++sent) {
    EXPECT_EQ(answer(0, 0, 13, 17).body["again"], true) << "sent again: the same round";
    EXPECT_EQ(Post("ada", "task", {{"kind", "writing"}}).body["round"], 1);
  }
  EXPECT_EQ(answer(1, 1, 0, 3).status, 404);
  EXPECT_EQ(answer(0, 0, 0, 3).status, 409) << "an old round";
  const Reply right = answer(1, 0, 0, 3);
  EXPECT_EQ(right.body["onboarded"], true) << right.body;
  EXPECT_EQ(answer(1, 0, 0, 3).body, right.body) << "sent again";
  EXPECT_EQ(answer(1, 0, 0, 9).status, 409);
  EXPECT_EQ(Post("ada", "task", {{"kind", "writing"}}).body["kind"], "writing");
  EXPECT_EQ(
      Post("ada", "attempt",
           {{"key", "k"}, {"passage", "rhine"}, {"question", "Wo?"}, {"begin", 0}, {"end", 9}})
          .body["winner"],
      "person");
}

TEST_F(AnnotationServerTest, AReviewerSeesQuestionAnswerAndAuthorAndJudgesOnce) {
  Open("");
  LogIn("ada");
  LogIn("rita", /*is_reviewer=*/true);
  EXPECT_EQ(Send("ada", "GET", "/api/v1/state", "").body["reviewer"], false);
  EXPECT_EQ(Send("rita", "GET", "/api/v1/state", "").body["reviewer"], true);
  Post("ada", "task", {{"kind", "writing"}});
  EXPECT_EQ(Post("rita", "task", {{"kind", "reviewing"}}).status, 404);
  Post("ada", "attempt",
       {{"key", "k"}, {"passage", "rhine"}, {"question", "Woher?"}, {"begin", 25}, {"end", 30}});
  EXPECT_EQ(Post("ada", "task", {{"kind", "reviewing"}}).status, 403);
  const Reply task = Post("rita", "task", {{"kind", "reviewing"}});
  EXPECT_EQ(task.body["author"], "ada") << task.body;
  EXPECT_EQ(task.body["answer"], "Alpen");
  EXPECT_EQ(Post("ada", "review", {{"number", 1}, {"verdict", "accept"}}).status, 403);
  EXPECT_EQ(Post("", "review", {{"number", 1}, {"verdict", "accept"}}).status, 401);
  for (const Json& bad :
       {Json{{"number", 1}}, Json{{"number", 1}, {"verdict", 7}}, Json{{"verdict", "accept"}},
        Json{{"number", 1.5}, {"verdict", "accept"}}, Json{{"number", 1}, {"verdict", "maybe"}}}) {
    EXPECT_EQ(Post("rita", "review", bad).status, 400) << bad;
  }
  EXPECT_EQ(Post("rita", "review", {{"number", 2}, {"verdict", "accept"}}).status, 404);
  for (int sent = 0; sent < 2; ++sent) {
    EXPECT_EQ(Post("rita", "review", {{"number", 1}, {"verdict", "reject"}}).status, 200);
  }
  EXPECT_EQ(Post("rita", "review", {{"number", 1}, {"verdict", "accept"}}).status, 409);
  const Json state = Send("ada", "GET", "/api/v1/state", "").body;
  EXPECT_EQ(state["all"]["rejected"], 1);
  EXPECT_EQ(Post("ada", "task", {{"kind", "writing"}}).status, 200) << "one of one says little";
}

TEST_F(AnnotationServerTest, ExistingQuestionsAreAnsweredWithoutBeingTold) {
  Open("", /*with_system=*/false, /*answering=*/true);
  LogIn("ada");
  const Reply task = Post("ada", "task", {{"kind", "writing"}});
  EXPECT_EQ(task.body["kind"], "answering") << task.body;
  EXPECT_THAT(FieldsOf(task.body), ElementsAre("kind", "number", "of", "passage", "question"));
  EXPECT_EQ(Post("", "answer", {{"number", 0}, {"begin", 0}, {"end", 3}}).status, 401);
  for (const Json& bad : {Json{{"number", 0}}, Json{{"number", "0"}, {"begin", 0}, {"end", 3}},
                          Json{{"number", 0}, {"begin", 3}, {"end", 2}},
                          Json{{"number", 0}, {"begin", 0}, {"end", int64_t{1} << 60}}}) {
    EXPECT_EQ(Post("ada", "answer", bad).status, 400) << bad;
  }
  EXPECT_EQ(Post("ada", "answer", {{"number", 1}, {"begin", 0}, {"end", 3}}).status, 404);
  EXPECT_EQ(Post("ada", "answer", {{"number", -1}, {"begin", 0}, {"end", 3}}).status, 404);
  for (int sent = 0; sent < 2; ++sent) {
    const Reply saved = Post("ada", "answer", {{"number", 0}, {"begin", 0}, {"end", 3}});
    EXPECT_THAT(FieldsOf(saved.body), ElementsAre("saved")) << saved.body;
  }
  EXPECT_EQ(Post("ada", "answer", {{"number", 0}, {"unanswerable", true}}).status, 409);
  EXPECT_EQ(Post("ada", "task", {{"kind", "writing"}}).status, 404) << "all are answered";
  EXPECT_EQ(Post("ada", "attempt",
                 {{"key", "k"}, {"passage", "p1"}, {"question", "Wo?"}, {"begin", 0}, {"end", 3}})
                .status,
            409);
}

TEST_F(AnnotationServerTest, HostileRequestsAreRefusedAndSaveNothing) {
  Open("");
  LogIn("ada");
  Post("ada", "task", {{"kind", "writing"}});
  const std::string log = ReadFile(directory_.File("room/log.jsonl")).value();
  const Json good = {
      {"key", "k"}, {"passage", "rhine"}, {"question", "Woher?"}, {"begin", 25}, {"end", 30}};
  const auto refused = [&](const char* field, const Json& value, int status = 400) {
    Json bad = good;
    bad[field] = value;
    const Reply reply = Post("ada", "attempt", bad);
    EXPECT_EQ(reply.status, status) << field << " " << reply.body;
  };
  refused("question", std::string(2000, 'x'));
  refused("question", "two\nlines");
  refused("question", Json::array());
  refused("begin", -1);
  refused("begin", 1.5);
  refused("end", int64_t{1} << 62);
  refused("end", 25);
  refused("key", "");
  refused("passage", "../../etc/passwd", 404);
  EXPECT_EQ(
      Post("ada", "attempt",
           {{"key", "k"}, {"passage", "danube"}, {"question", "Wo?"}, {"begin", 4}, {"end", 9}})
          .status,
      409)
      << "not hers";
  EXPECT_EQ(Post("ada", "attempt", {{"question", std::string(1 << 20, 'x')}}).status, 413);
  for (const char* text : {"", "[]", "{", "\"\\ud800\"", "{\"key\": \"\xFF\"}"}) {
    EXPECT_EQ(Send("ada", "POST", "/api/v1/attempt", text).status, 400) << text;
  }
  EXPECT_EQ(Send("ada", "POST", "/api/v1/task", std::string(60'000, '[')).status, 400);
  EXPECT_EQ(Post("ada", "task", {{"kind", "onboarding"}}).status, 400);
  EXPECT_EQ(ReadFile(directory_.File("room/log.jsonl")).value(), log);
  EXPECT_EQ(system_->asked, "");
}

TEST_F(AnnotationServerTest, OnlyTheLoopbackDeviceIsServedAndInNoFrame) {
  Open("");
  const std::string host(absl::StripSuffix(absl::StripPrefix(server_->address(), "http://"), "/"));
  EXPECT_THAT(SendRaw(host, "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
              HasSubstr(" 403 "));
  const std::string page =
      SendRaw(host, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(page, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(page, HasSubstr("X-Frame-Options: DENY"));
  server_.reset();
  ASSERT_OK_AND_ASSIGN(RoomLock lock, RoomLock::Take(directory_.File("room")));
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<LiveRoom> room,
                       LiveRoom::Open(directory_.File("room"), std::move(lock)));
  EXPECT_THAT(
      AnnotationServer::Start(clock_, std::move(room), {}, {"0.0.0.0:0", directory_.File("key")}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("loopback")));
}

}  // namespace
}  // namespace concur::annotation
