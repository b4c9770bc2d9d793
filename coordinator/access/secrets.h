// SPDX-License-Identifier: Apache-2.0
// Secrets of users: API keys and the like, which jobs get as environment variables. They lie in
// DATA/secrets.json, with mode 0600, apart from the database, and in no backup.
//
// A value goes to workers with the jobs that name it, and nowhere else.
//
// Thread-safe.
#ifndef CONCUR_COORDINATOR_ACCESS_SECRETS_H_
#define CONCUR_COORDINATOR_ACCESS_SECRETS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace concur {

// Shorter values could not be told from other text in a log.
inline constexpr size_t kSecretBytesMin = 8;
inline constexpr size_t kSecretBytesMax = 16'384;
inline constexpr size_t kSecretsOfOwnerMax = 1'000;

class Secrets {
 public:
  struct Named {
    std::string name;
    absl::Time set_time;
  };

  // DataLoss when the file is malformed. It is not read again: one process has it open. Unless
  // `may_send`, values would cross a network in clear text: Set refuses, and Find finds none.
  static absl::StatusOr<std::unique_ptr<Secrets>> Open(Clock& clock,
                                                       const std::string& data_directory,
                                                       bool may_send);

  // Sets or replaces a secret, durably. InvalidArgument naming the field; ResourceExhausted beyond
  // kSecretsOfOwnerMax; FailedPrecondition unless values may be sent.
  absl::StatusOr<Named> Set(const std::string& owner, const std::string& name,
                            const std::string& value);
  // NotFound.
  absl::Status Delete(const std::string& owner, const std::string& name);
  // By name.
  std::vector<Named> List(const std::string& owner) const;
  // "" when the owner has no such secret.
  std::string Find(const std::string& owner, const std::string& name) const;
  // FailedPrecondition, with the command that sets it, when the owner lacks one of these names.
  absl::Status CheckHas(const std::string& owner, const std::vector<std::string>& names) const;

 private:
  struct Record {
    std::string value;
    absl::Time set_time;
  };
  // By owner and name.
  using Records = std::map<std::pair<std::string, std::string>, Record>;

  Secrets(Clock& clock, std::string path, bool may_send)
      : clock_(clock), path_(std::move(path)), may_send_(may_send) {}
  Records Copy() const;
  // Writes the file, then changes what Find sees.
  absl::Status Replace(Records records) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);

  Clock& clock_;
  const std::string path_;
  const bool may_send_;
  Mutex write_mutex_;  // held while the file is written; taken before mutex_
  mutable Mutex mutex_;
  Records records_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ACCESS_SECRETS_H_
