// SPDX-License-Identifier: Apache-2.0
#include "yaml/train_from_yaml.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace concur::spec {

TrainFromUse ReadTrainFrom(const Value& value) {
  TrainFromUse use;
  Fields fields(value);
  if (const auto approach = fields.Require("approach", "the one whose system it starts from")) {
    use.approach = approach->Text("the name of an approach").value_or("");
    use.approach_place = approach->Place();
  }
  if (const auto benchmark =
          fields.Require("benchmark", "that the system was trained on, or same")) {
    use.benchmark = benchmark->Text("the name of a benchmark or mixture, or same").value_or("");
    use.benchmark_place = benchmark->Place();
  }
  fields.Finish();
  return use;
}

std::vector<NameUse> ReadNeeds(const Value& value) {
  std::vector<NameUse> needs;
  const std::optional<std::vector<Value>> list = value.List("a list of approaches that serve");
  for (const Value& item : list.value_or(std::vector<Value>())) {
    if (std::optional<std::string> name = item.Text("the name of an approach")) {
      needs.push_back({*std::move(name), item.Place()});
    }
  }
  return needs;
}

}  // namespace concur::spec
