// SPDX-License-Identifier: Apache-2.0
// Random valid values of core's types, with every field set now and then. Same seed, same values.
#ifndef CONCUR_TESTS_PROTO_RPC_RANDOM_VALUES_H_
#define CONCUR_TESTS_PROTO_RPC_RANDOM_VALUES_H_

#include <string>

#include "base/random.h"
#include "core/result.h"
#include "core/sweep/sweep.h"
#include "core/sync/job_order.h"
#include "core/sync/sync.h"

namespace concur::testing {

Digest RandomDigest(Random& random);
JobResult RandomResult(Random& random);
SweepSpec RandomSpec(Random& random);
JobOrder RandomOrder(Random& random);
SyncRequest RandomSyncRequest(Random& random);
SyncResponse RandomSyncResponse(Random& random);

// Every field as text, so that two values are compared without the code under test.
std::string Dump(const SweepSpec& spec);
std::string Dump(const JobResult& result);
std::string Dump(const JobOrder& order);
std::string Dump(const SyncRequest& request);
std::string Dump(const SyncResponse& response);

}  // namespace concur::testing

#endif  // CONCUR_TESTS_PROTO_RPC_RANDOM_VALUES_H_
