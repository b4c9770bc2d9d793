// SPDX-License-Identifier: Apache-2.0
// The log of a room: what is saved survives, what was cut off is dropped, damage is refused.
#include "studies/annotation/log.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "studies/annotation/directory.h"
#include "tests/studies/annotation/scene.h"
#include "tests/testing/test.h"

namespace concur::annotation {
namespace {

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

constexpr char kPassageLines[] =
    "{\"id\": \"rhine\", \"title\": \"Rivers\", \"text\": \"The Rhine flows from the Alps.\"}\n"
    "{\"id\": \"danube\", \"text\": \"The Danube passes Vienna.\"}\n";

class RoomDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(WriteFileAtomically(passages_, kPassageLines));
    ASSERT_OK(MakeRoom(room_, passages_, "", {}, kStart));
  }
  absl::StatusOr<std::unique_ptr<LiveRoom>> OpenLive() {
    CONCUR_ASSIGN_OR_RETURN(RoomLock lock, RoomLock::Take(room_));
    return LiveRoom::Open(room_, std::move(lock));
  }
  std::string LogText() { return ReadFile(room_ + "/log.jsonl").value(); }
  void SetLog(const std::string& text) {
    ASSERT_OK(WriteFileAtomically(room_ + "/log.jsonl", text));
  }
  static Event Invitation(const std::string& name) {
    Event event;
    event.kind = EventKind::kAnnotator;
    event.time = kStart;
    event.annotator = name;
    event.code_digest = Sha256Of(name).ToHex();
    return event;
  }
  static Event Assignment() {
    Event event;
    event.kind = EventKind::kAssignment;
    event.time = kStart;
    event.annotator = "ada";
    event.passage = "rhine";
    return event;
  }

  TempDir directory_;
  const std::string passages_ = directory_.File("passages.jsonl");
  const std::string room_ = directory_.File("room");
};

TEST_F(RoomDirectoryTest, EveryEventIsReadAsItWasWritten) {
  Scene scene;
  ASSERT_OK(scene.Take("ada", "zürich"));
  Event hostile = scene.AttemptOf("ada", "zürich", "Zürich", "</script>\" \\ \u2028 ü");
  hostile.question = "<script>alert('1')</script> \u202e 😀 \"quoted\"?";
  ASSERT_OK(scene.Do(hostile));
  scene.now += scene.room.settings().hold;
  ASSERT_OK(scene.Take("bob", "zürich"));
  ASSERT_OK(scene.Validate("bob", 1, ""));
  ASSERT_OK(scene.Invite("rita", /*is_reviewer=*/true));
  ASSERT_OK(scene.Review("rita", 1, "reject"));
  Event opening;
  opening.time = kStart;
  opening.settings = scene.room.settings();
  opening.settings.f1_win_max = 0.123456789012345678;
  opening.settings.qualification = 5;
  opening.settings.held_out = 0;
  opening.settings.answering = true;
  opening.passages_digest = Sha256Of("").ToHex();
  std::string text = EventLine(opening, "");
  for (const Event& event : scene.events) {
    text += EventLine(event, text);
  }
  ASSERT_OK_AND_ASSIGN(const LogContents contents, ParseLog(text, "log"));
  EXPECT_EQ(contents.bytes, text.size());
  EXPECT_EQ(contents.events.front(), opening);
  EXPECT_EQ(std::vector<Event>(contents.events.begin() + 1, contents.events.end()), scene.events);
}

TEST_F(RoomDirectoryTest, ANewRoomNeedsPassagesToHoldOutAndToTrain) {
  const std::string path = directory_.File("new");
  std::string lines;
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&lines, R"({"id": ")", i, R"(", "text": "Passage )", i, "\"}\n");
  }
  const std::string passages = directory_.File("four.jsonl");
  ASSERT_OK(WriteFileAtomically(passages, lines));
  Settings settings;
  for (const double share : {0.0, 0.25, 0.9}) {
    settings.held_out = share;
    EXPECT_THAT(
        MakeRoom(path, passages, "", settings, kStart),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("choose another --held-out")))
        << share;
  }
  settings.held_out = 0.5;
  ASSERT_OK(MakeRoom(path, passages, "", settings, kStart));
}

