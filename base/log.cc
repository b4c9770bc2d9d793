// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/escape.h"
#include "base/utf8.h"

namespace concur {
namespace {

std::atomic<LogFormat> g_format{LogFormat::kText};

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kNone:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

spdlog::logger& Logger() {
  static spdlog::logger* const logger = [] {
    auto* created = new spdlog::logger("concur", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    created->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%-7l%$ %v", spdlog::pattern_time_type::utc);
    return created;
  }();
  return *logger;
}

}  // namespace

void SetLog(LogLevel level, LogFormat format) {
  g_format = format;
  Logger().set_level(SpdlogLevel(level));
  if (format == LogFormat::kJson) {
    Logger().set_pattern("{\"time\":\"%Y-%m-%dT%H:%M:%S.%eZ\",\"level\":\"%l\",%v}",
                         spdlog::pattern_time_type::utc);
  }
}

void Log(LogLevel level, absl::string_view message, const LogFields& fields) {
  if (!Logger().should_log(SpdlogLevel(level))) {
    return;
  }
  std::string line;
  if (g_format == LogFormat::kJson) {
    line = "\"message\":";
    AppendJsonString(CleanUtf8(message), line);
    for (const auto& [name, value] : fields) {
      line += ',';
      AppendJsonString(CleanUtf8(name), line);
      line += ':';
      AppendJsonString(CleanUtf8(value), line);
    }
  } else {
    line = OneLine(message);
    for (const auto& [name, value] : fields) {
      absl::StrAppend(&line, " ", name, "=", OneLine(value));
    }
  }
  Logger().log(SpdlogLevel(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace concur
