// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/status.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/utf8.h"

namespace concur::rpc {
namespace {

// gRPC refuses headers and trailers above 8 KiB together; percent-encoding may triple a byte.
constexpr size_t kStatusBytesMax = 2'000;

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) {
    return grpc::Status::OK;
  }
  absl::string_view message = status.message();
  const bool cut = message.size() > kStatusBytesMax;
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()),
                      absl::StrCat(CleanUtf8(message, kStatusBytesMax), cut ? " (cut)" : ""));
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace concur::rpc
