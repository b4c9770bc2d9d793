// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

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

// Size in bytes of the UTF-8 character at the start of `text`; 0 if there is no valid one.
size_t Utf8Length(absl::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t length = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  if (length == 0 || length > text.size()) {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80) {
      return 0;
    }
  }
  // Overlong forms, surrogates, and code points beyond Unicode.
  const bool bad =
      length > 2 && ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0) ||
                     (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90));
  return bad ? 0 : length;
}

std::string JsonEscape(absl::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length != 1) {
      // Output of programs may be invalid UTF-8; JSON must not be.
      absl::StrAppend(&out, length == 0 ? "\\ufffd" : text.substr(0, length));
      text.remove_prefix(length == 0 ? 1 : length);
      continue;
    }
    const char c = text[0];
    text.remove_prefix(1);
    if (c == '"' || c == '\\') {
      absl::StrAppend(&out, "\\", std::string(1, c));
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(c));
      out += buffer;
    } else {
      out += c;
    }
  }
  return out;
}

// Escapes line breaks that a job or a peer put into a message.
std::string OneLine(absl::string_view text) {
  std::string out;
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      absl::StrAppend(&out, absl::CEscape(absl::string_view(&c, 1)));
    } else {
      out += c;
    }
  }
  return out;
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
    line = absl::StrCat("\"message\":\"", JsonEscape(message), "\"");
    for (const auto& [name, value] : fields) {
      absl::StrAppend(&line, ",\"", JsonEscape(name), "\":\"", JsonEscape(value), "\"");
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
