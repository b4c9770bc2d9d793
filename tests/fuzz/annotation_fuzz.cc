// SPDX-License-Identifier: Apache-2.0
// The log of a room of annotators: as it is, and as lines that get the checksums that they lack. A
// log that is accepted is written as it was read, and leaves a room whose counts are true.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/digest.h"
#include "studies/annotation/log.h"
#include "studies/annotation/room.h"
#include "tests/fuzz/fuzz.h"

namespace {

using concur::annotation::Event;
using concur::annotation::LogContents;
using concur::annotation::Room;

std::string WithSums(absl::string_view text) {
  std::string summed;
  std::string before;
  const bool is_chained = !absl::StrContains(text, "\"version\":1");
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    absl::ConsumePrefix(&line, "{");
    const std::string sum = concur::Sha256Of(absl::StrCat(before, line)).ToHex().substr(0, 16);
    absl::StrAppend(&summed, "{\"sum\":\"", sum, "\",", line, "\n");
    before = is_chained ? sum : "";
  }
  return summed;
}

void Replay(const std::vector<Event>& events) {
  absl::StatusOr<Room> room =
      Room::Create({{"a", "", "The Rhine flows from the Alps."}, {"b", "", "Zürich 😀 Limmat"}},
                   {{{"o", "", "Ada lives in Bern."}, "Who?", {"Ada"}}}, events.front().settings);
  if (!room.ok()) {
    return;
  }
  for (const Event& event : events) {
    if (room->Check(event).ok()) {
      room->Apply(event);
    }
  }
  room->CheckInvariants();
}

void Read(const std::string& text) {
  const absl::StatusOr<LogContents> contents = concur::annotation::ParseLog(text, "log");
  if (!contents.ok()) {
    CONCUR_CHECK(!contents.status().message().empty());
    return;
  }
  std::string written;
  for (const Event& event : contents->events) {
    const bool is_chained = contents->events.front().log_version > 1;
    written += concur::annotation::EventLine(event, is_chained ? written : "");
  }
  CONCUR_CHECK(written == text.substr(0, contents->bytes));
  Replay(contents->events);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(concur::testing::Text(data, size));
  Read(text);
  Read(WithSums(text));
  return 0;
}
