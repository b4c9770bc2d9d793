// SPDX-License-Identifier: Apache-2.0
// Who asks a system and who serves it, in every order of opening, asking, dying and closing.
#include "coordinator/system_relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "tests/testing/simulated_clock.h"
#include "tests/testing/status_matchers.h"

namespace concur {
namespace {

using ::concur::testing::SimulatedClock;
using ::concur::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using State = SystemRelay::State;

SystemRelay::Wants Wanted(const Labels& labels = {}) {
  SystemRelay::Wants wants;
  wants.order.train.id.job = {{1}, 12};
  wants.order.resources = {1000, 100, 0};
  wants.labels = labels;
  return wants;
}

SystemRelay::Offer Offered(const std::string& worker, const Labels& labels = {}) {
  return {worker, {2000, 1000, 0}, labels};
}

class SystemRelayTest : public ::testing::Test {
 protected:
  uint64_t Ask(uint64_t conversation, const std::string& question) {
    EXPECT_OK(relay_.Ask(conversation, {++number_, "A passage.", question}));
    return number_;
  }
  uint64_t OpenPlace(const SystemRelay::Offer& offer) {
    return relay_.OpenPlace(offer, [this] { ++wakes_; }).value();
  }
  uint64_t Open(const SystemRelay::Wants& wants = Wanted()) {
    return relay_.OpenConversation(wants, [this] { ++wakes_; }).value();
  }
  // Takes the order and is prepared.
  void Prepare(uint64_t place) {
    const auto order = relay_.TakeForPlace(place);
    ASSERT_TRUE(order.has_value() && std::holds_alternative<ServeOrder>(*order));
    EXPECT_OK(relay_.Prepared(place));
  }
  std::string QuestionAt(uint64_t place) {
    const auto taken = relay_.TakeForPlace(place);
    const auto* question = taken ? std::get_if<ServedQuestion>(&*taken) : nullptr;
    return question == nullptr ? "" : question->question;
  }
  SystemRelay::Standing StandingOf(uint64_t conversation) {
    const auto taken = relay_.TakeForAsker(conversation);
    const auto* status = taken ? std::get_if<SystemRelay::Standing>(&*taken) : nullptr;
    return status == nullptr ? SystemRelay::Standing{State::kWaiting, "nothing new", "", 0}
                             : *status;
  }
  std::optional<ServedAnswer> AnswerTo(uint64_t conversation) {
    const auto taken = relay_.TakeForAsker(conversation);
    const auto* answer = taken ? std::get_if<ServedAnswer>(&*taken) : nullptr;
    return answer == nullptr ? std::nullopt : std::make_optional(*answer);
  }