TEST_F(RoomDirectoryTest, AnswersToADataSetAreThereAfterARestart) {
  const std::string data = directory_.File("data.jsonl");
  ASSERT_OK(WriteFileAtomically(
      data,
      "{\"context\": \"Ada lives in Bern.\", \"qas\": [{\"qid\": \"1\", \"question\": "
      "\"Who?\", \"answers\": [\"Ada\"]}]}\n"));
  const std::string path = directory_.File("answers");
  Settings settings;
  settings.answering = true;
  EXPECT_THAT(MakeRoom(path, passages_, "", settings, kStart),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("passages.jsonl")))
      << "no data set";
  ASSERT_OK(MakeRoom(path, data, "", settings, kStart));
  for (int start = 0; start < 2; ++start) {
    ASSERT_OK_AND_ASSIGN(RoomLock lock, RoomLock::Take(path));
    ASSERT_OK_AND_ASSIGN(const auto live, LiveRoom::Open(path, std::move(lock)));
    ASSERT_EQ(live->room().questions().size(), 1u);
    if (start == 0) {
      ASSERT_OK(live->Commit(Invitation("ada")));
      Event event;
      event.kind = EventKind::kAnswer;
      event.time = kStart;
      event.annotator = "ada";
      event.answer = qa::Span{0, 3};
      ASSERT_OK(live->Commit(event));
    }
    EXPECT_EQ(live->room().annotators().at("ada").answers.size(), 1u);
  }
}

TEST_F(RoomDirectoryTest, SeveralSystemsAreLoggedWithTheirAnswers) {
  Scene scene({}, {}, {SystemDigest(), Sha256Of("another").ToHex()});
  ASSERT_OK(scene.Take("ada", "rhine"));
  Event attempt = scene.AttemptOf("ada", "rhine", "Alps", "");
  attempt.system_answers = {"", "the \"Alps\""};
  ASSERT_OK(scene.Do(attempt));
  const std::string opening = LogText();
  std::string text = opening;
  for (const Event& event : scene.events) {
    text += EventLine(event, text);
  }
  ASSERT_OK_AND_ASSIGN(const LogContents contents, ParseLog(text, "log"));
  EXPECT_EQ(std::vector<Event>(contents.events.begin() + 1, contents.events.end()), scene.events);
  // A line that EventLine does not write is refused, whatever its checksum.
  for (const char* fields :
       {R"("systems":["a"])", R"("systems":["a",7])", R"("systems":"a")",
        R"("system":"a","systems":["a","b"])", R"("system":"a","system_answers":["x"])",
        R"("system_answer":"x")", R"("reviewer":false)", R"("verdict":7)"}) {
    const std::string rest = absl::StrCat(R"("event":"attempt","time":1,)", fields, "}");
    const std::string sum = Sha256Of(absl::StrCat(opening.substr(8, 16), rest)).ToHex();
    const std::string hostile =
        absl::StrCat(opening, R"({"sum":")", sum.substr(0, 16), "\",", rest, "\n");
    EXPECT_THAT(ParseLog(hostile, "log"), StatusIs(kDataLoss, HasSubstr("log:2: the line has")))
        << fields;
  }
}

TEST_F(RoomDirectoryTest, WhatWasCommittedIsThereAfterARestart) {
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LiveRoom> live, OpenLive());
    ASSERT_OK(live->Commit(Invitation("ada")));
    ASSERT_OK(live->Commit(Assignment()));
    EXPECT_THAT(RoomLock::Take(room_),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has this room open")));
  }
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LiveRoom> live, OpenLive());
  EXPECT_EQ(live->room().HeldBy("ada", kStart), 0u);
}

TEST_F(RoomDirectoryTest, OneProcessHasADirectoryBeforeItsRoomIsMade) {
  for (const std::string& path : {directory_.File("new"), room_}) {
    {
      ASSERT_OK_AND_ASSIGN(const RoomLock lock, RoomLock::Take(path));
      EXPECT_THAT(RoomLock::Take(path),
                  StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has this room open")));
    }
    EXPECT_OK(RoomLock::Take(path));
  }
}

TEST_F(RoomDirectoryTest, ADirectoryThatWasThereTakesASystemBeforeItsRoom) {
  const std::string path = directory_.File("made by hand");
  ASSERT_OK(MakeDirectories(path, 0755));
  ASSERT_OK_AND_ASSIGN(const RoomLock lock, RoomLock::Take(path));
  ASSERT_OK(MakeDirectories(path + "/systems", 0700));
  EXPECT_OK(MakeRoom(path, passages_, "", {}, kStart));
}

TEST_F(RoomDirectoryTest, ARefusedEventIsNotInTheLog) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LiveRoom> live, OpenLive());
  const std::string before = LogText();
  EXPECT_THAT(live->Commit(Assignment()), StatusIs(absl::StatusCode::kNotFound, HasSubstr("ada")));
  EXPECT_EQ(LogText(), before);
}

