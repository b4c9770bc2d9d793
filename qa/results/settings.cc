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
#include "base/table/words.h"
#include "base/utf8.h"
#include "qa/results/results.h"

namespace concur::imports {
namespace {

constexpr size_t kValueBytesMax = 40;

bool IsSeed(absl::string_view lower) {
  return lower == "seed" || lower == "seeds" || absl::EndsWith(lower, "_seed") ||
         absl::EndsWith(lower, "_seeds");
}

// The one list of settings that usually change no score: speed, place, logging, and digests of
// other settings. docs/leaderboards.md names them by kind.
bool IsNotCompared(absl::string_view lower) {
  constexpr absl::string_view kNames =
      "|api_key|batch_size|batch_sizes|bootstrap_iters|cache_dir|cache_requests|continue_on_fail|"
      "data_parallel_size|debug_errors|device|device_map|disable_log_stats|evaluation_date|"
      "fail_on_error|git_hash|gpu_memory_utilization|lighteval_sha|low_cpu_mem_usage|"
      "max_batch_size|max_connections|max_retries|max_sandboxes|max_subprocesses|max_tasks|"
      "no_cache|num_concurrent|output_path|override_batch_size|parallelize|pipeline_parallel_size|"
      "pretty_env_info|retry_on_error|run_id|sandbox_cleanup|score_display|swap_space|task_hashes|"
      "tensor_parallel_size|tokenized_requests|trust_remote_code|upper_git_hash|use_cache|"
      "verbosity|";
  return HasWord(kNames, lower) || absl::StartsWith(lower, "log_") ||
         absl::StartsWith(lower, "wandb");
}

// "GROUP.NAME" and "NAME" are settings of the same name.
std::string NameOfKey(absl::string_view key) {
  return absl::AsciiStrToLower(key.substr(key.rfind('.') + 1));
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
      name.empty() || IsSeed(absl::AsciiStrToLower(name))) {
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
  if (settings.size() >= kSettingsMax && IsNotCompared(NameOfKey(key))) {
    return;
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

void MoveNotCompared(Run& run) {
  for (Settings* const settings : {&run.data_settings, &run.model_settings, &run.task_settings}) {
    for (auto at = settings->begin(); at != settings->end();) {
      const auto next = std::next(at);
      if (IsNotCompared(NameOfKey(at->first))) {
        run.not_compared.insert(settings->extract(at));
      }
      at = next;
    }
  }
}

}  // namespace concur::imports
