// SPDX-License-Identifier: Apache-2.0
// Asks whether a service on a port of 127.0.0.1 or a unix socket answers.
//
// Thread-safe (stateless).
#ifndef CONCUR_WORKER_EXECUTION_SERVICE_PROBE_H_
#define CONCUR_WORKER_EXECUTION_SERVICE_PROBE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace concur::worker {

// A port that nobody listens on now.
absl::StatusOr<uint16_t> FindFreePort();

// True if the socket, or the port if that is "", accepts a connection and, unless `http_path` is
// "", answers a GET of that path with status 200, within kServiceAnswerMax.
inline constexpr absl::Duration kServiceAnswerMax = absl::Seconds(1);
bool ServiceAnswers(uint16_t port, const std::string& socket, const std::string& http_path);

inline constexpr size_t kSocketBytesMax = 107;  // the path, as the kernel takes it

}  // namespace concur::worker

#endif  // CONCUR_WORKER_EXECUTION_SERVICE_PROBE_H_