// Cut at every byte: what had its end is kept, and the next event follows it.
TEST_F(RoomDirectoryTest, ALastLineThatWasCutOffIsDropped) {
  const std::string opening = LogText();
  const std::string whole = opening + EventLine(Invitation("ada"), opening);
  const std::string last = EventLine(Assignment(), whole);
  for (size_t bytes = 0; bytes < last.size(); ++bytes) {
    SetLog(whole + last.substr(0, bytes));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LiveRoom> live, OpenLive());
    EXPECT_EQ(LogText(), whole);
    ASSERT_OK(live->Commit(Invitation("bob")));
    ASSERT_OK_AND_ASSIGN(const Room room, ReadRoom(room_));
    EXPECT_EQ(room.annotators().size(), 2u);
    EXPECT_FALSE(room.HeldBy("ada", kStart).has_value());
  }
}

// Every single byte of a line that was not the last is changed.
TEST_F(RoomDirectoryTest, DamageBeforeTheEndIsRefusedWithItsLine) {
  const std::string opening = LogText();
  const std::string line = EventLine(Invitation("ada"), opening);
  const std::string last = EventLine(Assignment(), line);
  for (size_t i = 0; i < line.size(); ++i) {
    std::string damaged = line;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_THAT(ParseLog(opening + damaged + last, "log.jsonl"),
                StatusIs(kDataLoss, HasSubstr("log.jsonl:2: ")))
        << i;
  }
  EXPECT_THAT(ParseLog(line, "log.jsonl"), StatusIs(kDataLoss, HasSubstr("log.jsonl:1: ")));
  EXPECT_THAT(ParseLog(opening + opening, "l"), StatusIs(kDataLoss, HasSubstr("l:2: ")));
  EXPECT_THAT(ParseLog("", "l"), StatusIs(kDataLoss, HasSubstr("l:1: ")));
}

// Each line had a sum of its own alone: questions could be removed, or their order changed.
TEST_F(RoomDirectoryTest, ARemovedOrMovedLineIsRefused) {
  std::vector<std::string> lines = {LogText()};
  std::string text = lines[0];
  for (const char* name : {"ada", "bob", "eve", "joe"}) {
    lines.push_back(EventLine(Invitation(name), text));
    text += lines.back();
  }
  ASSERT_OK(ParseLog(text, "l"));
  EXPECT_THAT(ParseLog(lines[0] + lines[2] + lines[3], "l"),
              StatusIs(kDataLoss, HasSubstr("l:2: sum: the line is damaged, or one before it")));
  EXPECT_THAT(ParseLog(lines[0] + lines[1] + lines[3], "l"),
              StatusIs(kDataLoss, HasSubstr("l:3: ")));
  EXPECT_THAT(ParseLog(lines[0] + lines[1] + lines[3] + lines[2], "l"),
              StatusIs(kDataLoss, HasSubstr("l:3: ")));
  EXPECT_THAT(ParseLog(lines[0] + lines[1] + lines[1], "l"),
              StatusIs(kDataLoss, HasSubstr("l:3: ")));
}

TEST_F(RoomDirectoryTest, ALogWithoutAChainGoesOnWithoutOne) {
  ASSERT_OK_AND_ASSIGN(LogContents contents, ParseLog(LogText(), "l"));
  contents.events[0].log_version = 1;
  SetLog(EventLine(contents.events[0], "") + EventLine(Invitation("ada"), ""));
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LiveRoom> live, OpenLive());
    EXPECT_FALSE(live->is_chained());
    ASSERT_OK(live->Commit(Invitation("bob")));
  }
  ASSERT_OK_AND_ASSIGN(const Room room, ReadRoom(room_));
  EXPECT_EQ(room.annotators().size(), 2u);
}

