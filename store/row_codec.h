// SPDX-License-Identifier: Apache-2.0
// Binds the values of a row to a statement and reads them back, with a checksum over them.
//
// The checksum covers the values that are not NULL, each together with its column's number, so that
// a column added by a later migration (NULL in old rows) changes no old checksum. It lets Load tell
// a row that was written from one in which a bit was flipped, which SQLite cannot.
//
// Thread-compatible.
#ifndef CONCUR_STORE_ROW_CODEC_H_
#define CONCUR_STORE_ROW_CODEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/ids.h"
#include "core/result.h"
#include "store/sql.h"

namespace concur {

// The integer key of a job's rows: sweep << 32 | index. REQUIRES: sweep.number <= kSweepNumberMax.
constexpr int64_t JobKey(JobId id) {
  return static_cast<int64_t>(id.sweep.number << 32 | id.index);
}
constexpr JobId JobOfKey(int64_t key) {
  return JobId{SweepId{static_cast<uint64_t>(key) >> 32}, static_cast<uint32_t>(key)};
}

// Nanoseconds since 1970. The infinities have numbers of their own; other times outside the years
// 1678 to 2262 become the nearest one inside.
int64_t TimeToInt(absl::Time time);
absl::Time TimeOfInt(int64_t nanoseconds);
int64_t DurationToInt(absl::Duration duration);
absl::Duration DurationOfInt(int64_t nanoseconds);

// Metrics as a JSON object {"f1":[81.5,10570]}: name, value, examples; an interval follows. Those
// of a part are {"anatomy/f1":[81.5,135,"anatomy"]}. Values are written with the fewest digits that
// read back as the same double.
std::string MetricsToJson(const std::vector<Metric>& metrics);
// False when `json` is not what MetricsToJson writes.
bool MetricsOfJson(absl::string_view json, std::vector<Metric>& metrics);

// Accumulates a checksum of numbered values. A step is a bijection of the 64-bit state, so that a
// change to one word always changes it; folded to 32 bits, one change in 2^32 goes unnoticed.
// CRC-32 was measured too: it took a quarter of the time of Load.
class RowChecksum {
 public:
  void Clear() { state_ = kStart; }
  void AddInt(int column, int64_t value) {
    Mix(static_cast<uint64_t>(value));
    Mix(static_cast<uint64_t>(column));
  }
  void AddBytes(int column, absl::string_view value);
  // As a signed number: SQLite stores it in four bytes.
  int32_t Finish() const;

 private:
  static constexpr uint64_t kStart = 0x9e37'79b9'7f4a'7c15;  // 2^64 / golden ratio
  void Mix(uint64_t word) {
    state_ = (state_ ^ word) * 0xff51'afd7'ed55'8ccd;  // odd, as in MurmurHash3's finalizer
    state_ ^= state_ >> 32;
  }

  uint64_t state_ = kStart;
};

// Binds the parameters 1, 2, … of a statement in order; Run binds the checksum last.
class RowWriter {
 public:
  RowWriter(SqlStatement& statement, RowChecksum& checksum)
      : statement_(statement), checksum_(checksum) {
    checksum_.Clear();
  }

  void Int(int64_t value);
  void Real(double value);  // finite
  void Text(absl::string_view value);
  void Blob(absl::string_view value);
  void Null() { statement_.BindNull(++parameter_); }
  // NULL when empty.
  void OptionalText(absl::string_view value);
  // Three columns, which are NULL without one.
  void OptionalCheckpoint(const std::optional<Checkpoint>& checkpoint);
  // The kResultColumns. `result` must outlive Run.
  void Result(const JobResult& result);

  // `changed` as SqlStatement::Run.
  absl::Status Run(int64_t* changed = nullptr);

 private:
  void Column(bool value) { Int(value ? 1 : 0); }
  void Column(FailureClass value) { Int(static_cast<int64_t>(value)); }
  void Column(int32_t value) { Int(value); }
  void Column(int64_t value) { Int(value); }
  void Column(uint32_t value);  // NULL when 0
  void Column(const std::string& value) { OptionalText(value); }
  void Column(absl::Time value) { Int(TimeToInt(value)); }
  void Column(absl::Duration value) { Int(DurationToInt(value)); }
  void Column(const std::vector<Metric>& metrics);
  void Column(const std::vector<ArtifactRef>& artifacts);
  void Artifact(const ArtifactRef* artifact);

  SqlStatement& statement_;
  RowChecksum& checksum_;
  int parameter_ = 0;
  std::string metrics_;  // bound text that must live until Run
};

// Saves a counter.
absl::Status PutCounter(SqlDatabase& database, const std::string& name, int64_t value);

// Reads the columns of the current row in order. A value of a wrong type or range is remembered and
// read as 0 or ""; Finish tells.
class RowReader {
 public:
  RowReader(const SqlStatement& statement, RowChecksum& checksum)
      : statement_(statement), checksum_(checksum) {
    checksum_.Clear();
  }

  int64_t Int(int64_t low = INT64_MIN, int64_t high = INT64_MAX);
  std::optional<int64_t> OptionalInt(int64_t low = INT64_MIN, int64_t high = INT64_MAX);
  double Real();
  bool Bool() { return Int(0, 1) == 1; }
  // Valid until the next Step.
  absl::string_view Text();
  absl::string_view Blob();
  absl::string_view OptionalText();
  absl::string_view OptionalBlob();
  std::optional<Checkpoint> OptionalCheckpoint();
  void Result(JobResult& result);

  // Reads the checksum. False when the row is not what was written; `problem` says why.
  bool Finish();
  const std::string& problem() const { return problem_; }

 private:
  void Column(bool& value) { value = Bool(); }
  void Column(FailureClass& value) {
    value = static_cast<FailureClass>(Int(0, kFailureClasses - 1));
  }
  void Column(int32_t& value) { value = static_cast<int32_t>(Int(INT32_MIN, INT32_MAX)); }
  void Column(int64_t& value) { value = Int(); }
  void Column(uint32_t& value) {
    value = static_cast<uint32_t>(OptionalInt(0, UINT32_MAX).value_or(0));
  }
  void Column(std::string& value) { value = std::string(OptionalText()); }
  void Column(absl::Time& value) { value = TimeOfInt(Int()); }
  void Column(absl::Duration& value) { value = DurationOfInt(Int()); }
  void Column(std::vector<Metric>& metrics);
  void Column(std::vector<ArtifactRef>& artifacts);
  void Artifact(ArtifactKind kind, std::vector<ArtifactRef>& artifacts);

  void Fail(absl::string_view problem);

  const SqlStatement& statement_;
  RowChecksum& checksum_;
  int column_ = -1;
  std::string problem_;
};

}  // namespace concur

#endif  // CONCUR_STORE_ROW_CODEC_H_
