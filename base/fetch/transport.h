// SPDX-License-Identifier: Apache-2.0
// One GET request for a file, from its start or from an offset.
//
// Thread-compatible.
#ifndef CONCUR_BASE_FETCH_TRANSPORT_H_
#define CONCUR_BASE_FETCH_TRANSPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace concur::fetch {

// Properties that tell versions of a remote file apart, as far as the server says them.
struct Version {
  std::string validator;  // a strong entity tag, or a date that does as well; "": none
  int64_t bytes = -1;     // size of the whole file; -1: unknown
};

// The response's headers.
struct Reply {
  bool from_offset = false;  // false: the server sends the file from its start
  int64_t bytes = -1;        // size of the body; -1 when the server does not say
  Version version = {};
};

class Transport {
 public:
  using OnReply = std::function<absl::Status(const Reply& reply)>;
  using OnBytes = std::function<absl::Status(absl::string_view bytes)>;

  virtual ~Transport() = default;
  // Calls `on_reply` once and then `on_bytes` for each block; an error of either ends the call.
  // With an offset and a validator, a server that has another version now sends that from its
  // start. Unavailable is transient. NotFound, PermissionDenied, OutOfRange (the file ends before
  // the offset, or the server answers with other bytes than those from there on),
  // FailedPrecondition and InvalidArgument (the URL) are permanent.
  virtual absl::Status Get(const std::string& url, int64_t offset, const std::string& validator,
                           const OnReply& on_reply, const OnBytes& on_bytes) = 0;
};

// HTTP and HTTPS by libcurl: follows redirects, checks certificates, and honours http_proxy,
// https_proxy, all_proxy and no_proxy. A transfer without a byte for `stall` by `clock` is
// Unavailable. `clock` must outlive the transport.
std::unique_ptr<Transport> MakeCurlTransport(Clock& clock, absl::Duration stall);

}  // namespace concur::fetch

#endif  // CONCUR_BASE_FETCH_TRANSPORT_H_