  SimulatedClock clock_;
  SystemRelay relay_{clock_};
  uint64_t number_ = 0;
  int wakes_ = 0;
};

TEST_F(SystemRelayTest, AQuestionGoesToAPlaceThatFitsAndItsAnswerBack) {
  OpenPlace({"small", {500, 1000, 0}, {}});
  OpenPlace(Offered("other", {{"environment.image", "x"}}));
  const uint64_t asker = Open();
  EXPECT_EQ(StandingOf(asker).state, State::kWaiting);
  EXPECT_EQ(StandingOf(asker).worker, "nothing new");
  const uint64_t place = OpenPlace(Offered("fits"));
  const SystemRelay::Standing status = StandingOf(asker);
  EXPECT_EQ(status.state, State::kStarting);
  EXPECT_EQ(status.worker, "fits");
  EXPECT_EQ(status.places, 1u);
  Ask(asker, "Who?");
  Prepare(place);
  EXPECT_EQ(QuestionAt(place), "Who?");
  EXPECT_EQ(QuestionAt(place), "") << "it has it";
  EXPECT_OK(relay_.Answered(place, {number_, true, "Ada"}));
  EXPECT_EQ(AnswerTo(asker)->text, "Ada");
  EXPECT_EQ(StandingOf(asker).state, State::kReady);
  EXPECT_THAT(relay_.List()["fits"].jobs, ElementsAre("s1/12"));
  EXPECT_GT(wakes_, 0);
}

TEST_F(SystemRelayTest, TheWorkerThatTrainedIsPreferred) {
  OpenPlace(Offered("a"));
  OpenPlace(Offered("b"));
  SystemRelay::Wants wants = Wanted();
  wants.near_worker = "b";
  EXPECT_EQ(StandingOf(Open(wants)).worker, "b");
  EXPECT_EQ(StandingOf(Open(wants)).worker, "a") << "another one is better than none";
}

TEST_F(SystemRelayTest, ALostPlaceIsReplacedAndAskedAgain) {
  const uint64_t asker = Open();
  const uint64_t first = OpenPlace(Offered("a"));
  Prepare(first);
  Ask(asker, "Who?");
  EXPECT_EQ(QuestionAt(first), "Who?");
  relay_.ClosePlace(first, "");
  const SystemRelay::Standing status = StandingOf(asker);
  EXPECT_EQ(status.state, State::kWaiting);
  EXPECT_EQ(status.detail, "a went away");
  const uint64_t second = OpenPlace(Offered("b"));
  Prepare(second);
  EXPECT_EQ(QuestionAt(second), "Who?");
}

TEST_F(SystemRelayTest, AQuestionWithWhichPlacesAreLostAgainAndAgainFails) {
  const uint64_t asker = Open();
  Ask(asker, "Who?");
  for (int i = 0; i < RelayLimits().losses_max; ++i) {
    EXPECT_FALSE(AnswerTo(asker).has_value());
    const uint64_t lost = OpenPlace(Offered("a"));
    Prepare(lost);
    EXPECT_EQ(QuestionAt(lost), "Who?");
    relay_.ClosePlace(lost, "out of memory");
    relay_.ClosePlace(OpenPlace(Offered("b")), "");
  }
  const auto answer = AnswerTo(asker);
  ASSERT_TRUE(answer.has_value());
  EXPECT_FALSE(answer->answered);
  EXPECT_THAT(answer->text, HasSubstr("on 3 workers; last, a: out of memory"));
  // The next question begins anew.
  Ask(asker, "Where?");
  const uint64_t place = OpenPlace(Offered("b"));
  Prepare(place);
  EXPECT_EQ(QuestionAt(place), "Where?");
}

TEST_F(SystemRelayTest, OneThatCannotBePreparedKeepsNoPlaceFromOthersAndEnds) {
  const uint64_t broken = Open();
  Ask(broken, "Who?");
  const uint64_t first = OpenPlace(Offered("a"));
  const uint64_t other = Open();
  relay_.ClosePlace(first, "no python3.99 here");
  const uint64_t second = OpenPlace(Offered("a"));
  EXPECT_EQ(StandingOf(other).worker, "a") << "the older one has failed before";
  Prepare(second);
  for (int i = 1; i < RelayLimits().failed_preparations_max; ++i) {
    EXPECT_EQ(StandingOf(broken).state, State::kWaiting);
    relay_.ClosePlace(OpenPlace(Offered("b")), "no python3.99 here");
  }
  const auto taken = relay_.TakeForAsker(broken);
  ASSERT_TRUE(taken.has_value() && std::holds_alternative<absl::Status>(*taken));
  EXPECT_THAT(std::get<absl::Status>(*taken),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("5 times in a row; last, b: no python3.99 here")));
  EXPECT_FALSE(relay_.TakeForAsker(broken).has_value()) << "once";
  OpenPlace(Offered("c"));
  EXPECT_EQ(relay_.BrokenInvariant(), "");
  EXPECT_EQ(StandingOf(Open()).worker, "c") << "it takes no more places";
}

TEST_F(SystemRelayTest, ANewQuestionReplacesOneThatIsNotAnswered) {
  const uint64_t asker = Open();
  const uint64_t place = OpenPlace(Offered("a"));
  Prepare(place);
  const uint64_t first = Ask(asker, "Who?");
  EXPECT_EQ(QuestionAt(place), "Who?");
  const uint64_t second = Ask(asker, "Where?");
  EXPECT_EQ(QuestionAt(place), "") << "one at a time";
  EXPECT_OK(relay_.Answered(place, {first, true, "Ada"}));
  EXPECT_EQ(StandingOf(asker).state, State::kReady) << "and no answer to the first";
  EXPECT_EQ(QuestionAt(place), "Where?");
  EXPECT_OK(relay_.Answered(place, {second, true, "Bern"}));
  EXPECT_EQ(AnswerTo(asker)->number, second);
  EXPECT_THAT(relay_.Ask(asker, {second, "", "Again?"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("question.number")));
}

TEST_F(SystemRelayTest, APlaceIsOverWhenNobodyAsksOrItIsLate) {
  const auto is_over = [this](uint64_t place, absl::StatusCode code) {
    const auto taken = relay_.TakeForPlace(place);
    const auto* over = taken ? std::get_if<absl::Status>(&*taken) : nullptr;
    return over != nullptr && over->code() == code;
  };
  const uint64_t asker = Open();
  const uint64_t place = OpenPlace(Offered("a"));
  Prepare(place);
  relay_.CloseConversation(asker);
  EXPECT_TRUE(is_over(place, absl::StatusCode::kOk));
  EXPECT_FALSE(is_over(place, absl::StatusCode::kOk)) << "once";
  relay_.ClosePlace(place, "");

  const uint64_t other = Open();
  const uint64_t slow = OpenPlace(Offered("slow"));
  clock_.Advance(RelayLimits().prepare_max - absl::Seconds(1));
  relay_.CheckDeadlines();
  EXPECT_EQ(StandingOf(other).worker, "slow");
  clock_.Advance(absl::Seconds(1));
  relay_.CheckDeadlines();
  EXPECT_TRUE(is_over(slow, absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(StandingOf(other).detail, HasSubstr("preparing took too long"));

  const uint64_t hangs = OpenPlace(Offered("hangs"));
  Prepare(hangs);
  clock_.Advance(absl::Hours(24));
  relay_.CheckDeadlines();
  Ask(other, "Who?");
  EXPECT_EQ(QuestionAt(hangs), "Who?") << "whoever is asked nothing may take its time";
  clock_.Advance(absl::Minutes(5));
  relay_.CheckDeadlines();
  EXPECT_TRUE(is_over(hangs, absl::StatusCode::kDeadlineExceeded));
}

TEST_F(SystemRelayTest, ReportsThatNobodyWaitsForAreRefused) {
  const uint64_t place = OpenPlace(Offered("a"));
  EXPECT_THAT(relay_.Prepared(place),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("nothing was")));
  EXPECT_THAT(relay_.Answered(place, {1, true, "x"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("nothing was")));
  Open();
  Prepare(place);
  EXPECT_THAT(relay_.Prepared(place),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("nothing was")));
}

TEST_F(SystemRelayTest, ThereIsALimitOfConversationsAndPlaces) {
  SystemRelay relay(clock_, {.conversations_max = 1, .places_max = 1});
  const auto nobody = [] {};
  EXPECT_OK(relay.OpenConversation(Wanted(), nobody).status());
  EXPECT_OK(relay.OpenPlace(Offered("a"), nobody).status());
  EXPECT_THAT(relay.OpenConversation(Wanted(), nobody).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("there are 1")));
  EXPECT_THAT(relay.OpenPlace(Offered("b"), nobody).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("there are 1")));
}

TEST_F(SystemRelayTest, OneUserOrWorkerDoesNotTakeAll) {
  SystemRelay::Wants wants = Wanted();
  wants.user = "eve";
  for (size_t i = 0; i < RelayLimits().conversations_of_user_max; ++i) {
    Open(wants);
  }
  EXPECT_THAT(relay_.OpenConversation(wants, [] {}).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("eve has 8")));
  wants.user = "ada";
  Open(wants);
  const uint64_t first = OpenPlace(Offered("a"));
  for (int i = 1; i < kServePlacesMax; ++i) {
    OpenPlace(Offered("a"));
  }
  EXPECT_THAT(relay_.OpenPlace(Offered("a"), [] {}).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("a has 64 places")));
  OpenPlace(Offered("b"));
  relay_.ClosePlace(first, "");
  OpenPlace(Offered("a"));
}

