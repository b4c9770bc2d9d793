// SPDX-License-Identifier: Apache-2.0
#include "coordinator/page/login_link.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/http/session.h"

namespace concur::page {
namespace {

constexpr size_t kCodeBytes = 32;

}  // namespace

LoginLink::LoginLink(std::string address, std::string path, bool with_code)
    : address_(std::move(address)), path_(std::move(path)), with_code_(with_code) {}

LoginLink::~LoginLink() { unlink(path_.c_str()); }

absl::Status LoginLink::Write() {
  MutexLock lock(mutex_);
  return WriteLocked();
}

absl::Status LoginLink::WriteLocked() {
  code_ = with_code_ ? http::RandomText(kCodeBytes) : "";
  return WriteFileAtomically(
      path_, with_code_ ? absl::StrCat(address_, "#login=", code_, "\n") : address_ + "\n", 0600);
}

absl::Status LoginLink::Redeem(absl::string_view code) {
  MutexLock lock(mutex_);
  if (code_.empty() || !http::SameSecret(code, code_)) {
    return absl::UnauthenticatedError(
        "this login link was used before, or is of an earlier start; \"concur up --link\" prints a "
        "new one");
  }
  code_.clear();  // used, even if the next line fails
  return WriteLocked();
}

}  // namespace concur::page
