// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/secrets.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "core/fields.h"
#include "core/sweep/sweep.h"
#include "store/artifacts/file_blocks.h"

namespace concur {
namespace {

using SecretsJson = nlohmann::ordered_json;

constexpr char kUnfinishedPrefix[] = "secrets.json.tmp";
constexpr int64_t kSecretsFileBytesMax = int64_t{64} << 20;

absl::Status CannotSend() {
  return absl::FailedPreconditionError(
      "this coordinator listens beyond its machine without TLS, and handles no secrets");
}

// A process that was killed may have left some.
absl::Status RemoveUnfinished(const std::string& data_directory) {
  return ForEachEntry(data_directory, [&](const std::string& name) {
    if (absl::StartsWith(name, kUnfinishedPrefix)) {
      unlink(absl::StrCat(data_directory, "/", name).c_str());
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Secrets>> Secrets::Open(Clock& clock,
                                                       const std::string& data_directory,
                                                       bool may_send) {
  std::unique_ptr<Secrets> secrets(
      new Secrets(clock, absl::StrCat(data_directory, "/secrets.json"), may_send));
  CONCUR_RETURN_IF_ERROR(RemoveUnfinished(data_directory));
  const absl::StatusOr<std::string> text = ReadFile(secrets->path_, kSecretsFileBytesMax);
  if (absl::IsNotFound(text.status())) {
    return secrets;
  }
  CONCUR_RETURN_IF_ERROR(text.status());
  const absl::Status malformed =
      absl::DataLossError(absl::StrCat(secrets->path_, ": expected the secrets as Concur writes ",
                                       "them; move the file away and set them anew"));
  const SecretsJson json = SecretsJson::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("secrets") || !json["secrets"].is_array()) {
    return malformed;
  }
  MutexLock lock(secrets->mutex_);
  for (const SecretsJson& one : json["secrets"]) {
    for (const char* field : {"owner", "name", "value", "set_time"}) {
      if (!one.is_object() || !one.contains(field) || !one[field].is_string()) {
        return malformed;
      }
    }
    Record record{one["value"].get<std::string>(), absl::InfinitePast()};
    std::string error;
    if (!absl::ParseTime(absl::RFC3339_full, one["set_time"].get<std::string>(), &record.set_time,
                         &error)) {
      return malformed;
    }
    secrets->records_[{one["owner"].get<std::string>(), one["name"].get<std::string>()}] =
        std::move(record);
  }
  return secrets;
}

Secrets::Records Secrets::Copy() const {
  MutexLock lock(mutex_);
  return records_;
}

absl::Status Secrets::Replace(Records records) {
  SecretsJson list = SecretsJson::array();
  for (const auto& [key, record] : records) {
    list.push_back({{"owner", key.first},
                    {"name", key.second},
                    {"value", record.value},
                    {"set_time", absl::FormatTime(record.set_time, absl::UTCTimeZone())}});
  }
  const std::string text = absl::StrCat(SecretsJson{{"secrets", list}}.dump(1), "\n");
  if (static_cast<int64_t>(text.size()) > kSecretsFileBytesMax) {
    return absl::ResourceExhaustedError(absl::StrCat("all users' secrets would take ", text.size(),
                                                     " bytes; expected at most ",
                                                     kSecretsFileBytesMax));
  }
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(path_, text, 0600));
  MutexLock lock(mutex_);
  records_ = std::move(records);
  return absl::OkStatus();
}

absl::StatusOr<Secrets::Named> Secrets::Set(const std::string& owner, const std::string& name,
                                            const std::string& value) {
  if (!may_send_) {
    return CannotSend();
  }
  CONCUR_RETURN_IF_ERROR(AtField(FieldPath("name"), ValidateName(name)));
  if (value.size() < kSecretBytesMin || value.size() > kSecretBytesMax || !IsUtf8(value) ||
      std::any_of(value.begin(), value.end(), absl::ascii_iscntrl)) {
    return absl::InvalidArgumentError(absl::StrCat("value: expected one line of ", kSecretBytesMin,
                                                   " to ", kSecretBytesMax, " bytes in UTF-8"));
  }
  MutexLock lock(write_mutex_);
  Records changed = Copy();
  const absl::Time now = clock_.Now();
  changed[{owner, name}] = {value, now};
  const auto first = changed.lower_bound({owner, ""});
  size_t count = 0;
  for (auto it = first; it != changed.end() && it->first.first == owner; ++it) {
    ++count;
  }
  if (count > kSecretsOfOwnerMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("you have ", kSecretsOfOwnerMax, " secrets; delete some that nobody uses"));
  }
  CONCUR_RETURN_IF_ERROR(Replace(std::move(changed)));
  return Named{name, now};
}

absl::Status Secrets::Delete(const std::string& owner, const std::string& name) {
  MutexLock lock(write_mutex_);
  Records changed = Copy();
  if (changed.erase({owner, name}) == 0) {
    return absl::NotFoundError(absl::StrCat("you have no secret \"", name, "\""));
  }
  return Replace(std::move(changed));
}

std::vector<Secrets::Named> Secrets::List(const std::string& owner) const {
  MutexLock lock(mutex_);
  std::vector<Named> list;
  for (auto it = records_.lower_bound({owner, ""});
       it != records_.end() && it->first.first == owner; ++it) {
    list.push_back({it->first.second, it->second.set_time});
  }
  return list;
}

std::string Secrets::Find(const std::string& owner, const std::string& name) const {
  MutexLock lock(mutex_);
  const auto found = records_.find({owner, name});
  return found == records_.end() || !may_send_ ? "" : found->second.value;
}

absl::Status Secrets::CheckHas(const std::string& owner,
                               const std::vector<std::string>& names) const {
  if (!names.empty() && !may_send_) {
    return CannotSend();
  }
  for (const std::string& name : std::set<std::string>(names.begin(), names.end())) {
    if (Find(owner, name).empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "you have no secret \"", name, "\": set it with \"concur secret set ", name, "\""));
    }
  }
  return absl::OkStatus();
}

}  // namespace concur
