// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/commands_fixture.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace concur::cli {

v1::Sweep TheSweep(const std::string& id, const std::string& name, v1::Sweep::State state) {
  v1::Sweep sweep;
  sweep.set_id(id);
  sweep.set_name(name);
  sweep.set_owner("ada");
  sweep.set_state(state);
  sweep.set_cell_count(4);
  sweep.set_reused(6);
  sweep.mutable_counts()->set_succeeded(1230);
  sweep.mutable_counts()->set_failed(2);
  sweep.mutable_counts()->set_running(state == v1::Sweep::STATE_ACTIVE ? 3 : 0);
  sweep.mutable_create_time()->set_seconds(1'700'000'000);
  sweep.mutable_create_time()->set_nanos(5'000'000);
  if (state != v1::Sweep::STATE_ACTIVE) {
    sweep.mutable_end_time()->set_seconds(1'700'000'125);
  }
  return sweep;
}

v1::Job TheJob(uint32_t index, v1::Job::State state) {
  v1::Job job;
  job.set_id(absl::StrCat("s12/", index));
  job.set_kind(index % 2 == 0 ? v1::Job::KIND_TRAIN : v1::Job::KIND_EVAL);
  job.set_state(state);
  job.set_approach("lr");
  job.set_train_set("squad");
  if (index % 2 == 1) {
    job.set_test_benchmark("news");
  }
  job.set_setting_index(2);
  (*job.mutable_setting())["lr"].set_double_value(0.1);
  (*job.mutable_setting())["epochs"].set_int_value(3);
  job.set_seed(1);
  if (state != v1::Job::STATE_READY) {
    job.set_attempt(1);
    job.set_worker("w1");
  }
  if (state == v1::Job::STATE_SUCCEEDED) {
    job.mutable_result()->set_succeeded(true);
    job.mutable_result()->mutable_run_time()->set_seconds(90);
    v1::Metric& metric = *job.mutable_result()->add_metrics();
    metric.set_name("f1");
    metric.set_value(61.25);
    metric.set_examples(1000);
  }
  if (state == v1::Job::STATE_FAILED) {
    job.set_failure(v1::FAILURE_CLASS_FAILED);
    job.mutable_result()->set_failure(v1::FAILURE_CLASS_FAILED);
    job.mutable_result()->set_exit_code(3);
    job.mutable_result()->set_message("exit code 3: \x1b[31mno memory\nsecond line");
    job.set_explanation("it failed 3 of 3 times");
  }
  return job;
}

v1::WatchSweepResponse WatchOf(uint32_t succeeded, uint32_t running, const std::string& cursor) {
  v1::WatchSweepResponse update;
  *update.mutable_sweep() = TheSweep("s12", "demo", v1::Sweep::STATE_ACTIVE);
  update.mutable_sweep()->clear_counts();
  update.mutable_sweep()->clear_reused();
  update.mutable_sweep()->mutable_counts()->set_succeeded(succeeded);
  update.mutable_sweep()->mutable_counts()->set_running(running);
  update.set_cursor(cursor);
  return update;
}

CommandsFixture::CommandsFixture() {
  fake_.sweeps = {TheSweep("s13", "next", v1::Sweep::STATE_ACTIVE),
                  TheSweep("s12", "demo", v1::Sweep::STATE_FAILED),
                  TheSweep("s11", "demo", v1::Sweep::STATE_SUCCEEDED)};
  fake_.jobs = {TheJob(0, v1::Job::STATE_SUCCEEDED), TheJob(1, v1::Job::STATE_FAILED),
                TheJob(2, v1::Job::STATE_READY), TheJob(3, v1::Job::STATE_SUCCEEDED)};
}

Output CommandsFixture::Concur(std::vector<std::string> args, const char* typed) {
  args.insert(args.begin(), {"--server", fake_.address()});
  return RunConcur(std::move(args), /*out_is_terminal=*/false, typed);
}

}  // namespace concur::cli
