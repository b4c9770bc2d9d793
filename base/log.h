// SPDX-License-Identifier: Apache-2.0
// The process's log: one line per event on standard error, as text or JSON.
//
// Thread-safe. Wraps spdlog, whose headers are slow to compile.
#ifndef CONCUR_BASE_LOG_H_
#define CONCUR_BASE_LOG_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace concur {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kNone };  // kNone: for SetLog only
enum class LogFormat { kText, kJson };

// Named values that are logged after the message: {{"job", "s1/4"}, {"worker", "w1"}}.
using LogFields = std::vector<std::pair<absl::string_view, std::string>>;

// Messages below `level` are dropped. The default is kInfo, as text.
void SetLog(LogLevel level, LogFormat format);

void Log(LogLevel level, absl::string_view message, const LogFields& fields = {});

inline void LogDebug(absl::string_view message, const LogFields& fields = {}) {
  Log(LogLevel::kDebug, message, fields);
}
inline void LogInfo(absl::string_view message, const LogFields& fields = {}) {
  Log(LogLevel::kInfo, message, fields);
}
inline void LogWarning(absl::string_view message, const LogFields& fields = {}) {
  Log(LogLevel::kWarning, message, fields);
}
inline void LogError(absl::string_view message, const LogFields& fields = {}) {
  Log(LogLevel::kError, message, fields);
}

}  // namespace concur

#endif  // CONCUR_BASE_LOG_H_