TEST_F(SystemRelayTest, ACoordinatorThatStopsEndsBothSides) {
  const uint64_t asker = Open();
  const uint64_t place = OpenPlace(Offered("a"));
  relay_.Stop();
  const auto asked = relay_.TakeForAsker(asker);
  ASSERT_TRUE(asked.has_value());
  EXPECT_TRUE(absl::IsUnavailable(std::get<absl::Status>(*asked)));
  EXPECT_FALSE(relay_.TakeForAsker(asker).has_value()) << "once";
  const auto served = relay_.TakeForPlace(place);
  ASSERT_TRUE(served.has_value());
  EXPECT_TRUE(absl::IsUnavailable(std::get<absl::Status>(*served)));
  EXPECT_THAT(relay_.OpenPlace(Offered("a"), [] {}).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("stops")));
  EXPECT_THAT(relay_.OpenConversation(Wanted(), [] {}).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("stops")));
}

// --- random orders -------------------------------------------------------------------------------

// Planted between the relay and those that use it.
enum class Bug {
  kNone,
  kAskedOnce,      // a question whose place is lost is not asked again
  kOrderedTwice,   // a place gets its order again
  kAnsweredTwice,  // an asker gets its answer again
  kAnswersMixed,   // an asker gets the text of the answer before
};

