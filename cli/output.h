// How commands print results: an aligned table for people; one JSON value, JSON lines or CSV for
// programs. The same records make all four.
//
// Text from the server is made harmless on its way to a terminal: control characters, which could
// move the cursor or recolour the screen, are replaced (JSON escapes them).
//
// Thread-compatible.
#ifndef CONCUR_CLI_OUTPUT_H_
#define CONCUR_CLI_OUTPUT_H_

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/command.h"

namespace concur::cli {

using Json = nlohmann::ordered_json;

// "1.5 s", "2m05s", "1h02m", "3d04h"; "—" for infinite spans.
std::string SpanText(absl::Duration span);
// "17 B", "1.5 KiB", "2.0 GiB".
std::string BytesText(int64_t bytes);
// "1,234,567".
std::string CountText(uint64_t count);
// Text for one line of a terminal: no control characters, at most `width_max` columns (0: any).
std::string LineText(absl::string_view text, size_t width_max = 0);
// A job's log for a terminal: control characters but line feeds and tabs become U+FFFD, carriage
// returns become line feeds.
std::string LogText(absl::string_view text);

// A value as compact JSON, on one line; bytes that are not UTF-8 become U+FFFD.
std::string CompactJson(const Json& value);

struct Column {
  std::string head;
  bool is_number = false;  // right-aligned
};

// A list of things. Cells are for people, records for programs.
class Listing {
 public:
  // `prototype` has every key of a record: CSV has a column for each, nested keys joined by ".".
  // `empty` is what a person is told when there is nothing.
  Listing(std::vector<Column> columns, const Json& prototype, std::string empty);
  ~Listing();
  Listing(Listing&&) noexcept;
  Listing& operator=(Listing&&) = delete;

  void Add(std::vector<std::string> cells, Json record);
  void Print(CommandContext& context) const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

// One thing: "name  value" lines for people (empty values are left out), the record for programs.
void PrintDetails(CommandContext& context,
                  const std::vector<std::pair<std::string, std::string>>& lines,
                  const Json& record);

// "concur: error: MESSAGE" on context.err; with JSON output {"error":{"code","message"}}.
void PrintError(CommandContext& context, const absl::Status& status);
// "concur: warning: MESSAGE"; with JSON output {"warning":{"message"}}.
void PrintWarning(CommandContext& context, absl::string_view message);
// "concur: MESSAGE", for people only: nothing with JSON output.
void PrintNote(CommandContext& context, absl::string_view message);

inline bool IsJson(const CommandContext& context) {
  return context.output == OutputMode::kJson || context.output == OutputMode::kJsonLines;
}

}  // namespace concur::cli

#endif  // CONCUR_CLI_OUTPUT_H_
