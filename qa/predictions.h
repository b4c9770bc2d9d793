// SPDX-License-Identifier: Apache-2.0
// The answers of a system: a SQuAD predictions file.
#ifndef CONCUR_QA_PREDICTIONS_H_
#define CONCUR_QA_PREDICTIONS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::qa {

// Answers by question id. Copies share their texts.
class Predictions {
 public:
  // `owner` holds all texts; it is kept as long as the predictions (shared by their copies).
  explicit Predictions(std::shared_ptr<const void> owner) : owner_(std::move(owner)) {}

  void Reserve(size_t count) { answers_.reserve(count); }
  // Returns false and changes nothing when the id has an answer already. REQUIRES: `owner` holds
  // both.
  bool Add(absl::string_view id, absl::string_view answer) {
    return answers_.emplace(id, answer).second;
  }
  std::optional<absl::string_view> Find(absl::string_view id) const {
    const auto found = answers_.find(id);
    return found == answers_.end() ? std::nullopt : std::make_optional(found->second);
  }
  size_t size() const { return answers_.size(); }
  // The first id, in byte order, that `known` lacks.
  std::optional<absl::string_view> FirstIdNotIn(
      const absl::flat_hash_set<absl::string_view>& known) const;

 private:
  std::shared_ptr<const void> owner_;
  absl::flat_hash_map<absl::string_view, absl::string_view> answers_;
};

// Limit of a predictions file, unpacked. Reading takes up to ten times as much memory, on a worker
// beside the job that wrote it.
inline constexpr int64_t kPredictionsBytesMax = int64_t{128} << 20;

// Reads {"id": "answer", …}, plain or gzipped. InvalidArgument on anything else: another type,
// NaN, an id that appears twice.
absl::StatusOr<Predictions> ReadPredictions(const std::string& path);

}  // namespace concur::qa

#endif  // CONCUR_QA_PREDICTIONS_H_