// Askers and workers that do what they may in random order. Workers answer "re: QUESTION".
class RelayWorld {
 public:
  RelayWorld(uint64_t seed, Bug bug) : random_(seed, "relay"), bug_(bug) {}

  // What is wrong; "" when nothing is.
  std::string Run(int steps) {
    for (int i = 0; i < steps && wrong_.empty(); ++i) {
      Step();
      Check();
    }
    Settle();
    return wrong_;
  }

 private:
  struct Asker {
    uint64_t asked = 0;  // the last number
    std::string question;
    bool waits = false;
  };
  struct Worker {
    std::optional<ServedQuestion> question;
    bool ordered = false;
    bool prepared = false;
    bool over = false;
  };

  bool Maybe(uint64_t one_in) { return random_.Below(one_in) == 0; }
  template <typename Map>
  typename Map::iterator Any(Map& map) {
    return std::next(map.begin(), static_cast<int64_t>(random_.Below(map.size())));
  }
  void Wrong(const std::string& what) {
    if (wrong_.empty()) {
      wrong_ = what;
    }
  }

  void Step() {
    switch (random_.Below(9)) {
      case 0:
        if (askers_.size() < 4) {
          const Labels labels = Maybe(3) ? Labels{{"gpu", "a100"}} : Labels();
          askers_[relay_.OpenConversation(Wanted(labels), [] {}).value()];
        }
        break;
      case 1:
        if (workers_.size() < 4) {
          AddWorker(Maybe(2) ? Labels{{"gpu", "a100"}} : Labels());
        }
        break;
      case 2:
        if (!askers_.empty() && Maybe(4)) {
          const auto one = Any(askers_);
          relay_.CloseConversation(one->first);
          askers_.erase(one);
        }
        break;
      case 3:
        if (!workers_.empty() && Maybe(3)) {
          const auto one = Any(workers_);
          relay_.ClosePlace(one->first, Maybe(2) ? "" : "broken");
          workers_.erase(one);
        }
        break;
      case 4:
        clock_.Advance(absl::Seconds(static_cast<int64_t>(random_.Below(100))));
        relay_.CheckDeadlines();
        break;
      default:
        if (!askers_.empty()) {
          ActAsAsker(Any(askers_));
        }
        if (!workers_.empty()) {
          ActAsWorker(Any(workers_));
        }
    }
  }

  void AddWorker(const Labels& labels) {
    workers_[relay_.OpenPlace(Offered("w", labels), [] {}).value()];
  }

  void ActAsAsker(std::map<uint64_t, Asker>::iterator one) {
    auto& [id, asker] = *one;
    if (Maybe(3)) {
      asker.question = absl::StrCat("question ", ++number_);
      asker.asked = number_;
      asker.waits = true;
      EXPECT_OK(relay_.Ask(id, {number_, "A passage.", asker.question}));
      return;
    }
    if (!TakeAnswer(id, asker)) {
      askers_.erase(one);
    }
  }

  std::optional<SystemRelay::ForAsker> TakeForAsker(uint64_t id) {
    std::optional<SystemRelay::ForAsker> taken = relay_.TakeForAsker(id);
    auto* answer = taken ? std::get_if<ServedAnswer>(&*taken) : nullptr;
    if (answer != nullptr && bug_ == Bug::kAnswersMixed) {
      std::swap(answer->text, last_text_);
    } else if (answer != nullptr && bug_ == Bug::kAnsweredTwice) {
      last_answers_[id] = *answer;
    } else if (!taken && bug_ == Bug::kAnsweredTwice && last_answers_.contains(id)) {
      taken = last_answers_[id];
      last_answers_.erase(id);
    }
    return taken;
  }

  std::optional<SystemRelay::ForPlace> TakeForPlace(uint64_t id) {
    std::optional<SystemRelay::ForPlace> taken = relay_.TakeForPlace(id);
    const auto* question = taken ? std::get_if<ServedQuestion>(&*taken) : nullptr;
    if (question != nullptr && bug_ == Bug::kAskedOnce &&
        !questions_asked_.insert(question->number).second) {
      taken.reset();
    } else if (taken && bug_ == Bug::kOrderedTwice && std::holds_alternative<ServeOrder>(*taken)) {
      last_order_ = std::get<ServeOrder>(*taken);
      ordered_place_ = id;
    } else if (!taken && ordered_place_ == id && last_order_) {
      taken = *std::exchange(last_order_, std::nullopt);
    }
    return taken;
  }

