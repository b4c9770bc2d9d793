// SPDX-License-Identifier: Apache-2.0
// Bounds a connection on which no valid token was shown yet. Reads the client's HTTP/2 frames,
// counts them, and unpacks header blocks (HPACK, by libnghttp2) until one of them has a token that
// is valid: from then on the connection is its owner's, and is not metered any more.
//
// Thread-compatible. Reads no clock: callers pass the time in.
#ifndef CONCUR_COORDINATOR_GATE_STRANGER_METER_H_
#define CONCUR_COORDINATOR_GATE_STRANGER_METER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

struct nghttp2_hd_inflater;

namespace concur::gate {

struct StrangerLimits {
  // Frames of one host's strangers, all connections together: at once, and per second.
  double frames_max = 1000;
  double frames_per_second = 100;
  // The first of each connection do not count against its host, so that a neighbour's flood keeps
  // no client from showing its token: its preface, settings, windows and the headers of its first
  // call.
  int frames_free = 8;
  size_t data_bytes_max = size_t{64} << 10;    // all messages together
  size_t header_bytes_max = size_t{16} << 10;  // a header block, packed
  size_t field_bytes_max = size_t{64} << 10;   // a header block, unpacked
};

// The frames that one host's strangers may still send.
struct FrameBudget {
  double left = 0;
  absl::Time time = absl::InfinitePast();

  void Refill(const StrangerLimits& limits, absl::Time now) {
    left = std::min(limits.frames_max,
                    left + absl::ToDoubleSeconds(now - time) * limits.frames_per_second);
    time = now;
  }
};

class StrangerMeter {
 public:
  // Says whether the value of a header "authorization" is that of a valid token; "": there was
  // none, or more than one.
  using Authenticate = std::function<bool(absl::string_view authorization)>;

  // The budget outlives it.
  StrangerMeter(const StrangerLimits& limits, FrameBudget& budget, Authenticate authenticate);
  ~StrangerMeter();

  // Reads what the client sent next. The error names the limit, or what is no HTTP/2: close the
  // connection. Reads nothing more once a token was valid.
  absl::Status Take(absl::Time now, absl::string_view bytes);

  bool has_preface() const { return preface_ == kPreface.size(); }
  bool is_admitted() const { return is_admitted_; }

 private:
  static constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

  absl::Status BeginFrame(absl::Time now);
  absl::Status EndFrame();
  absl::Status EndBlock();

  const StrangerLimits limits_;
  FrameBudget& budget_;
  const Authenticate authenticate_;
  std::unique_ptr<nghttp2_hd_inflater, void (*)(nghttp2_hd_inflater*)> inflater_;
  size_t preface_ = 0;  // bytes of it that came
  std::string head_;    // the current frame's
  size_t payload_left_ = 0;
  std::string payload_;  // only kept for frames with headers
  std::string block_;
  bool in_block_ = false;  // CONTINUATION is to come
  int frames_ = 0;
  size_t data_bytes_ = 0;
  bool is_admitted_ = false;
};

}  // namespace concur::gate

#endif  // CONCUR_COORDINATOR_GATE_STRANGER_METER_H_
