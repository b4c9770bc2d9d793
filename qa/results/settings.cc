// SPDX-License-Identifier: Apache-2.0
#include "qa/results/settings.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "qa/results/results.h"

namespace concur::imports {
namespace {

constexpr size_t kValueBytesMax = 40;

bool ChangesNoScore(absl::string_view name) {
  static constexpr absl::string_view kNames[] = {"api_key",
                                                 "attempt_timeout",
                                                 "base_url",
                                                 "batch_size",
                                                 "batch_sizes",
                                                 "bootstrap_iters",
                                                 "cache_dir",
                                                 "cache_requests",
                                                 "data_parallel_size",
                                                 "device",
                                                 "device_map",
                                                 "disable_log_stats",
                                                 "evaluation_date",
                                                 "gpu_memory_utilization",
                                                 "low_cpu_mem_usage",
                                                 "max_batch_size",
                                                 "max_connections",
                                                 "max_retries",
                                                 "no_cache",
                                                 "num_concurrent",
                                                 "output_path",
                                                 "parallelize",
                                                 "pipeline_parallel_size",
                                                 "run_id",
                                                 "seed",
                                                 "seeds",
                                                 "swap_space",
                                                 "timeout",
                                                 "tensor_parallel_size",
                                                 "trust_remote_code",
                                                 "use_cache",
                                                 "verbosity",
                                                 "tokenized_requests"};
  const std::string lower = absl::AsciiStrToLower(name);
  return std::find(std::begin(kNames), std::end(kNames), lower) != std::end(kNames) ||
         absl::EndsWith(lower, "_seed") || absl::EndsWith(lower, "_seeds") ||
         absl::StartsWith(lower, "log_") || absl::StartsWith(lower, "wandb");
}

// Python writes functions as "<function f at 0x7f3a…>", each time another.
std::string WithoutAddresses(absl::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (absl::EndsWith(result, " at 0x")) {
      while (i + 1 < text.size() && absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 1]))) {
        ++i;
      }
    }
  }
  return result;
}

std::string Short(absl::string_view text) {
  const bool is_plain = text.size() <= kValueBytesMax && IsUtf8(text) &&
                        std::none_of(text.begin(), text.end(), [](char c) {
                          return absl::ascii_iscntrl(static_cast<unsigned char>(c));
                        });
  return is_plain ? std::string(text) : ShortDigest(text);
}

}  // namespace

std::string ValueIn(const Settings& settings, const std::string& key) {
  const auto found = settings.find(key);
  return found == settings.end() ? "" : found->second;
}

std::string ShortDigest(absl::string_view text) {
  return absl::StrCat("#", Sha256Of(text).ToHex().substr(0, 12));
}

bool IsDigest(absl::string_view value) { return value.size() == 13 && value[0] == '#'; }

void AddSetting(Settings& settings, absl::string_view group, absl::string_view name,
                absl::string_view value) {
  name = absl::StripAsciiWhitespace(name);
  value = absl::StripAsciiWhitespace(value);
  if (value.empty() || value == "None" || value == "null" || value == "[]" || value == "{}" ||
      name.empty() || ChangesNoScore(name)) {
    return;
  }
  std::string text = Short(absl::StrContains(value, " at 0x") ? WithoutAddresses(value) : value);
  if (text == "True" || text == "False") {
    absl::AsciiStrToLower(&text);
  }
  std::string key = Short(name);
  const auto found = settings.find(key);
  if (found != settings.end() && found->second != text) {
    key = Short(absl::StrCat(group, ".", name));
  }
  if (settings.size() < kSettingsMax) {
    settings.emplace(key, text);
  } else if (settings.count(key) == 0) {
    std::string& rest = settings["other settings"];
    rest = ShortDigest(absl::StrCat(rest, key, "=", text));
  }
}

void AddArguments(Settings& settings, absl::string_view group, absl::string_view arguments) {
  for (const absl::string_view part : absl::StrSplit(arguments, ',')) {
    const size_t equals = part.find('=');
    AddSetting(settings, group, part.substr(0, equals),
               equals == absl::string_view::npos ? "true" : part.substr(equals + 1));
  }
}

}  // namespace concur::imports
