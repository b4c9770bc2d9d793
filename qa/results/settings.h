// SPDX-License-Identifier: Apache-2.0
// Settings of a run, as result files record them: readers gather them, and runs that differ in one
// are no repetitions of each other. Seeds are none. Settings that usually change no score (speed,
// place, logging) are not compared either, but runs of a cell that differ in one are counted.
//
// Pure functions.
#ifndef CONCUR_QA_RESULTS_SETTINGS_H_
#define CONCUR_QA_RESULTS_SETTINGS_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "qa/results/results.h"

namespace concur::imports {

// Settings of one run and scope; further ones are one digest, which differs when one of them does.
inline constexpr size_t kSettingsMax = 100;

// Adds a setting unless it has no value ("", "None", "null", "[]", "{}") or is a seed. A
// name that has another value already is qualified, "GROUP.NAME". A value longer than 40 bytes, or
// with control characters, becomes the digest "#0123456789ab"; addresses of memory are left out.
void AddSetting(Settings& settings, absl::string_view group, absl::string_view name,
                absl::string_view value);

// The same for each of "NAME=VALUE,NAME=VALUE"; a part without "=" is a setting that is true.
void AddArguments(Settings& settings, absl::string_view group, absl::string_view arguments);

// Moves the settings that are not compared to `run.not_compared`.
void MoveNotCompared(Run& run);

// "" where there is none.
std::string ValueIn(const Settings& settings, const std::string& key);

// Stands for a long text: "#0123456789ab".
std::string ShortDigest(absl::string_view text);
bool IsDigest(absl::string_view value);

}  // namespace concur::imports

#endif  // CONCUR_QA_RESULTS_SETTINGS_H_
