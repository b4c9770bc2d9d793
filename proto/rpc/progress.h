// SPDX-License-Identifier: Apache-2.0
// Numbers that the coordinator computes for all who show sweeps and failures.
//
// Stateless; thread-safe.
#ifndef CONCUR_PROTO_RPC_PROGRESS_H_
#define CONCUR_PROTO_RPC_PROGRESS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "concur/v1/resources.pb.h"

namespace concur::rpc {

// From the sweep's state, counts, recent_jobs and recent_span.
v1::Progress MakeProgress(const v1::Sweep& sweep);
// That of the sweep; made here where a coordinator of an earlier version sent none.
v1::Progress ProgressOf(const v1::Sweep& sweep);

// v1::Job.failure_group; not 0.
uint64_t FailureGroup(v1::FailureClass failure, absl::string_view message);
// That of a failed job or an event; made here where a coordinator of an earlier version sent none.
template <typename Failed>
uint64_t FailureGroupOf(const Failed& failed, absl::string_view message) {
  return failed.failure_group() != 0 ? failed.failure_group()
                                     : FailureGroup(failed.failure(), message);
}

}  // namespace concur::rpc

#endif  // CONCUR_PROTO_RPC_PROGRESS_H_
