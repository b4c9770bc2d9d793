// SPDX-License-Identifier: Apache-2.0
#include "cli/output/print.h"

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

struct Streams {
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{out, err};
};

Json Record(const std::string& name, int count) {
  Json record = Json::object();
  record["name"] = name;
  record["count"] = count;
  record["nested"]["value"] = 0.5;
  record["list"] = {"a", "b"};
  record["none"] = nullptr;
  return record;
}

std::string Printed(OutputMode mode) {
  Streams streams;
  streams.context.output = mode;
  Listing listing(streams.context, {{"NAME"}, {"COUNT", true}}, Record("", 0), "No things.");
  listing.Add({"short", "7"}, Record("short", 7));
  listing.Add({"漢字, \"quoted\"\x1b[2J", "1,234"}, Record("漢字, \"quoted\"\x1b[2J", 1234));
  listing.Print();
  EXPECT_EQ(streams.err.str(), "");
  return streams.out.str();
}

std::string PrintedEmpty(OutputMode mode, std::string* err = nullptr) {
  Streams streams;
  streams.context.output = mode;
  Listing(streams.context, {{"NAME"}}, Record("", 0), "No things.").Print();
  if (err != nullptr) {
    *err = streams.err.str();
  }
  return streams.out.str();
}

TEST(OutputTest, ATableIsAlignedAndCannotMoveTheCursor) {
  EXPECT_EQ(Printed(OutputMode::kTable),
            "NAME                COUNT\n"
            "short                   7\n"
            "漢字, \"quoted\"\xEF\xBF\xBD[2J  1,234\n");
}

TEST(OutputTest, JsonIsOneValue) {
  const Json parsed = Json::parse(Printed(OutputMode::kJson));
  ASSERT_EQ(parsed.size(), 2);
  EXPECT_EQ(parsed[1]["name"], "漢字, \"quoted\"\x1b[2J");
  EXPECT_THAT(Printed(OutputMode::kJson), Not(HasSubstr("\x1b")));
  EXPECT_EQ(PrintedEmpty(OutputMode::kJson), "[]\n");
}

TEST(OutputTest, JsonLinesAreOneRecordEach) {
  EXPECT_EQ(
      Printed(OutputMode::kJsonLines),
      "{\"name\":\"short\",\"count\":7,\"nested\":{\"value\":0.5},\"list\":[\"a\",\"b\"],"
      "\"none\":null}\n"
      "{\"name\":\"漢字, \\\"quoted\\\"\\u001b[2J\",\"count\":1234,\"nested\":{\"value\":0.5},"
      "\"list\":[\"a\",\"b\"],\"none\":null}\n");
}

TEST(OutputTest, CsvHasEveryKeyAndQuotesWhatNeedsIt) {
  EXPECT_EQ(Printed(OutputMode::kCsv),
            "name,count,nested.value,list,none\n"
            "short,7,0.5,a; b,\n"
            "\"漢字, \"\"quoted\"\"\x1b[2J\",1234,0.5,a; b,\n");
  EXPECT_EQ(PrintedEmpty(OutputMode::kCsv), "name,count,nested.value,list,none\n");
}

TEST(OutputTest, CsvHasNumbersInFullAndNoFormulas) {
  Streams streams;
  streams.context.output = OutputMode::kCsv;
  const Json prototype = {{"a", {{"b", 0}}}, {"c", 0}, {"d", ""}, {"e", false}, {"f", 0}};
  Listing listing(streams.context, {}, prototype, "");
  listing.Add({}, {{"f", -9'007'199'254'740'993},
                   {"a", {{"b", 18'446'744'073'709'551'615U}}},
                   {"c", 0.1 + 0.2},
                   {"d", "=1+1"},
                   {"e", true}});
  // Objects of other shapes: fields that are not there, and no object where keys go on.
  listing.Add({}, {{"a", 5}, {"c", 2.0}, {"d", {{"x", "y,z"}}}, {"more", 1}});
  listing.Add({}, Json());
  listing.Print();
  EXPECT_EQ(streams.out.str(),
            "a.b,c,d,e,f\n"
            "18446744073709551615,0.30000000000000004,'=1+1,true,-9007199254740993\n"
            ",2.0,\"{\"\"x\"\":\"\"y,z\"\"}\",,\n"
            ",,,,\n");
}

TEST(OutputTest, CsvOnATerminalCannotMoveTheCursor) {
  Streams streams;
  streams.context.output = OutputMode::kCsv;
  streams.context.out_is_terminal = true;
  Listing listing(streams.context, {{"NAME"}}, {{"name", ""}}, "");
  listing.Add({""}, {{"name", "red\x1b[31m"}});
  listing.Print();
  EXPECT_EQ(streams.out.str(), "name\nred\xEF\xBF\xBD[31m\n");
}

TEST(OutputTest, AnEmptyTableSaysSoOnStandardError) {
  std::string err;
  EXPECT_EQ(PrintedEmpty(OutputMode::kTable, &err), "");
  EXPECT_EQ(err, "No things.\n");
}

TEST(OutputTest, DetailsLeaveOutWhatIsEmpty) {
  Streams streams;
  PrintDetails(streams.context, {{"id", "s1"}, {"worker", ""}, {"state", "ready"}}, Record("", 0));
  EXPECT_EQ(streams.out.str(), "id     s1\nstate  ready\n");
}

TEST(OutputTest, ErrorsAreJsonWhereResultsAre) {
  Streams people;
  PrintError(people.context, absl::NotFoundError("no sweep \"x\x1b[1m\""));
  EXPECT_EQ(people.err.str(), "concur: error: no sweep \"x\xEF\xBF\xBD[1m\"\n");
  Streams lines;
  PrintError(lines.context, absl::InvalidArgumentError("a.yaml:1:2: x\na.yaml:3:4: y"));
  EXPECT_EQ(lines.err.str(), "concur: error:\na.yaml:1:2: x\na.yaml:3:4: y\n");
  Streams programs;
  programs.context.output = OutputMode::kJson;
  PrintError(programs.context, absl::NotFoundError("no sweep"));
  EXPECT_EQ(programs.err.str(), "{\"error\":{\"code\":\"NOT_FOUND\",\"message\":\"no sweep\"}}\n");
  PrintNote(programs.context, "for people");
  EXPECT_THAT(programs.err.str(), Not(HasSubstr("people")));
}

TEST(OutputTest, FiguresReadWell) {
  EXPECT_EQ(CountText(0), "0");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(1'234'567), "1,234,567");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(1536), "1.5 KiB");
  EXPECT_EQ(BytesText(int64_t{1} << 50), "1.0 PiB");
  EXPECT_EQ(SpanText(absl::Milliseconds(1450)), "1.4 s");
  EXPECT_EQ(SpanText(absl::Milliseconds(59'960)), "1m00s");
  EXPECT_EQ(SpanText(absl::Seconds(125)), "2m05s");
  EXPECT_EQ(SpanText(absl::Minutes(62)), "1h02m");
  EXPECT_EQ(SpanText(absl::Hours(76)), "3d04h");
  EXPECT_EQ(SpanText(absl::InfiniteDuration()), "—");
}

TEST(OutputTest, ALogKeepsItsLinesAndLosesItsTricks) {
  EXPECT_EQ(LogText("10%\r20%\r\nname\tvalue\x1b[31m\n"),
            "10%\n20%\nname\tvalue\xEF\xBF\xBD[31m\n");
  EXPECT_EQ(LogText(""), "");
}

}  // namespace
}  // namespace concur::cli