// One person who skipped passages for long enough left no room in the log for anybody else.
TEST_F(RoomDirectoryTest, OneAnnotatorFillsNoMoreThanAShareOfTheLog) {
  Event attempt = Assignment();
  attempt.kind = EventKind::kAttempt;
  attempt.question = std::string(size_t{4} << 20, 'x');
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Log> log, Log::Open(room_ + "/log.jsonl"));
    for (int i = 0; i < 3; ++i) {
      ASSERT_OK(log->Append(attempt));
    }
  }
  const auto full = StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("ada has filled"));
  for (const bool is_opened_again : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Log> log, Log::Open(room_ + "/log.jsonl"));
    EXPECT_THAT(log->Append(attempt), full) << is_opened_again;
    EXPECT_OK(log->Append(Invitation("ada"))) << "the host's";
    attempt.annotator = "bob";
    EXPECT_OK(log->Append(attempt));
    attempt.annotator = "ada";
  }
  EXPECT_OK(Log::Open(room_ + "/log.jsonl"));
}

TEST_F(RoomDirectoryTest, AnEventThatCannotHaveHappenedIsRefusedWithItsLine) {
  SetLog(LogText() + EventLine(Assignment(), LogText()));
  EXPECT_THAT(ReadRoom(room_), StatusIs(kDataLoss, HasSubstr("log.jsonl:2: annotator: ")));
}

TEST_F(RoomDirectoryTest, AnotherFileOfPassagesIsRefused) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LiveRoom> live, OpenLive());
  ASSERT_OK(live->CheckIsOf(passages_, ""));
  ASSERT_OK(WriteFileAtomically(passages_, "{\"id\": \"x\", \"text\": \"Another.\"}\n"));
  EXPECT_THAT(live->CheckIsOf(passages_, ""),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--passages")));
  EXPECT_THAT(MakeRoom(room_, passages_, "", {}, kStart),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("already")));
  ASSERT_OK_AND_ASSIGN(const Room room, ReadRoom(room_));
  EXPECT_EQ(room.passages().size(), 2u) << "the room's own copy is as it was";
  ASSERT_OK(WriteFileAtomically(room_ + "/passages", "{\"id\": \"x\", \"text\": \"Another.\"}\n"));
  EXPECT_THAT(ReadRoom(room_), StatusIs(kDataLoss, HasSubstr("changed")));
}

TEST_F(RoomDirectoryTest, WithoutARoomThereIsNoneToRead) {
  EXPECT_THAT(ReadRoom(directory_.File("other")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("--passages makes one")));
}

TEST_F(RoomDirectoryTest, PassagesThatCannotBeShownAreRefusedWithTheirLine) {
  const std::string good = "{\"id\": \"a\", \"text\": \"One.\"}\n";
  const auto refused = [&](const std::string& line, const std::string& part) {
    ASSERT_OK(WriteFileAtomically(passages_, good + line + "\n"));
    EXPECT_THAT(ReadPassages(passages_),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("passages.jsonl:2: ", part))));
  };
  refused("{\"id\": \"a\", \"text\": \"Two.\"}", "id: \"a\" was there before");
  refused("{\"id\": \"b\", \"text\": \"One.\"}", "text: an earlier passage has the same");
  refused("{\"id\": \"b\", \"text\": \" \"}", "text: expected a passage");
  refused("{\"id\": \"b\", \"text\": \"a\\r\\nb\"}", "text: expected no control");
  refused("{\"id\": \"b\\n\", \"text\": \"a\"}", "id: ");
  refused("{\"id\": \"b\"}", "text: ");
  refused("{\"id\": \"b\", \"text\": 3}", "text: ");
  refused(absl::StrCat("{\"id\": \"b\", \"text\": \"", std::string(100'000, 'x'), "\"}"),
          "text: expected at most");
}

TEST_F(RoomDirectoryTest, ADataSetGivesItsPassagesAndKnownQuestions) {
  const std::string data = directory_.File("data.jsonl");
  ASSERT_OK(WriteFileAtomically(
      data,
      "{\"context\": \"Bern is a town.\", \"qas\": [{\"qid\": \"1\", \"question\": \"What is a "
      "town?\", \"answers\": [\"Bern\"]}]}\n{\"context\": \"Bern is a town.\", \"qas\": []}\n"
      "{\"context\": \"Second.\", \"qas\": []}\n"));
  ASSERT_OK_AND_ASSIGN(const std::vector<SourcePassage> passages, ReadPassages(data));
  ASSERT_EQ(passages.size(), 2u);
  EXPECT_EQ(passages[1].id, "p2");
  EXPECT_EQ(passages[1].text, "Second.");
  ASSERT_OK_AND_ASSIGN(const std::vector<KnownQuestion> known, ReadOnboarding(data));
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].question, "What is a town?");
  EXPECT_EQ(known[0].answers, std::vector<std::string>{"Bern"});
}

}  // namespace
}  // namespace concur::annotation
