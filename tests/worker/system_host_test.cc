// SPDX-License-Identifier: Apache-2.0
// Systems that are served on a worker, with real processes and a coordinator of the test's own.
#include "worker/system_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/mutex.h"
#include "tests/worker/executor_fixture.h"

namespace concur::worker {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The coordinator's side of places.
class FakeServing : public ServingGateway {
 public:
  std::unique_ptr<ServingStream> Offer(const WorkerInfo& /*worker*/) override {
    MutexLock lock(mutex_);
    ++offers_;
    ended_ = false;
    prepared_ = false;
    failure_.clear();
    answer_.reset();
    messages_.clear();
    is_open_ = true;
    changed_.NotifyAll();
    return std::make_unique<Stream>(*this);
  }

  // Waits for the offer with this number, and gives it something to serve.
  void Order(int offer, const ServeOrder& order) {
    MutexLock lock(mutex_);
    Await([&] { return offers_ >= offer && is_open_; });
    messages_.emplace_back(order);
    changed_.NotifyAll();
  }
  bool AwaitPrepared() {
    MutexLock lock(mutex_);
    Await([&] { return prepared_ || !failure_.empty(); });
    return prepared_;
  }
  std::string AwaitFailure() {
    MutexLock lock(mutex_);
    Await([&] { return !failure_.empty(); });
    return failure_;
  }
  void Question(uint64_t number) {
    MutexLock lock(mutex_);
    messages_.emplace_back(ServedQuestion{number, "Ada lives in Bern.", "Where?"});
    changed_.NotifyAll();
  }
  ServedAnswer Ask(uint64_t number) {
    Question(number);
    MutexLock lock(mutex_);
    Await([&] { return answer_.has_value() && answer_->number == number; });
    return *answer_;
  }
  // Nobody asks any more. The place is over once it is offered again.
  void EndAndAwaitOffer(int offer) {
    End();
    MutexLock lock(mutex_);
    Await([&] { return offers_ >= offer; });
  }
  void End() {
    MutexLock lock(mutex_);
    ended_ = true;
    changed_.NotifyAll();
  }
  void AwaitClosed() {
    MutexLock lock(mutex_);
    Await([&] { return !is_open_; });
  }
  int offers() {
    MutexLock lock(mutex_);
    return offers_;
  }

 private:
  class Stream final : public ServingStream {
   public:
    explicit Stream(FakeServing& serving) : serving_(serving) {}
    ~Stream() override {
      MutexLock lock(serving_.mutex_);
      serving_.is_open_ = false;
      serving_.changed_.NotifyAll();
    }
    std::optional<Message> Wait() override {
      MutexLock lock(serving_.mutex_);
      while (serving_.messages_.empty() && !serving_.ended_) {
        serving_.changed_.Wait(serving_.mutex_);
      }
      if (serving_.ended_) {
        return std::nullopt;
      }
      Message message = std::move(serving_.messages_.front());
      serving_.messages_.pop_front();
      return message;
    }
    bool ended() const override {
      MutexLock lock(serving_.mutex_);
      return serving_.ended_;
    }
    absl::Status status() override { return absl::OkStatus(); }
    void Cancel() override { serving_.End(); }
    void Prepared() override {
      MutexLock lock(serving_.mutex_);
      serving_.prepared_ = true;
      serving_.changed_.NotifyAll();
    }
    void Answer(const ServedAnswer& answer) override {
      MutexLock lock(serving_.mutex_);
      serving_.answer_ = answer;
      serving_.changed_.NotifyAll();
    }
    void Fail(const std::string& why) override {
      MutexLock lock(serving_.mutex_);
      serving_.failure_ = why;
      serving_.changed_.NotifyAll();
    }

   private:
    FakeServing& serving_;
  };

  template <typename Condition>
  void Await(const Condition& condition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (!condition()) {
      if (changed_.WaitWithTimeout(mutex_, kDeadline)) {
        ADD_FAILURE() << "nothing happened";
        return;
      }
    }
  }

  Mutex mutex_;  // guards all below
  CondVar changed_;
  int offers_ = 0;
  bool is_open_ = false;
  bool ended_ = false;
  bool prepared_ = false;
  std::string failure_;
  std::deque<ServingStream::Message> messages_;
  std::optional<ServedAnswer> answer_;
};

class SystemHostTest : public ExecutorFixture {
 protected:
  SystemHostTest() { signal(SIGPIPE, SIG_IGN); }
  ~SystemHostTest() override { host_.reset(); }  // before the executor

  void Host() {
    WorkerInfo worker;
    worker.name = "w";
    worker.capacity.gpus = 2;
    host_ = std::make_unique<SystemHost>(
        clock_, serving_, executor_->workplace(), worker,
        SystemHost::Options{.places = 1, .backoff_min = absl::Milliseconds(1)});
  }

  // Runs `script` with the path of the system, which has the text "weights", as $1.
  ServeOrder Served(const std::string& script) {
    ServeOrder order;
    order.train = Train("");
    order.command = {"sh", "-c", Escaped(script), "sh", "{model}"};
    order.system = transfer_.Add("weights");
    order.system_bytes = 7;
    order.answer_max = absl::Seconds(30);
    return order;
  }
  // Answers every question by what the shell makes of `answer`.
  static std::string Replying(const std::string& answer) {
    return absl::StrCat("while read -r line; do id=${line#*:}; id=${id%%,*}; ",
                        "printf '{\"id\":%s,\"answer\":\"%s\"}\\n' \"$id\" \"", answer, "\"; done");
  }
  // The pid that a script wrote to this file.
  static pid_t PidIn(const std::string& path) {
    int pid = 0;
    EXPECT_TRUE(absl::SimpleAtoi(absl::StripAsciiWhitespace(ReadFile(path).value_or("")), &pid));
    return pid;
  }
  void AwaitGone(pid_t pid) {
    const absl::Time deadline = absl::Now() + kDeadline;
    while (!IsGone(pid)) {
      CONCUR_CHECK(absl::Now() < deadline);
      waker_.Wait(absl::Milliseconds(2));
    }
  }

