// SPDX-License-Identifier: Apache-2.0
// The fields train_from and needs (docs/sweep-file.md): names, until the sweep is known.
//
// Thread-safe (stateless function, value).
#ifndef CONCUR_YAML_TRAIN_FROM_YAML_H_
#define CONCUR_YAML_TRAIN_FROM_YAML_H_

#include <string>

#include "yaml/value.h"

namespace concur::spec {

// A name of something else in the sweep, with its position.
struct NameUse {
  std::string name;
  std::string place;
};

struct TrainFromUse {
  std::string approach;
  std::string approach_place;  // "FILE:LINE:COL: FIELD: "
  std::string benchmark;       // or a mixture, or kSameTrainSet
  std::string benchmark_place;
};
// The benchmark of each job itself.
inline constexpr char kSameTrainSet[] = "same";

// Reads {approach: NAME, benchmark: NAME | same}. The result is valid only if no error was added.
TrainFromUse ReadTrainFrom(const Value& value);
std::vector<NameUse> ReadNeeds(const Value& value);

}  // namespace concur::spec

#endif  // CONCUR_YAML_TRAIN_FROM_YAML_H_
