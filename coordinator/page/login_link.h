// SPDX-License-Identifier: Apache-2.0
// The link by which the user who runs the coordinator logs in without typing a token. It lies in a
// file that only that user can read and works once: logging in replaces it by a new one.
//
// Its code stands behind "#", so that it is in no request line, log or Referer.
//
// Thread-safe.
#ifndef CONCUR_COORDINATOR_PAGE_LOGIN_LINK_H_
#define CONCUR_COORDINATOR_PAGE_LOGIN_LINK_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"

namespace concur::page {

class LoginLink {
 public:
  // `address` is the page's, "http://127.0.0.1:7449/"; `path` the file (mode 0600). Without
  // `with_code` everybody may do everything, and the file has the address alone.
  LoginLink(std::string address, std::string path, bool with_code);
  // Removes the file.
  ~LoginLink();
  LoginLink(const LoginLink&) = delete;
  LoginLink& operator=(const LoginLink&) = delete;

  // Writes the file.
  absl::Status Write();
  // Unauthenticated unless it is the code of the file, which is replaced then.
  absl::Status Redeem(absl::string_view code);

 private:
  absl::Status WriteLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string address_;
  const std::string path_;
  const bool with_code_;
  Mutex mutex_;
  std::string code_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace concur::page

#endif  // CONCUR_COORDINATOR_PAGE_LOGIN_LINK_H_
