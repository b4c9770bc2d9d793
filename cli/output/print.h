// SPDX-License-Identifier: Apache-2.0
// Prints commands' lists, single things and messages: aligned text for people; one JSON value,
// JSON lines or CSV for programs.
//
// Text from the server is made harmless on its way to a terminal: control characters, which could
// move the cursor or recolour the screen, are replaced (JSON escapes them).
//
// Thread-compatible.
#ifndef CONCUR_CLI_OUTPUT_PRINT_H_
#define CONCUR_CLI_OUTPUT_PRINT_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/app/context.h"
#include "report/table.h"

namespace google::protobuf {
class Duration;
}  // namespace google::protobuf

namespace concur::cli {

using Json = nlohmann::ordered_json;

// "1.5 s", "2m05s", "1h02m", "3d04h"; "—" for infinite spans.
std::string SpanText(absl::Duration span);
// 0 for what is no duration.
absl::Duration SpanOf(const google::protobuf::Duration& span);
// "17 B", "1.5 KiB", "2.0 GiB".
std::string BytesText(int64_t bytes);
// "1,234,567".
std::string CountText(uint64_t count);
// Text for one line of a terminal: no control characters, at most `width_max` columns (0: any).
std::string LineText(absl::string_view text, size_t width_max = 0);
// `text` up to its first line feed.
std::string HeadLine(absl::string_view text);
// A job's log for a terminal: control characters but line feeds and tabs become U+FFFD, carriage
// returns become line feeds.
std::string LogText(absl::string_view text);

struct Column {
  std::string name;
  bool is_number = false;  // right-aligned
  int decimals = 2;
  // On a terminal only:
  int drop = 0;           // as in analysis::TableColumn
  size_t width_max = 0;   // for its text; 0: any
  bool is_state = false;  // coloured by its word
  bool wraps = false;     // as in analysis::TableColumn
};

// A table of these columns, which people and programs see by the same names and in full length.
analysis::Table ListTable(const std::vector<Column>& columns);
analysis::TableRow TextCells(std::vector<std::string> cells);
// Options with which aligned text is written to context.out.
analysis::TextOptions TextOptionsOf(const CommandContext& context);

// A list of things. Cells are for people, records for programs; only what the output mode of
// `context` shows is kept, and of a long list only a piece: it is written while more comes.
class Listing {
 public:
  // `prototype` has every key of a record: CSV has a column for each, nested keys joined by ".".
  // `empty` is what a person reads when there is nothing.
  Listing(CommandContext& context, const std::vector<Column>& columns, const Json& prototype,
          std::string empty);
  ~Listing();

  // True if people read it: a long list need not make what nobody sees.
  bool wants_cells() const { return context_.output == OutputMode::kTable; }
  void Add(std::vector<std::string> cells, const Json& record);
  // After the last thing.
  void Print();

 private:
  static constexpr size_t kPiece = 1000;

  void WritePiece();

  CommandContext& context_;
  const std::vector<Column> columns_;
  analysis::Table table_;
  analysis::TextLayout layout_;
  std::vector<std::vector<std::string>> keys_;  // CSV columns' keys, part by part
  std::string empty_;
  size_t added_ = 0;
  std::string lines_;  // CSV, JSON lines, or the elements of one JSON value
};

// One JSON value: indented, or on a line with JSON lines.
void PrintJson(CommandContext& context, const Json& value);

// One thing: "name  value" lines for people (empty values are left out), the record for programs.
void PrintDetails(CommandContext& context,
                  const std::vector<std::pair<std::string, std::string>>& lines,
                  const Json& record);

// "concur: error: MESSAGE" on context.err; with JSON output {"error":{"code","message"}}.
void PrintError(CommandContext& context, const absl::Status& status);
// "concur: warning: MESSAGE"; with JSON output {"warning":{"message"}}.
void PrintWarning(CommandContext& context, absl::string_view message);
// Those of one kind on one line; with JSON output each by itself.
void PrintWarnings(CommandContext& context, const std::vector<std::string>& messages);
// "concur: MESSAGE", for people only: nothing with JSON output.
void PrintNote(CommandContext& context, absl::string_view message);

inline bool IsJson(const CommandContext& context) {
  return context.output == OutputMode::kJson || context.output == OutputMode::kJsonLines;
}

}  // namespace concur::cli

#endif  // CONCUR_CLI_OUTPUT_PRINT_H_
