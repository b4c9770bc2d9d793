// SPDX-License-Identifier: Apache-2.0
#include "yaml/value.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>

#include "tests/testing/test.h"

namespace concur::spec {
namespace {

// Reads the value of `v` in a one-line file and keeps the error.
struct Reading {
  explicit Reading(const std::string& text) {
    file.path = "dir/f.yaml";
    file.directory = "dir";
    EXPECT_TRUE(ParseYaml("v: " + text + "\n", &file, &errors)) << errors.ToStatus();
  }
  Value value() { return Value(file, file.root.entries[0].value, "v", errors); }
  std::string error() const { return std::string(errors.ToStatus().message()); }

  ErrorList errors;
  YamlFile file;
};

TEST(ValueTest, DurationsNeedAUnitAndAreNeverNegative) {
  for (const char* text : {"90", "-5s", "+5s", "s", "1x", "inf", "1h 30m", "\"\"", "[1s]", "nan",
                           "1e9h", "99999999999999999999s"}) {
    Reading reading(text);
    EXPECT_EQ(reading.value().Duration(absl::ZeroDuration(), absl::Hours(1)), std::nullopt) << text;
    EXPECT_THAT(reading.error(), HasSubstr("dir/f.yaml:1:4: v: expected a duration")) << text;
  }
  EXPECT_EQ(*ParseDurationText("1h30m"), absl::Minutes(90));
  EXPECT_EQ(*ParseDurationText("1.5s"), absl::Milliseconds(1500));
  EXPECT_EQ(*ParseDurationText("250ms"), absl::Milliseconds(250));
}

TEST(ValueTest, SizesNeedAUnitAndFitInSixtyBits) {
  for (const char* text : {"1024", "1Gi", "1G", "GiB", "-1GiB", "0x10B", "1e30TiB", "2000000TiB",
                           "1..5GB", "one GB", "", "1 0 MB"}) {
    EXPECT_FALSE(ParseBytesText(text).ok()) << text;
  }
  EXPECT_EQ(*ParseBytesText("0"), 0);
  EXPECT_EQ(*ParseBytesText("1GiB"), int64_t{1} << 30);
  EXPECT_EQ(*ParseBytesText("1.5 KiB"), 1536);
  EXPECT_EQ(*ParseBytesText("500MB"), 500'000'000);
  EXPECT_EQ(*ParseBytesText("7B"), 7);
}

TEST(ValueTest, IntegersAreWholePlainAndInRange) {
  for (const char* text : {"1.0", "1e3", "\"1\"", "0x1", "01", "1_0", "true", "~", "", "[1]",
                           "9223372036854775808", "11"}) {
    Reading reading(text);
    EXPECT_EQ(reading.value().Integer(0, 10), std::nullopt) << text;
    EXPECT_THAT(reading.error(), HasSubstr("expected a whole number from 0 to 10, got")) << text;
  }
  Reading reading("-9223372036854775808");
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(reading.value().Integer(kLow, 0), kLow);
}

TEST(ValueTest, TruthIsTrueOrFalseOnly) {
  for (const char* text : {"yes", "no", "on", "True", "\"true\"", "1", "~"}) {
    Reading reading(text);
    EXPECT_EQ(reading.value().Bool(), std::nullopt) << text;
    EXPECT_THAT(reading.error(), HasSubstr("expected true or false, got")) << text;
  }
}

TEST(ValueTest, AParameterHasTheTypeThatIsWritten) {
  const auto param = [](const std::string& text) { return Reading(text).value().Param(); };
  EXPECT_EQ(param("3"), ParamValue(int64_t{3}));
  EXPECT_EQ(param("-3"), ParamValue(int64_t{-3}));
  EXPECT_EQ(param("3.0"), ParamValue(3.0));
  EXPECT_EQ(param("0.001"), ParamValue(0.001));
  EXPECT_EQ(param("true"), ParamValue(true));
  EXPECT_EQ(param("\"3\""), ParamValue(std::string("3")));
  EXPECT_EQ(param("adam"), ParamValue(std::string("adam")));
  EXPECT_EQ(param("yes"), ParamValue(std::string("yes")));
  EXPECT_EQ(param("1.2.3"), ParamValue(std::string("1.2.3")));
  EXPECT_EQ(param("e5"), ParamValue(std::string("e5")));
  for (const char* text : {"007", "0x1F", "0o7", "1_000", ".inf", "-.INF", ".nan", "1e999",
                           "99999999999999999999", "~", "[1]", "{a: 1}"}) {
    EXPECT_EQ(param(text), std::nullopt) << text;
  }
}

// {hp.release} of 3.10 was 3.1.
TEST(ValueTest, AParameterKeepsTheTextThatIsWritten) {
  for (const std::string text :
       {"3.10", "1e-3", "1E-3", ".5", "5.", "+3", "-0", "0.30", "1e6", "1000000.0", "2.50e-4"}) {
    const std::optional<ParamValue> value = Reading(text).value().Param();
    ASSERT_TRUE(value.has_value()) << text;
    EXPECT_EQ(ParamText(*value), text);
    EXPECT_FALSE(std::holds_alternative<std::string>(*value)) << text << " is a number";
  }
}

TEST(ValueTest, CpusHaveThreeDecimalsAtMost) {
  EXPECT_EQ(Reading("0.25").value().Cpus(), 250);
  EXPECT_EQ(Reading("2").value().Cpus(), 2000);
  for (const char* text : {"0.0001", "-1", "1000001", "500m", "\"1\"", ".nan"}) {
    EXPECT_EQ(Reading(text).value().Cpus(), std::nullopt) << text;
  }
}

TEST(ValueTest, ARelativePathStartsAtItsFileOrWhereItsVariableWasDefined) {
  Reading reading("a/../b.json");
  EXPECT_EQ(reading.value().Path(), "dir/b.json");
  reading.file.root.entries[0].value.path_base = "elsewhere";
  EXPECT_EQ(reading.value().Path(), "elsewhere/b.json");
  EXPECT_EQ(Reading("/x//y").value().Path(), "/x/y");
  EXPECT_EQ(Reading("\"\"").value().Path(), std::nullopt);
}

TEST(ValueTest, AnUnknownFieldNamesItsNeighbourOrAllFields) {
  Reading reading("{prioritty: 1, zzz: 2}");
  Fields fields(reading.value());
  fields.Get("priority");
  fields.Finish();
  EXPECT_THAT(reading.error(), HasSubstr("v.prioritty: expected a known field, got \"prioritty\" "
                                         "(did you mean \"priority\"?)"));
  EXPECT_THAT(reading.error(), HasSubstr("got \"zzz\"; known are priority"));
}

TEST(ValueTest, ALongValueIsShownInPart) {
  Reading reading(std::string(100'000, 'x'));
  reading.value().Bool();
  EXPECT_LT(reading.error().size(), 300u);
}

}  // namespace
}  // namespace concur::spec
