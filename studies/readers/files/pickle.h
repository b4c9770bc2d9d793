// SPDX-License-Identifier: Apache-2.0
// Reads Python pickles without executing anything: a pickle is a program for a small machine that
// builds values, and may name any function of any module to call. Here it may name a handful, which
// only make plain values; every other name is refused.
//
// Hostile input: the machine's memory is bounded by the pickle's length, and values are held in one
// place, so that neither depth nor cycles matter. Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_FILES_PICKLE_H_
#define CONCUR_STUDIES_READERS_FILES_PICKLE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "studies/readers/files/safetensors.h"

namespace concur::readers {

struct PickleValue {
  enum class Kind {
    kNone,
    kBool,
    kInteger,
    kReal,
    kText,     // strings and bytes
    kList,     // lists, tuples and sets: items
    kDict,     // pairs
    kGlobal,   // text: "module.name"
    kRecord,   // an object of a class whose fields are plain: text is the class; pairs
    kStorage,  // where a tensor's values lie: text is the key, type, integer their number
    kTensor,   // items[0] is the storage, integer the offset; shape, strides
  };
  Kind kind = Kind::kNone;
  bool flag = false;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<const PickleValue*> items;
  std::vector<std::pair<const PickleValue*, const PickleValue*>> pairs;
  Type type = Type::kFloat32;
  std::vector<int64_t> shape, strides;

  // The value under a key that is a string; null when there is none.
  const PickleValue* Find(absl::string_view key) const;
};

// Owns the values of the pickles that were read into it.
class PickleReader {
 public:
  // Reads one pickle from the front of `bytes`, which is advanced behind it. InvalidArgument, with
  // the name, for a global that is not known to be harmless; also for damaged pickles.
  absl::StatusOr<const PickleValue*> Read(absl::string_view& bytes);

  // Every value of every pickle.
  const std::deque<PickleValue>& values() const { return values_; }

 private:
  std::deque<PickleValue> values_;
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_FILES_PICKLE_H_
