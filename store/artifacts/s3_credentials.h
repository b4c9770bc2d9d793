// SPDX-License-Identifier: Apache-2.0
// Credentials for object storage: given at the start, or from a file that is read again when it
// changes.
#ifndef CONCUR_STORE_ARTIFACTS_S3_CREDENTIALS_H_
#define CONCUR_STORE_ARTIFACTS_S3_CREDENTIALS_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"

namespace concur::s3 {

struct Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // part of those that expire; "" for others
};

// Parses the form of ~/.aws/credentials: "[default]", then "aws_access_key_id = …" and
// "aws_secret_access_key = …", and "aws_session_token = …" where there is one. Other sections are
// passed over. InvalidArgument names the line.
absl::StatusOr<Credentials> ParseCredentials(absl::string_view text);

// Thread-safe.
class CredentialsSource {
 public:
  // `file` "": always `given`.
  CredentialsSource(std::string file, Credentials given);

  // Credentials that are valid now: a file that was replaced is read anew. FailedPrecondition when
  // others than its owner may read it; errors name the file.
  absl::StatusOr<Credentials> Current();
  // Where they come from, for messages.
  std::string origin() const;

 private:
  const std::string file_;

  Mutex mu_;
  Credentials current_ ABSL_GUARDED_BY(mu_);
  std::string stamp_ ABSL_GUARDED_BY(mu_);  // which file that was
};

}  // namespace concur::s3

#endif  // CONCUR_STORE_ARTIFACTS_S3_CREDENTIALS_H_
