// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/training/training_state.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/time/time.h"
#include "base/file.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

// The state of a training of one number.
TrainingState StateOfOne(const std::string& path, torch::Tensor number) {
  return {UpdateRule{}, {{"number", std::move(number)}}, {path, "print", absl::Hours(1)}};
}

TEST(TrainingStateTest, AStateIsSavedWhenItsTimeHasComeAndGoneOnFrom) {
  const TempDir directory;
  const std::string path = directory.File("checkpoint");
  const torch::Tensor more = torch::full({2}, 5.0);
  const auto tensors = [&more] { return TrainingState::Tensors{{"more", more}}; };
  const auto add = [](nlohmann::json& json) { json["own"] = 7; };
  TrainingState first = StateOfOne(path, torch::full({1}, 3.0));
  first.updates().SetSteps(4);
  EXPECT_OK(first.Save(false, tensors, add));
  EXPECT_FALSE(ReadFile(path).ok());
  EXPECT_OK(first.Save(true, tensors, add));

  const torch::Tensor number = torch::zeros({1});
  const torch::Tensor read_more = torch::zeros({2});
  TrainingState second = StateOfOne(path, number);
  const auto resume = [&](auto read) { return second.Resume({{"more", read_more}}, read); };
  ASSERT_OK_AND_ASSIGN(const bool found,
                       resume([](const nlohmann::json& json) { return json.at("own") == 7; }));
  EXPECT_TRUE(found);
  EXPECT_EQ(second.steps(), 4);
  EXPECT_EQ(number.item<double>(), 3);
  EXPECT_TRUE(read_more.equal(more));

  const auto is_damaged = StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path + ": damaged: "));
  EXPECT_THAT(resume([](const nlohmann::json& json) { return json.at("absent") == 7; }),
              is_damaged);
  EXPECT_THAT(resume([](const nlohmann::json&) { return false; }), is_damaged);
  TrainingState none = StateOfOne("", number);
  EXPECT_OK(none.Save(true, tensors, add));
  ASSERT_OK_AND_ASSIGN(const bool without,
                       none.Resume({}, [](const nlohmann::json&) { return true; }));
  EXPECT_FALSE(without);
}

}  // namespace
}  // namespace concur::readers
