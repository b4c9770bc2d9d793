// SPDX-License-Identifier: Apache-2.0
#include "yaml/train_from_yaml.h"

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

}  // namespace concur::spec
