// SPDX-License-Identifier: Apache-2.0
// A strict parser of Prometheus' text format that also checks the project's naming rules.
#ifndef CONCUR_TESTS_TESTING_EXPOSITION_H_
#define CONCUR_TESTS_TESTING_EXPOSITION_H_

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace concur::testing {

// By series as written: concur_jobs{state="ready"}.
using Samples = std::map<std::string, double>;

inline void CheckName(const std::string& name, const std::string& type) {
  const bool known = absl::StartsWith(name, "concur_") || absl::StartsWith(name, "grpc_server_");
  EXPECT_TRUE(known) << name << ": expected the prefix concur_, or gRPC's own names";
  for (char c : name) {
    EXPECT_TRUE(absl::ascii_islower(static_cast<unsigned char>(c)) ||
                absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '_')
        << name;
  }
  EXPECT_EQ(type == "counter", absl::EndsWith(name, "_total"))
      << name << ": counters, and nothing else, end in _total";
  if (type == "histogram") {
    EXPECT_TRUE(absl::EndsWith(name, "_seconds") || absl::EndsWith(name, "_bytes")) << name;
  }
}

inline void CheckLabels(const std::string& series) {
  const size_t brace = series.find('{');
  if (brace == std::string::npos) {
    return;
  }
  const std::string inside = series.substr(brace + 1, series.rfind('}') - brace - 1);
  for (absl::string_view pair : absl::StrSplit(inside, ',')) {
    const std::string name(pair.substr(0, pair.find('=')));
    // "owner" and "approach" by UsageCounters' limit.
    const std::set<std::string> bounded = {"state",       "outcome",     "program", "version", "le",
                                           "grpc_method", "grpc_status", "owner",   "approach"};
    EXPECT_EQ(bounded.count(name), 1u)
        << series << ": an unknown label; labels must have few values";
  }
}

// Fails the test if the text or a name breaks a rule.
inline Samples ParseExposition(const std::string& text) {
  Samples samples;
  std::map<std::string, std::string> types;
  std::set<std::string> helped;
  EXPECT_TRUE(text.empty() || text.back() == '\n');
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  for (const std::string& line : lines) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 3));
    if (absl::StartsWith(line, "# HELP ")) {
      EXPECT_TRUE(words.size() == 4 && !words[3].empty()) << line;
      EXPECT_TRUE(helped.insert(words[2]).second) << "twice: " << line;
      continue;
    }
    if (absl::StartsWith(line, "# TYPE ")) {
      EXPECT_EQ(words.size(), 4u) << line;
      types[words[2]] = words[3];
      CheckName(words[2], words[3]);
      continue;
    }
    const size_t space = line.rfind(' ');
    const std::string series = line.substr(0, space);
    double value = 0;
    EXPECT_TRUE(absl::SimpleAtod(line.substr(space + 1), &value)) << line;
    std::string family = series.substr(0, series.find('{'));
    for (const char* suffix : {"_bucket", "_sum", "_count"}) {
      const std::string stem = family.substr(0, family.size() - std::string(suffix).size());
      if (absl::EndsWith(family, suffix) && types.count(stem) != 0) {
        family = stem;
      }
    }
    EXPECT_EQ(types.count(family), 1u) << line << ": it has no TYPE line";
    EXPECT_EQ(helped.count(family), 1u) << line << ": it has no HELP line";
    CheckLabels(series);
    EXPECT_TRUE(samples.emplace(series, value).second) << "twice: " << series;
  }
  return samples;
}

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_EXPOSITION_H_
