// SPDX-License-Identifier: Apache-2.0
#include "cli/output/tone.h"

#include <map>
#include <string>
#include <utility>

namespace concur::cli {

analysis::Tone ToneOf(absl::string_view state) {
  using analysis::Tone;
  static const auto* const kTones = new std::map<absl::string_view, Tone>{
      {"succeeded", Tone::kGood},  {"live", Tone::kGood},       {"active", Tone::kActive},
      {"running", Tone::kActive},  {"paused", Tone::kWarning},  {"canceling", Tone::kWarning},
      {"backoff", Tone::kWarning}, {"skipped", Tone::kWarning}, {"draining", Tone::kWarning},
      {"quarantined", Tone::kBad}, {"failed", Tone::kBad},      {"lost", Tone::kBad},
      {"canceled", Tone::kQuiet},  {"stopped", Tone::kQuiet}};
  const auto it = kTones->find(state);
  return it == kTones->end() ? Tone::kPlain : it->second;
}

analysis::TableCell StateCell(std::string state) {
  const analysis::Tone tone = ToneOf(state);
  return analysis::WithTone(analysis::TextCell(std::move(state)), tone);
}

}  // namespace concur::cli
