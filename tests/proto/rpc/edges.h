// SPDX-License-Identifier: Apache-2.0
// Limits of messages: what core refuses, the conversion refuses, and nothing else.
#ifndef CONCUR_TESTS_PROTO_RPC_EDGES_H_
#define CONCUR_TESTS_PROTO_RPC_EDGES_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/rpc/convert_sweep.h"
#include "proto/rpc/convert_sync.h"
#include "tests/testing/status_matchers.h"

namespace concur::rpc {

// A limit: `reach(x, 0)` goes as far as is allowed, `reach(x, 1)` one step further.
template <typename T>
struct Edge {
  std::string name;
  std::function<void(T&, int)> reach;
};

template <typename T, typename Validate>
void ExpectEdges(const T& valid, const std::vector<Edge<T>>& edges, Validate validate) {
  for (const Edge<T>& edge : edges) {
    SCOPED_TRACE(edge.name);
    T at_limit = valid;
    edge.reach(at_limit, 0);
    EXPECT_OK(validate(at_limit));
    EXPECT_OK(FromProto(ToProto(at_limit)).status());
    T beyond = valid;
    edge.reach(beyond, 1);
    EXPECT_THAT(validate(beyond),
                testing::StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
    EXPECT_THAT(FromProto(ToProto(beyond)).status(),
                testing::StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  }
}

}  // namespace concur::rpc

#endif  // CONCUR_TESTS_PROTO_RPC_EDGES_H_
