// SPDX-License-Identifier: Apache-2.0
// Who gets which passage, who wins, and which questions are kept.
#include "studies/annotation/room.h"

#include <set>
#include <string>
#include <utility>

#include "tests/studies/annotation/scene.h"
#include "tests/testing/test.h"

namespace concur::annotation {
namespace {

constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(RoomTest, TheSystemWinsAboveTheLimitAndThePersonAtIt) {
  Settings settings;
  settings.f1_win_max = 0.5;
  Scene scene(settings);
  ASSERT_OK(scene.Take("ada", "rhine"));
  // "Alps" against "Alps to North": one of one and one of three words are shared, F1 0.5.
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", "Alps to North"));
  EXPECT_DOUBLE_EQ(scene.room.attempts()[0].BestAnswer()->f1, 0.5);
  EXPECT_EQ(scene.room.attempts()[0].state, QuestionState::kWaiting);
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", "the Alps to"));
  EXPECT_EQ(scene.room.attempts()[1].state, QuestionState::kSystemWon);
  ASSERT_OK(scene.Ask("ada", "rhine", "North Sea", ""));
  EXPECT_EQ(scene.room.attempts()[2].state, QuestionState::kWaiting) << "no answer loses";
  EXPECT_EQ(scene.room.annotators().at("ada").wins, 2);
}

// qa::F1 gives 0.4000000000000001.
TEST(RoomTest, TwoOfFiveSharedWordsAreAtTheDefaultLimit) {
  Scene scene;
  ASSERT_OK(scene.Take("ada", "rhine"));
  ASSERT_OK(scene.Ask("ada", "rhine", "Rhine flows from the Alps to", "Rhine Alps lie very far"));
  EXPECT_NEAR(scene.room.attempts()[0].BestAnswer()->f1, 0.4, 1e-12);
  EXPECT_EQ(scene.room.attempts()[0].state, QuestionState::kWaiting);
}

TEST(RoomTest, OnboardingAtItsLimitIsGoodEnough) {
  Settings settings;
  settings.onboarding_f1_min = 0.4;
  Scene scene(settings, {Known()});
  Event event;
  event.kind = EventKind::kOnboarding;
  event.annotator = "ada";
  // One of four words is the known one: F1 is 2 * 1 / (4 + 1).
  event.answer = SpanOf(Known().passage.text, "Bern is the seat of");
  ASSERT_OK(scene.Do(event));
  EXPECT_TRUE(scene.room.annotators().at("ada").onboarded);
}

TEST(RoomTest, WithoutASystemEveryQuestionCounts) {
  Scene scene({}, {}, {});
  ASSERT_OK(scene.Take("ada", "rhine"));
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", ""));
  EXPECT_EQ(scene.room.attempts()[0].state, QuestionState::kWaiting);
  Event answered = scene.AttemptOf("ada", "rhine", "Alps", "");
  answered.system_answers = {"Alps"};
  EXPECT_THAT(scene.Do(answered), StatusIs(kInvalid, HasSubstr("system")));
}

TEST(RoomTest, APersonWinsOnlyAgainstAllSystems) {
  const std::vector<std::string> systems = {SystemDigest(), Sha256Of("another").ToHex()};
  Scene scene({}, {}, systems);
  ASSERT_OK(scene.Take("ada", "rhine"));
  const auto ask = [&](std::vector<std::string> answers) {
    Event event = scene.AttemptOf("ada", "rhine", "North Sea", "");
    event.system_answers = std::move(answers);
    return scene.Do(event);
  };
  ASSERT_OK(ask({"Alps", "the North Sea"}));
  EXPECT_EQ(scene.room.attempts()[0].state, QuestionState::kSystemWon);
  EXPECT_EQ(scene.room.attempts()[0].BestAnswer()->system, systems[1]);
  ASSERT_OK(ask({"North Sea", ""}));
  EXPECT_EQ(scene.room.attempts()[1].state, QuestionState::kSystemWon);
  ASSERT_OK(ask({"", "Alps"}));
  EXPECT_EQ(scene.room.attempts()[2].state, QuestionState::kWaiting);
  EXPECT_THAT(ask({"Alps"}), StatusIs(kInvalid, HasSubstr("from each system")));
  EXPECT_THAT(ask({"Alps", "", ""}), StatusIs(kInvalid, HasSubstr("from each system")));
  Event other = scene.AttemptOf("ada", "rhine", "North Sea", "");
  other.systems = {systems[1], systems[0]};
  EXPECT_THAT(scene.Do(other), StatusIs(kPrecondition, HasSubstr("another system")));
}

TEST(RoomTest, SystemsAreFewDistinctDigests) {
  Scene scene;
  const auto refused = [&](std::vector<std::string> systems) {
    Event event;
    event.kind = EventKind::kSystem;
    event.systems = std::move(systems);
    EXPECT_THAT(scene.Do(event), StatusIs(kInvalid, HasSubstr("systems")));
  };
  refused({"../model"});
  refused({SystemDigest(), SystemDigest()});
  std::vector<std::string> many;
  for (size_t i = 0; i <= kSystemsMax; ++i) {
    many.push_back(Sha256Of(absl::StrCat(i)).ToHex());
  }
  refused(many);
}

TEST(RoomTest, AQuestionIsKeptOrDroppedByTheShareOfValidatorsThatAgree) {
  Scene scene;
  ASSERT_OK(scene.Take("ada", "rhine"));
  ASSERT_OK(scene.Ask("ada", "rhine", "North Sea", "Alps"));
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", "Rhine"));
  scene.now += scene.room.settings().hold;
  for (const char* validator : {"bob", "cleo"}) {
    ASSERT_OK(scene.Take(validator, "rhine"));
    ASSERT_OK(scene.Validate(validator, 1, validator == std::string("bob") ? "Sea" : "Alps"));
    ASSERT_OK(scene.Validate(validator, 2, ""));
    scene.now += scene.room.settings().hold;
  }
  EXPECT_EQ(scene.room.attempts()[0].state, QuestionState::kKept) << "one of two agrees";
  EXPECT_EQ(scene.room.attempts()[0].Agreement(), 0.5);
  EXPECT_EQ(scene.room.attempts()[1].state, QuestionState::kDropped);
  EXPECT_EQ(scene.room.progress().kept, 1);
  EXPECT_EQ(scene.room.progress().dropped, 1);
  const Annotator& ada = scene.room.annotators().at("ada");
  EXPECT_EQ(ada.validations_received, 4);
  EXPECT_EQ(ada.agreements_received, 1);
  EXPECT_EQ(scene.room.annotators().at("bob").agreements, 1);
  ASSERT_OK(scene.Take("dora", "rhine"));
  EXPECT_THAT(scene.Validate("dora", 1, "Sea"), StatusIs(kPrecondition, HasSubstr("no more")));
}

TEST(RoomTest, NobodyValidatesAnOwnQuestionOrOneTwice) {
  Scene scene;
  ASSERT_OK(scene.Take("ada", "rhine"));
  ASSERT_OK(scene.Ask("ada", "rhine", "North Sea", "Alps"));
  EXPECT_THAT(scene.Validate("ada", 1, "North Sea"), StatusIs(kPrecondition, HasSubstr("own")));
  EXPECT_THAT(scene.room.NextTask("ada", TaskKind::kValidating, false, scene.now),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no question")));
  scene.now += scene.room.settings().hold;
  ASSERT_OK(scene.Take("bob", "rhine"));
  ASSERT_OK(scene.Validate("bob", 1, "North Sea"));
  EXPECT_THAT(scene.Validate("bob", 1, "North Sea"), StatusIs(kPrecondition, HasSubstr("own")));
  EXPECT_THAT(scene.Validate("bob", 2, "Sea"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("")));
}

TEST(RoomTest, TwoAnnotatorsNeverHaveOnePassageUntilItsHoldEnds) {
  Scene scene;
  const Task first = scene.room.NextTask("ada", TaskKind::kWriting, false, scene.now).value();
  ASSERT_OK(scene.Take("ada", scene.room.passages()[first.passage].id));
  const Task second = scene.room.NextTask("bob", TaskKind::kWriting, false, scene.now).value();
  EXPECT_NE(first.passage, second.passage);
  EXPECT_THAT(scene.Take("bob", "rhine"), StatusIs(kPrecondition, HasSubstr("another annotator")));
  EXPECT_THAT(scene.Ask("bob", "rhine", "Alps", ""), StatusIs(kPrecondition, HasSubstr("given")));
  // Each thing done starts the hold again.
  scene.now += scene.room.settings().hold - absl::Seconds(1);
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", ""));
  scene.now += scene.room.settings().hold - absl::Seconds(1);
  EXPECT_THAT(scene.Take("bob", "rhine"), StatusIs(kPrecondition, HasSubstr("another annotator")));
  scene.now += absl::Seconds(1);
  // Late, and nobody was waiting for it.
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", ""));
  scene.now += scene.room.settings().hold;
  ASSERT_OK(scene.Take("bob", "rhine"));
  EXPECT_THAT(scene.Ask("ada", "rhine", "Alps", ""),
              StatusIs(kPrecondition, HasSubstr("too long")));
}

// Two people had one passage, and neither could save anything.
TEST(RoomTest, APassageHasOneHolderAlsoWhenTheClockIsSetBack) {
  Scene scene;
  ASSERT_OK(scene.Take("ada", "rhine"));
  scene.now += scene.room.settings().hold;
  ASSERT_OK(scene.Take("bob", "rhine"));
  scene.now -= absl::Minutes(10);
  EXPECT_EQ(scene.room.HeldBy("ada", scene.now), std::nullopt);
  EXPECT_EQ(scene.room.HeldBy("bob", scene.now), 0u);
  ASSERT_OK(scene.Ask("bob", "rhine", "Alps", ""));
}

// It came back years later.
TEST(RoomTest, APassageThatWasTakenInTheFutureIsFree) {
  Scene scene;
  scene.now += absl::Hours(24 * 365);
  ASSERT_OK(scene.Take("ada", "rhine"));
  scene.now = kStart;
  EXPECT_EQ(scene.room.HeldBy("ada", scene.now), std::nullopt);
  ASSERT_OK(scene.Take("bob", "rhine"));
}

// As in a second view, or while the system answered.
TEST(RoomTest, AQuestionIsAcceptedAfterAnotherPassageWasTakenUnlessSomebodyElseHasIt) {
  Scene scene;
  ASSERT_OK(scene.Take("ada", "rhine"));
  ASSERT_OK(scene.Take("ada", "danube"));
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", ""));
  EXPECT_EQ(scene.room.HeldBy("ada", scene.now), 0u);
  ASSERT_OK(scene.Take("bob", "danube"));
  EXPECT_THAT(scene.Ask("ada", "danube", "Vienna", ""),
              StatusIs(kPrecondition, HasSubstr("another annotator has it now")));
  EXPECT_THAT(scene.Ask("ada", "zürich", "Limmat", ""),
              StatusIs(kPrecondition, HasSubstr("not given")));
}

TEST(RoomTest, AfterAValidationTheLastPassageToWriteForComesAgain) {
  Scene scene;
  ASSERT_OK(scene.Take("bob", "rhine"));
  ASSERT_OK(scene.Ask("bob", "rhine", "Alps", ""));
  ASSERT_OK(scene.Take("bob", "danube"));
  ASSERT_OK(scene.Take("ada", "zürich"));
  ASSERT_OK(scene.Take("ada", "rhine", 1));
  const Task task = scene.room.NextTask("ada", TaskKind::kWriting, false, scene.now).value();
  EXPECT_EQ(task.passage, 2u);
  EXPECT_FALSE(scene.room.HasTask("ada", task, scene.now)) << "she holds another one";
  ASSERT_OK(scene.Take("ada", "zürich"));
  EXPECT_TRUE(scene.room.HasTask("ada", task, scene.now));
}

TEST(RoomTest, SkippingLeadsThroughAllQuestionsToValidate) {
  Settings settings;
  settings.share_passages = true;
  Scene scene(settings);
  for (const auto& [passage, answer] :
       {std::pair("rhine", "Alps"), std::pair("danube", "Vienna"), std::pair("rhine", "Sea")}) {
    ASSERT_OK(scene.Take("ada", passage));
    ASSERT_OK(scene.Ask("ada", passage, answer, ""));
  }
  std::string seen;
  for (int i = 0; i < 4; ++i) {
    const Task task = scene.room.NextTask("bob", TaskKind::kValidating, i > 0, scene.now).value();
    ASSERT_OK(scene.Take("bob", scene.room.passages()[task.passage].id, task.number));
    absl::StrAppend(&seen, task.number);
  }
  EXPECT_EQ(seen, "1231");
  EXPECT_EQ(scene.room.NextTask("bob", TaskKind::kValidating, false, scene.now)->number, 1);
}

TEST(RoomTest, APassageHasAQuestionOnceUntilItIsDropped) {
  Settings settings;
  settings.validators = 1;
  settings.share_passages = true;
  Scene scene(settings);
  ASSERT_OK(scene.Take("ada", "rhine"));
  ASSERT_OK(scene.Take("ada", "danube"));
  const auto ask = [&](const std::string& passage, const std::string& answer,
                       const std::string& question) {
    Event event = scene.AttemptOf("ada", passage, answer, "");
    event.question = question;
    return scene.Do(event);
  };
  ASSERT_OK(ask("rhine", "Alps", "Where from?"));
  EXPECT_THAT(ask("rhine", "North Sea", "the where, FROM"),
              StatusIs(kPrecondition, HasSubstr("has this question already")));
  ASSERT_OK(ask("danube", "Vienna", "Where from?"));
  ASSERT_OK(scene.Take("bob", "rhine", 1));
  ASSERT_OK(scene.Validate("bob", 1, ""));
  ASSERT_OK(ask("rhine", "Alps", "Where from?"));
}

TEST(RoomTest, AQuestionOfAnotherPassageIsNotGivenWithThisOne) {
  Scene scene;
  ASSERT_OK(scene.Take("ada", "rhine"));
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", ""));
  for (const int64_t number : {int64_t{-1}, int64_t{1}, int64_t{2}}) {
    EXPECT_THAT(scene.Take("bob", "danube", number), StatusIs(kInvalid, HasSubstr("number")));
  }
}

TEST(RoomTest, PassagesAreSharedWhenAsked) {
  Settings settings;
  settings.share_passages = true;
  Scene scene(settings);
  ASSERT_OK(scene.Take("ada", "rhine"));
  ASSERT_OK(scene.Take("bob", "rhine"));
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", ""));
  ASSERT_OK(scene.Ask("bob", "rhine", "Alps", ""));
}

TEST(RoomTest, SkippingLeadsThroughAllPassages) {
  Scene scene;
  std::string seen;
  for (int i = 0; i < 4; ++i) {
    const Task task = scene.room.NextTask("ada", TaskKind::kWriting, i > 0, scene.now).value();
    ASSERT_OK(scene.Take("ada", scene.room.passages()[task.passage].id));
    absl::StrAppend(&seen, task.passage);
  }
  EXPECT_EQ(seen, "0120");
}

TEST(RoomTest, APassageWithEnoughQuestionsIsGivenToNobodyToWriteFor) {
  Settings settings;
  settings.questions_per_passage = 1;
  settings.validators = 1;
  Scene scene(settings);
  ASSERT_OK(scene.Take("ada", "rhine"));
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", "Alps"));
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", "Sea"));
  EXPECT_EQ(scene.room.progress().passages_done, 1);
  EXPECT_THAT(scene.Ask("ada", "rhine", "Alps", "Sea"),
              StatusIs(kPrecondition, HasSubstr("enough")));
  EXPECT_NE(scene.room.NextTask("ada", TaskKind::kWriting, false, scene.now)->passage, 0u);
  // A dropped question makes room again.
  scene.now += scene.room.settings().hold;
  ASSERT_OK(scene.Take("bob", "rhine"));
  ASSERT_OK(scene.Validate("bob", 2, ""));
  EXPECT_EQ(scene.room.progress().passages_done, 0);
  ASSERT_OK(scene.Ask("bob", "rhine", "Alps", "Sea"));
}

TEST(RoomTest, OnboardingComesFirstAndIsRepeatedUntilItIsGoodEnough) {
  Scene scene({}, {Known(), Known()});
  EXPECT_EQ(scene.room.NextTask("ada", TaskKind::kWriting, false, scene.now)->kind,
            TaskKind::kOnboarding);
  EXPECT_THAT(scene.Take("ada", "rhine"), StatusIs(kPrecondition, HasSubstr("onboarding")));
  const auto answer = [&](int64_t number, const std::string& part) {
    Event event;
    event.kind = EventKind::kOnboarding;
    event.annotator = "ada";
    event.number = number;
    event.answer = SpanOf(Known().passage.text, part);
    return scene.Do(event);
  };
  EXPECT_THAT(answer(1, "Bern"), StatusIs(kPrecondition, HasSubstr("next")));
  ASSERT_OK(answer(0, "government"));
  ASSERT_OK(answer(1, "seat"));
  EXPECT_EQ(scene.room.annotators().at("ada").rounds_failed, 1);
  ASSERT_OK(answer(0, "Bern"));
  ASSERT_OK(answer(1, "seat"));
  EXPECT_TRUE(scene.room.annotators().at("ada").onboarded) << "half of the answers are right";
  EXPECT_THAT(answer(0, "Bern"), StatusIs(kPrecondition, HasSubstr("done")));
  ASSERT_OK(scene.Take("ada", "rhine"));
}

TEST(RoomTest, ATextWithoutAWordIsNoAnswer) {
  Scene scene;
  ASSERT_OK(scene.Take("ada", "rhine"));
  // Against these every system has F1 0.
  EXPECT_THAT(scene.Ask("ada", "rhine", "the", "Alps"), StatusIs(kInvalid, HasSubstr("articles")));
  EXPECT_THAT(scene.Ask("ada", "rhine", ".", "Alps"), StatusIs(kInvalid, HasSubstr("articles")));
}

TEST(RoomTest, OnlyQuestionsToPassagesThatAreHeldOutAreValidated) {
  Settings settings;
  settings.held_out = 0.34;
  settings.share_passages = true;
  Scene scene(settings);
  int held_out = 0;
  for (size_t i = 0; i < 3; ++i) {
    const SourcePassage& passage = scene.room.passages()[i];
    ASSERT_OK(scene.Take("ada", passage.id));
    ASSERT_OK(scene.Ask("ada", passage.id, passage.text.substr(0, passage.text.find(' ', 4)), ""));
    EXPECT_EQ(scene.room.attempts()[i].state,
              scene.room.IsHeldOut(i) ? QuestionState::kWaiting : QuestionState::kKept);
    held_out += scene.room.IsHeldOut(i) ? 1 : 0;
  }
  EXPECT_EQ(held_out, 1) << "34 % of three";
}

TEST(RoomTest, TimeIsCountedWhileSomebodyWorks) {
  Settings settings;
  settings.share_passages = true;
  Scene scene(settings);
  ASSERT_OK(scene.Take("ada", "rhine"));
  const auto ada = [&] { return scene.room.annotators().at("ada"); };
  EXPECT_EQ(ada().writing, absl::ZeroDuration()) << "the first thing ever";
  scene.now += absl::Seconds(40);
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", ""));
  EXPECT_EQ(ada().writing, absl::Seconds(40));
  scene.now -= absl::Hours(1);
  ASSERT_OK(scene.Ask("ada", "rhine", "North Sea", ""));
  EXPECT_EQ(ada().writing, absl::Seconds(40)) << "the clock was set back";
  scene.now += absl::Hours(9);
  ASSERT_OK(scene.Ask("ada", "rhine", "Rhine", ""));
  EXPECT_EQ(ada().writing, absl::Seconds(40)) << "she was away";
  Event login;
  login.kind = EventKind::kLogin;
  login.annotator = "bob";
  login.code_digest = Sha256Of("bob").ToHex();
  ASSERT_OK(scene.Do(login));
  scene.now += absl::Seconds(5);
  ASSERT_OK(scene.Take("bob", "rhine", 1));
  scene.now += absl::Seconds(20);
  ASSERT_OK(scene.Validate("bob", 1, "Alps"));
  EXPECT_EQ(scene.room.annotators().at("bob").validating, absl::Seconds(25));
  EXPECT_EQ(scene.room.annotators().at("bob").writing, absl::ZeroDuration());
}

TEST(RoomTest, TheFirstQuestionsAreReviewedBeforeAnythingElse) {
  Settings settings;
  settings.qualification = 2;
  settings.share_passages = true;
  Scene scene(settings);
  ASSERT_OK(scene.Invite("rita", /*is_reviewer=*/true));
  ASSERT_OK(scene.Take("ada", "rhine"));
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", ""));
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", "Alps"));  // the system wins: does not count
  ASSERT_OK(scene.Ask("ada", "rhine", "North Sea", ""));
  EXPECT_THAT(scene.Ask("ada", "rhine", "Rhine", ""), StatusIs(kPrecondition, HasSubstr("accept")));
  EXPECT_THAT(scene.room.NextTask("ada", TaskKind::kWriting, false, scene.now),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("your first 2 questions")));
  EXPECT_THAT(scene.Take("ada", "rhine", 1), StatusIs(kPrecondition, HasSubstr("accept")));
  EXPECT_THAT(scene.Validate("bob", 1, "Alps"), StatusIs(kPrecondition, HasSubstr("accept")));
  EXPECT_THAT(scene.room.NextTask("rita", TaskKind::kValidating, false, scene.now),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no question of others")));
  ASSERT_OK(scene.Review("rita", 1, "accept"));
  EXPECT_FALSE(scene.room.annotators().at("ada").is_qualified);
  ASSERT_OK(scene.Review("rita", 3, "accept"));
  EXPECT_TRUE(scene.room.annotators().at("ada").is_qualified);
  ASSERT_OK(scene.Ask("ada", "rhine", "Rhine", ""));
}

TEST(RoomTest, ReviewersValidateOnlyWhatReviewersWrote) {
  Scene scene;
  ASSERT_OK(scene.Invite("rita", /*is_reviewer=*/true));
  ASSERT_OK(scene.Take("ada", "rhine"));
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", ""));
  // They may have seen the answer while they reviewed.
  EXPECT_THAT(scene.room.NextTask("rita", TaskKind::kValidating, false, scene.now),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no question of others")));
  EXPECT_THAT(scene.Validate("rita", 1, "Alps"), StatusIs(kPrecondition, HasSubstr("review it")));
  ASSERT_OK(scene.Invite("rolf", true));
  ASSERT_OK(scene.Take("rolf", "danube"));
  ASSERT_OK(scene.Ask("rolf", "danube", "Vienna", ""));
  scene.now += scene.room.settings().hold;
  EXPECT_EQ(scene.room.NextTask("rita", TaskKind::kValidating, false, scene.now)->number, 2);
  ASSERT_OK(scene.Take("rita", "danube", 2));
  ASSERT_OK(scene.Validate("rita", 2, "Vienna"));
}

TEST(RoomTest, WhoeverFailsTheQualificationIsRevoked) {
  Settings settings;
  settings.qualification = 2;
  Scene scene(settings);
  ASSERT_OK(scene.Invite("rita", true));
  ASSERT_OK(scene.Take("ada", "rhine"));
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", ""));
  ASSERT_OK(scene.Review("rita", 1, "reject"));
  EXPECT_FALSE(scene.room.annotators().at("ada").is_revoked) << "one of two";
  ASSERT_OK(scene.Ask("ada", "rhine", "North Sea", ""));
  ASSERT_OK(scene.Review("rita", 2, "accept"));
  EXPECT_TRUE(scene.room.annotators().at("ada").is_revoked) << "half is less than 80 %";
  EXPECT_EQ(scene.room.attempts()[0].state, QuestionState::kRejected);
  EXPECT_EQ(scene.room.attempts()[1].state, QuestionState::kRevoked);
  EXPECT_EQ(scene.room.progress().rejected, 2);
  EXPECT_THAT(scene.Ask("ada", "rhine", "Alps", ""), StatusIs(kPrecondition, HasSubstr("ended")));
  EXPECT_THAT(scene.room.NextTask("ada", TaskKind::kWriting, false, scene.now),
              StatusIs(kPrecondition, HasSubstr("ended")));
  EXPECT_THAT(scene.Invite("ada", true), StatusIs(kPrecondition, HasSubstr("revoked ada")));
}

TEST(RoomTest, ASampleThatGrowsWithTheLogarithmIsReviewed) {
  Annotator author;
  author.is_qualified = true;
  const auto needed = [&](int64_t wins) {
    author.wins = wins;
    return ReviewsNeeded(author, {});
  };
  EXPECT_EQ(needed(0), 0);
  EXPECT_EQ(needed(1), 1);
  EXPECT_EQ(needed(2), 2);
  EXPECT_EQ(needed(9), 5);
  EXPECT_EQ(needed(10), 6);
  EXPECT_EQ(needed(100), 11);
  EXPECT_EQ(needed(1000), 16);

  Settings settings;
  settings.validators = 0;
  settings.questions_per_passage = 20;
  Scene scene(settings);
  ASSERT_OK(scene.Invite("rita", true));
  ASSERT_OK(scene.Take("ada", "rhine"));
  for (int i = 0; i < 10; ++i) {
    ASSERT_OK(scene.Ask("ada", "rhine", "Alps", ""));
  }
  std::set<int64_t> seen;
  for (absl::StatusOr<Task> task = scene.room.NextTask("rita", TaskKind::kReviewing, false, kStart);
       task.ok(); task = scene.room.NextTask("rita", TaskKind::kReviewing, false, kStart)) {
    ASSERT_TRUE(seen.insert(task->number).second);
    ASSERT_OK(scene.Review("rita", task->number, seen.size() < 3 ? "reject" : "accept"));
  }
  EXPECT_EQ(seen.size(), 6u);
  EXPECT_TRUE(scene.room.annotators().at("ada").is_revoked) << "4 of 6 are less than 80 %";
  EXPECT_EQ(scene.room.progress().kept, 0);
  EXPECT_EQ(scene.room.progress().rejected, 10);
}

TEST(RoomTest, OneRejectionOfTheFirstFewRevokesNobody) {
  Settings settings;
  settings.validators = 0;
  settings.questions_per_passage = 20;
  Scene scene(settings);
  ASSERT_OK(scene.Invite("rita", true));
  ASSERT_OK(scene.Take("ada", "rhine"));
  const auto is_revoked = [&] { return scene.room.annotators().at("ada").is_revoked; };
  for (int64_t number = 1; number <= 4; ++number) {
    ASSERT_OK(scene.Ask("ada", "rhine", "Alps", ""));
    ASSERT_OK(scene.Review("rita", number, number == 2 ? "reject" : "accept"));
    EXPECT_FALSE(is_revoked()) << "of " << number << " questions one was rejected";
  }
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", ""));
  ASSERT_OK(scene.Review("rita", 5, "reject"));
  EXPECT_TRUE(is_revoked()) << "3 of 5";
}

TEST(RoomTest, WhoeverHasNothingLeftToReviewIsJudged) {
  for (const bool is_dropped_last : {false, true}) {
    Settings settings;
    settings.validators = 1;
    settings.questions_per_passage = 20;
    settings.share_passages = true;
    Scene scene(settings);
    ASSERT_OK(scene.Invite("rita", true));
    ASSERT_OK(scene.Take("ada", "rhine"));
    for (int i = 0; i < 10; ++i) {
      ASSERT_OK(scene.Ask("ada", "rhine", "Alps", ""));
    }
    ASSERT_OK(scene.Take("bob", "rhine", 1));
    const auto drop = [&] {
      for (int64_t number = 6; number <= 10; ++number) {
        ASSERT_OK(scene.Validate("bob", number, ""));
      }
    };
    const auto reject = [&] {
      for (int64_t number = 1; number <= 5; ++number) {
        ASSERT_OK(scene.Review("rita", number, "reject"));
      }
    };
    is_dropped_last ? reject() : drop();
    EXPECT_FALSE(scene.room.annotators().at("ada").is_revoked) << "five can be reviewed, of six";
    is_dropped_last ? drop() : reject();
    EXPECT_TRUE(scene.room.annotators().at("ada").is_revoked);
  }
}

TEST(RoomTest, OnlyReviewersReviewAndEachQuestionOnce) {
  Scene scene;
  ASSERT_OK(scene.Invite("rita", true));
  ASSERT_OK(scene.Take("ada", "rhine"));
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", "Alps"));
  ASSERT_OK(scene.Ask("ada", "rhine", "Alps", ""));
  ASSERT_OK(scene.Ask("ada", "rhine", "North Sea", ""));
  ASSERT_OK(scene.Take("rita", "danube"));
  ASSERT_OK(scene.Ask("rita", "danube", "Vienna", ""));
  EXPECT_THAT(scene.Review("bob", 2, "accept"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("only reviewers")));
  EXPECT_THAT(scene.room.NextTask("bob", TaskKind::kReviewing, false, scene.now),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("only reviewers")));
  EXPECT_THAT(scene.Review("rita", 2, "perhaps"), StatusIs(kInvalid, HasSubstr("verdict")));
  EXPECT_THAT(scene.Review("eve", 2, "accept"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("eve")));
  for (const int64_t number : {int64_t{-1}, int64_t{0}, int64_t{5}}) {
    EXPECT_THAT(scene.Review("rita", number, "accept"),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("number")));
  }
  EXPECT_THAT(scene.Review("rita", 1, "accept"), StatusIs(kPrecondition, HasSubstr("counts")));
  EXPECT_THAT(scene.Review("rita", 4, "accept"), StatusIs(kPrecondition, HasSubstr("reviewer")));
  ASSERT_OK(scene.Review("rita", 2, "accept"));
  EXPECT_THAT(scene.Review("rita", 2, "reject"), StatusIs(kPrecondition, HasSubstr("review")));
  ASSERT_OK(scene.Review("rita", 3, "revoke"));
  EXPECT_EQ(scene.room.attempts()[1].state, QuestionState::kRevoked) << "accepted before";
  EXPECT_EQ(scene.room.attempts()[0].state, QuestionState::kSystemWon);
  EXPECT_EQ(scene.room.progress().waiting, 1) << "rita's";
}

TEST(RoomTest, ExistingQuestionsAreAnsweredInTheirOrderAndNothingElseIsDone) {
  Settings settings;
  settings.answering = true;
  Room room = Room::Create(ThreePassages(), {}, settings, {Known(), Known()}).value();
  Event event;
  event.kind = EventKind::kAnnotator;
  event.annotator = "ada";
  event.code_digest = Sha256Of("ada").ToHex();
  room.Apply(event);
  const auto answer = [&](int64_t number, std::optional<qa::Span> span) {
    event.kind = EventKind::kAnswer;
    event.number = number;
    event.answer = span;
    const absl::Status status = room.Check(event);
    if (status.ok()) {
      room.Apply(event);
    }
    return status;
  };
  const auto next = [&] { return room.NextTask("ada", TaskKind::kWriting, false, kStart); };
  EXPECT_EQ(next()->kind, TaskKind::kAnswering);
  EXPECT_THAT(answer(1, std::nullopt), StatusIs(kPrecondition, HasSubstr("next")));
  EXPECT_THAT(answer(-1, std::nullopt), StatusIs(kPrecondition, HasSubstr("next")));
  EXPECT_THAT(answer(0, qa::Span{0, 99}), StatusIs(kInvalid, HasSubstr("answer")));
  ASSERT_OK(answer(0, SpanOf(Known().passage.text, "Bern")));
  EXPECT_EQ(next()->number, 1);
  ASSERT_OK(answer(1, std::nullopt));
  EXPECT_THAT(next(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("all questions")));
  EXPECT_THAT(answer(2, std::nullopt), StatusIs(kPrecondition, HasSubstr("next")));
  EXPECT_EQ(room.annotators().at("ada").answers.size(), 2u);
  event.kind = EventKind::kAssignment;
  event.number = 0;
  event.passage = "rhine";
  EXPECT_THAT(room.Check(event), StatusIs(kPrecondition, HasSubstr("existing questions")));
  Scene scene;
  event.kind = EventKind::kAnswer;
  EXPECT_THAT(scene.Do(event), StatusIs(kPrecondition, HasSubstr("next"))) << "there are none";
}

TEST(RoomTest, HostileEventsAreRefused) {
  Scene scene;
  ASSERT_OK(scene.Take("ada", "zürich"));
  const auto refused = [&](auto change, const std::string& part) {
    Event event = scene.AttemptOf("ada", "zürich", "Limmat", "");
    change(event);
    EXPECT_THAT(scene.Do(event), StatusIs(kInvalid, HasSubstr(part)));
  };
  refused([](Event& e) { e.question = ""; }, "question");
  refused([](Event& e) { e.question = "?!"; }, "question");
  refused([](Event& e) { e.question = "two\nlines"; }, "question");
  refused([](Event& e) { e.question = "bad \xC3"; }, "question");
  refused([](Event& e) { e.question = std::string(1 << 20, 'x'); }, "question");
  refused([](Event& e) { e.key = ""; }, "key");
  refused([](Event& e) { e.key = std::string(65, 'k'); }, "key");
  refused([](Event& e) { e.answer.reset(); }, "answer");
  refused([](Event& e) { e.answer = qa::Span{-1, 3}; }, "answer");
  refused([](Event& e) { e.answer = qa::Span{3, 3}; }, "answer");
  refused([](Event& e) { e.answer = qa::Span{0, int64_t{1} << 62}; }, "answer");
  refused([](Event& e) { e.answer = qa::Span{0, 2}; }, "whole letters");
  refused([](Event& e) { e.system_answers = {std::string(5000, 'x')}; }, "system_answer");
  refused([](Event& e) { e.system_answers = {"\xFF"}; }, "system_answer");
  for (const char* name : {"", "two\nlines", "a b", "../x", "<b>"}) {
    EXPECT_THAT(scene.Invite(name), StatusIs(kInvalid, HasSubstr("annotator"))) << name;
  }
  Event stranger = scene.AttemptOf("eve", "zürich", "Limmat", "");
  EXPECT_THAT(scene.Do(stranger), StatusIs(absl::StatusCode::kNotFound, HasSubstr("eve")));
}

TEST(RoomTest, TheSameKeyIsTheSameAttempt) {
  Scene scene;
  ASSERT_OK(scene.Take("ada", "rhine"));
  const Event event = scene.AttemptOf("ada", "rhine", "Alps", "");
  ASSERT_OK(scene.Do(event));
  EXPECT_THAT(scene.Do(event), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("saved")));
  EXPECT_EQ(scene.room.FindAttempt("ada", event.key)->number, 1);
  EXPECT_EQ(scene.room.FindAttempt("bob", event.key), nullptr);
}

TEST(RoomTest, ALoginLinkWorksOnce) {
  Scene scene;
  Event login;
  login.kind = EventKind::kLogin;
  login.annotator = "ada";
  login.code_digest = Sha256Of("bob").ToHex();
  EXPECT_THAT(scene.Do(login), StatusIs(kPrecondition, HasSubstr("link")));
  login.code_digest = Sha256Of("ada").ToHex();
  ASSERT_OK(scene.Do(login));
  EXPECT_THAT(scene.Do(login), StatusIs(kPrecondition, HasSubstr("link")));
  login.code_digest = "";
  EXPECT_THAT(scene.Do(login), StatusIs(kPrecondition, HasSubstr("link")));
}

TEST(RoomTest, SettingsBeyondTheirLimitsAreRefused) {
  const auto refused = [](auto change) {
    Settings settings;
    change(settings);
    EXPECT_THAT(Room::Create(ThreePassages(), {}, settings),
                StatusIs(kInvalid, HasSubstr("settings")));
  };
  refused([](Settings& s) { s.f1_win_max = -0.1; });
  refused([](Settings& s) { s.agreement_min = 1.1; });
  refused([](Settings& s) { s.onboarding_f1_min = std::numeric_limits<double>::quiet_NaN(); });
  refused([](Settings& s) { s.validators = 11; });
  refused([](Settings& s) { s.held_out = 1.5; });
  refused([](Settings& s) { s.qualification = -1; });
  refused([](Settings& s) { s.qualification = 21; });
  refused([](Settings& s) { s.questions_per_passage = 0; });
  refused([](Settings& s) { s.hold = absl::ZeroDuration(); });
}

}  // namespace
}  // namespace concur::annotation