  SystemClock clock_;
  FakeServing serving_;
  std::unique_ptr<SystemHost> host_;
};

TEST_F(SystemHostTest, ASystemAnswersWithItsFilesAndVariablesAndGoesWhenNobodyAsks) {
  Host();
  const std::string pids = temp_.File("pid");
  ServeOrder order = Served(absl::StrCat("sleep 1000 & echo $! > ", pids, "; ",
                                         Replying("$(cat $1) $COLOUR $CONCUR_SEED")));
  order.train.env = {{"COLOUR", "blue"}};
  order.train.seed = 7;
  serving_.Order(1, order);
  ASSERT_TRUE(serving_.AwaitPrepared());
  const ServedAnswer answer = serving_.Ask(1);
  EXPECT_TRUE(answer.answered) << answer.text;
  EXPECT_EQ(answer.text, "weights blue 7");
  EXPECT_EQ(serving_.Ask(2).text, "weights blue 7");
  serving_.EndAndAwaitOffer(2);
  AwaitGone(PidIn(pids));
  // The place is offered again, and its directory is gone.
  serving_.Order(2, Served(Replying("again")));
  ASSERT_TRUE(serving_.AwaitPrepared());
  EXPECT_EQ(serving_.Ask(3).text, "again");
}

TEST_F(SystemHostTest, APartOfAGpuIsAGpu) {
  Host();
  ServeOrder order = Served(Replying("GPU $CUDA_VISIBLE_DEVICES"));
  order.resources.gpu_share = 50;
  serving_.Order(1, order);
  ASSERT_TRUE(serving_.AwaitPrepared());
  EXPECT_EQ(serving_.Ask(1).text, "GPU 1") << "the last one";
}

TEST_F(SystemHostTest, WhatASystemPrintsCannotHurt) {
  int offer = 0;
  for (const auto& [script, why] : std::vector<std::pair<std::string, std::string>>{
           {"cat /dev/zero", "line of more than"},
           {"head -c 1000 /dev/urandom; echo; cat", "printed a line that is not"},
           {"printf 'no\\033[31m\\nmodel' >&2; exit 3",
            "exit code 3; it printed: no [31m model"}}) {
    Host();
    serving_.Order(++offer, Served(script));
    ASSERT_TRUE(serving_.AwaitPrepared());
    const ServedAnswer answer = serving_.Ask(1);
    EXPECT_FALSE(answer.answered);
    EXPECT_THAT(answer.text, HasSubstr(why)) << script;
    host_.reset();
  }
}

TEST_F(SystemHostTest, ItsMemoryIsLimitedAsAJobsIs) {
  Host();
  ServeOrder order =
      Served("read -r line; x=$(head -c 200000000 /dev/zero | tr '\\0' x); sleep 1000");
  order.resources.memory_bytes = int64_t{64} << 20;
  serving_.Order(1, order);
  ASSERT_TRUE(serving_.AwaitPrepared());
  const ServedAnswer answer = serving_.Ask(1);
  EXPECT_FALSE(answer.answered);
  EXPECT_THAT(answer.text, HasSubstr("took more than the 64 MiB of memory"));
}

TEST_F(SystemHostTest, OneThatIsBusyIsKilledWhenNobodyAsksAnyMore) {
  Host();
  const std::string pids = temp_.File("pid");
  serving_.Order(1, Served(absl::StrCat("echo $$ > ", pids, ".new; mv ", pids, ".new ", pids,
                                        "; sleep 1000")));
  ASSERT_TRUE(serving_.AwaitPrepared());
  serving_.Question(1);
  const absl::Time deadline = absl::Now() + kDeadline;
  while (!ReadFile(pids).ok()) {
    ASSERT_LT(absl::Now(), deadline);
    waker_.Wait(absl::Milliseconds(2));
  }
  serving_.EndAndAwaitOffer(2);
  AwaitGone(PidIn(pids));
}

TEST_F(SystemHostTest, ADrainingWorkerOffersNothing) {
  Host();
  serving_.Order(1, Served(Replying("yes")));
  ASSERT_TRUE(serving_.AwaitPrepared());
  EXPECT_EQ(serving_.Ask(1).text, "yes");
  host_->SetDraining(true);
  serving_.AwaitClosed();
  EXPECT_EQ(serving_.offers(), 1);
  host_->SetDraining(false);
  serving_.Order(2, Served(Replying("again")));
  ASSERT_TRUE(serving_.AwaitPrepared());
  EXPECT_EQ(serving_.Ask(2).text, "again");
}

TEST_F(SystemHostTest, WhatCannotBePreparedIsReportedAndThePlaceIsOfferedAgain) {
  Host();
  ServeOrder order = Served(Replying("yes"));
  order.system = Sha256Of("nobody has it");
  serving_.Order(1, order);
  EXPECT_THAT(serving_.AwaitFailure(), Not(HasSubstr("yes")));
  serving_.Order(2, Served(Replying("yes")));
  ASSERT_TRUE(serving_.AwaitPrepared());
  EXPECT_EQ(serving_.Ask(1).text, "yes");
}

}  // namespace
}  // namespace concur::worker