  // False: its conversation is over.
  bool TakeAnswer(uint64_t id, Asker& asker) {
    const auto taken = TakeForAsker(id);
    if (taken && std::holds_alternative<absl::Status>(*taken)) {
      relay_.CloseConversation(id);
      return false;
    }
    const auto* answer = taken ? std::get_if<ServedAnswer>(&*taken) : nullptr;
    if (answer == nullptr) {
      return true;
    }
    if (!asker.waits || answer->number != asker.asked) {
      Wrong("an answer that nobody waits for");
    } else if (answer->answered && answer->text != "re: " + asker.question) {
      Wrong("the answer to another question");
    }
    asker.waits = false;
    return true;
  }

  void ActAsWorker(std::map<uint64_t, Worker>::iterator one) {
    auto& [id, worker] = *one;
    if (worker.over) {
      relay_.ClosePlace(id, "");
      workers_.erase(one);
    } else if (worker.question.has_value()) {
      const ServedQuestion question = *std::exchange(worker.question, std::nullopt);
      if (!relay_.Answered(id, {question.number, true, "re: " + question.question}).ok()) {
        Wrong("a worker's answer was refused");
      }
    } else if (worker.ordered && !worker.prepared) {
      worker.prepared = true;
      if (!relay_.Prepared(id).ok()) {
        Wrong("a worker's report was refused");
      }
    } else if (const auto taken = TakeForPlace(id)) {
      if (const auto* question = std::get_if<ServedQuestion>(&*taken)) {
        worker.question = *question;
      } else if (std::holds_alternative<ServeOrder>(*taken)) {
        if (std::exchange(worker.ordered, true)) {
          Wrong("a place got two orders");
        }
      } else {
        worker.over = true;
      }
    }
  }

  // With enough places that do their part everybody gets an answer.
  void Settle() {
    for (int i = 0; i < 500 && wrong_.empty(); ++i) {
      while (workers_.size() < 16) {
        AddWorker({{"gpu", "a100"}});
        AddWorker({});
      }
      for (auto it = workers_.begin(); it != workers_.end();) {
        ActAsWorker(it++);
      }
      for (auto it = askers_.begin(); it != askers_.end();) {
        it = TakeAnswer(it->first, it->second) ? std::next(it) : askers_.erase(it);
      }
      Check();
    }
    for (const auto& [id, asker] : askers_) {
      if (asker.waits) {
        Wrong("a question was never answered");
      }
    }
  }

  void Check() {
    if (const std::string broken = relay_.BrokenInvariant(); !broken.empty()) {
      Wrong(broken);
    }
  }

  Random random_;
  SimulatedClock clock_;
  SystemRelay relay_{clock_};
  std::map<uint64_t, Asker> askers_;
  std::map<uint64_t, Worker> workers_;
  uint64_t number_ = 0;
  std::string wrong_;
  const Bug bug_;
  std::string last_text_ = "re: nothing";
  std::map<uint64_t, ServedAnswer> last_answers_;
  std::set<uint64_t> questions_asked_;
  std::optional<ServeOrder> last_order_;
  uint64_t ordered_place_ = 0;
};

constexpr uint64_t kSeeds = 300;
constexpr int kSteps = 300;

TEST(SystemRelayWorldTest, EveryQuestionIsAnsweredOnceInAnyOrder) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    ASSERT_EQ(RelayWorld(seed, Bug::kNone).Run(kSteps), "") << "seed " << seed;
  }
}

class PlantedRelayBugTest : public ::testing::TestWithParam<Bug> {};

TEST_P(PlantedRelayBugTest, IsFound) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    if (!RelayWorld(seed, GetParam()).Run(kSteps).empty()) {
      return;
    }
  }
  FAIL() << "no seed has found it";
}

INSTANTIATE_TEST_SUITE_P(, PlantedRelayBugTest,
                         ::testing::Values(Bug::kAskedOnce, Bug::kOrderedTwice, Bug::kAnsweredTwice,
                                           Bug::kAnswersMixed),
                         [](const auto& bug) { return absl::StrCat(static_cast<int>(bug.param)); });

}  // namespace
}  // namespace concur
