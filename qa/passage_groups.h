// SPDX-License-Identifier: Apache-2.0
// Passages that belong together when a data set is divided: equal ones, and those of one story,
// which grows from question to question.
//
// Thread-compatible.
#ifndef CONCUR_QA_PASSAGE_GROUPS_H_
#define CONCUR_QA_PASSAGE_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"

namespace concur::qa {

class PassageGroups {
 public:
  // The data set's next passage. One that begins with the whole passage before it continues its
  // story.
  void Add(absl::string_view context);
  // The group of each passage; groups are numbered from 0 in the order of their first passages.
  std::vector<uint32_t> Numbers() const;

 private:
  uint32_t RootOf(uint32_t passage) const;

  std::vector<uint32_t> parents_;  // an earlier passage of the group, or the passage itself
  absl::flat_hash_map<Digest, uint32_t> first_;  // with this text
  std::string previous_;
};

}  // namespace concur::qa

#endif  // CONCUR_QA_PASSAGE_GROUPS_H_
