// SPDX-License-Identifier: Apache-2.0
// Scores as binary columns, for programs that read millions of them: `scores --columns`.
//
// The stream is pieces. Each is a line of JSON, {"rows": N, "columns": [{"name", "type"}, …]}, then
// the N values of each column in turn, little-endian: "f8" doubles, NaN where there is none; "i8"
// integers; "name" 4-byte numbers of names, of which the column's "names" in this and earlier
// pieces are the list, or -1; "json" the same, the names being objects. A piece of no rows is the
// last one: without it the stream was cut.
//
// Thread-compatible.
#ifndef CONCUR_CLI_OUTPUT_SCORE_COLUMNS_H_
#define CONCUR_CLI_OUTPUT_SCORE_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/job_score.h"
#include "core/sweep/expansion.h"
#include "core/sweep/params.h"

namespace concur::cli {

// The setting of a job; null for a job that the sweep does not have.
const Setting* SettingOf(const Expansion& expansion, uint32_t job);

class ScoreColumns {
 public:
  // `expansion` is that of the scores' sweep; it and `out` outlive this.
  ScoreColumns(const Expansion& expansion, std::ostream& out);

  void Add(const JobScore& score);
  // After the last score.
  void Finish();

 private:
  static constexpr size_t kPieceRows = 65'536;

  enum class Type : uint8_t { kName, kJson, kInteger, kNumber };
  struct Column {
    const char* name;
    Type type;
    std::string bytes;
    absl::flat_hash_map<std::string, int32_t> numbers;
    std::vector<std::string> fresh;  // names that no piece has had yet
  };

  void AddName(const std::string& name);
  void AddInteger(int64_t value);
  void AddNumber(double value);
  void WritePiece();

  const Expansion& expansion_;
  std::ostream& out_;
  std::vector<Column> columns_;
  size_t at_ = 0;  // the column of the next value
  size_t rows_ = 0;
  absl::flat_hash_map<const Setting*, std::pair<std::string, std::string>> settings_;  // text, JSON
};

}  // namespace concur::cli

#endif  // CONCUR_CLI_OUTPUT_SCORE_COLUMNS_H_
