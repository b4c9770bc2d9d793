// SPDX-License-Identifier: Apache-2.0
// The one list of the services' methods: who may call each, whether its calls are audited, how its
// streams are limited, and how the page serves it. Authorization, the audit log, the metrics, the
// stream limits and the page all read it; what is not in it cannot be called.
//
// Immutable.
#ifndef CONCUR_COORDINATOR_ACCESS_METHOD_TABLE_H_
#define CONCUR_COORDINATOR_ACCESS_METHOD_TABLE_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "coordinator/access/tokens.h"

namespace concur {

enum class StreamLimit {
  kNoStream,   // one request, one response
  kUnlimited,  // a stream of a worker, which opens few
  kPerPeer,    // a stream, of which each peer may have StreamLimits::per_peer_max open
};

// Way in which the page serves a method over HTTP (docs/page.md).
enum class PageUse {
  kNone,
  kGet,     // changes nothing
  kPost,    // changes something
  kEvents,  // a stream that changes nothing
  // The same, of which a message has all that happened since the last one: viewers get few.
  kUpdates,
};

struct MethodRule {
  absl::string_view path;  // "/concur.v1.Coordinator/GetSweep"; ends in a zero byte
  Role least;
  bool audited = false;  // every call is in the audit log; refused calls always are
  StreamLimit streams = StreamLimit::kNoStream;
  PageUse page = PageUse::kNone;

  // "GetSweep".
  absl::string_view name() const { return path.substr(path.rfind('/') + 1); }
};

absl::Span<const MethodRule> MethodRules();
// Null when there is no such method.
const MethodRule* FindMethodRule(absl::string_view path);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ACCESS_METHOD_TABLE_H_
