// SPDX-License-Identifier: Apache-2.0
#include "coordinator/gate/stranger_meter.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace concur::gate {
namespace {

constexpr size_t kHeadBytes = 9;
constexpr size_t kPriorityBytes = 5;

nghttp2_hd_inflater* NewInflater() {
  nghttp2_hd_inflater* inflater = nullptr;
  CONCUR_CHECK(nghttp2_hd_inflate_new(&inflater) == 0);  // else memory has run out
  return inflater;
}

absl::Status NotHttp2(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("no HTTP/2: ", why));
}

absl::Status TooMuch(absl::string_view what) {
  return absl::ResourceExhaustedError(absl::StrCat(what, " without a valid token"));
}

}  // namespace

StrangerMeter::StrangerMeter(const StrangerLimits& limits, FrameBudget& budget,
                             Authenticate authenticate)
    : limits_(limits),
      budget_(budget),
      authenticate_(std::move(authenticate)),
      inflater_(NewInflater(), nghttp2_hd_inflate_del) {}

StrangerMeter::~StrangerMeter() = default;

absl::Status StrangerMeter::Take(absl::Time now, absl::string_view bytes) {
  const size_t matched = std::min(bytes.size(), kPreface.size() - preface_);
  if (bytes.substr(0, matched) != kPreface.substr(preface_, matched)) {
    return NotHttp2("another preface");
  }
  preface_ += matched;
  bytes.remove_prefix(matched);
  while (!bytes.empty() && !is_admitted_) {
    if (head_.size() < kHeadBytes) {
      const size_t taken = std::min(bytes.size(), kHeadBytes - head_.size());
      absl::StrAppend(&head_, bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      if (head_.size() < kHeadBytes) {
        return absl::OkStatus();
      }
      CONCUR_RETURN_IF_ERROR(BeginFrame(now));
    }
    const size_t taken = std::min(bytes.size(), payload_left_);
    if (head_[3] == NGHTTP2_HEADERS || head_[3] == NGHTTP2_CONTINUATION) {
      absl::StrAppend(&payload_, bytes.substr(0, taken));
    }
    bytes.remove_prefix(taken);
    payload_left_ -= taken;
    if (payload_left_ == 0) {
      CONCUR_RETURN_IF_ERROR(EndFrame());
    }
  }
  return absl::OkStatus();
}

absl::Status StrangerMeter::BeginFrame(absl::Time now) {
  const auto byte = [this](size_t at) { return size_t{static_cast<unsigned char>(head_[at])}; };
  payload_left_ = byte(0) << 16 | byte(1) << 8 | byte(2);
  payload_.clear();
  budget_.Refill(limits_, now);
  if (++frames_ > limits_.frames_free) {
    if (budget_.left < 1) {
      return TooMuch("too many frames");
    }
    budget_.left -= 1;
  }
  // The sizes bound what is kept here; what gRPC keeps of other frames, it bounds.
  if (byte(3) == NGHTTP2_HEADERS || byte(3) == NGHTTP2_CONTINUATION) {
    if (block_.size() + payload_left_ > limits_.header_bytes_max) {
      return TooMuch(absl::StrCat("headers of more than ", limits_.header_bytes_max, " bytes"));
    }
  }
  if (in_block_ != (byte(3) == NGHTTP2_CONTINUATION)) {
    return NotHttp2("a header block that is interrupted or has no beginning");
  }
  if (byte(3) == NGHTTP2_DATA && (data_bytes_ += payload_left_) > limits_.data_bytes_max) {
    return TooMuch(absl::StrCat("messages of more than ", limits_.data_bytes_max, " bytes"));
  }
  return absl::OkStatus();
}

absl::Status StrangerMeter::EndFrame() {
  const char type = head_[3];
  const char flags = type == NGHTTP2_HEADERS ? head_[4] : 0;
  const bool ends_block = (head_[4] & NGHTTP2_FLAG_END_HEADERS) != 0;
  head_.clear();
  if (type != NGHTTP2_HEADERS && type != NGHTTP2_CONTINUATION) {
    return absl::OkStatus();
  }
  // A part of a header block, between what else a frame of type HEADERS may hold.
  absl::string_view part = payload_;
  const size_t pads = (flags & NGHTTP2_FLAG_PADDED) != 0 && !part.empty() ? 1 : 0;
  const size_t after = pads > 0 ? static_cast<unsigned char>(part[0]) : 0;
  const size_t before = pads + ((flags & NGHTTP2_FLAG_PRIORITY) != 0 ? kPriorityBytes : 0);
  if (before + after > part.size()) {
    return NotHttp2("more padding than payload");
  }
  absl::StrAppend(&block_, part.substr(before, part.size() - before - after));
  in_block_ = !ends_block;
  return in_block_ ? absl::OkStatus() : EndBlock();
}

absl::Status StrangerMeter::EndBlock() {
  std::string authorization;
  int found = 0;
  size_t field_bytes = 0;
  const auto* at = reinterpret_cast<const uint8_t*>(block_.data());  // NOLINT: the library's type
  size_t left = block_.size();
  for (int flags = 0; (flags & NGHTTP2_HD_INFLATE_FINAL) == 0;) {
    nghttp2_nv field;
    flags = 0;
    const ssize_t taken = nghttp2_hd_inflate_hd2(inflater_.get(), &field, &flags, at, left, 1);
    if (taken < 0) {
      return NotHttp2("headers that cannot be unpacked");
    }
    at += taken;
    left -= static_cast<size_t>(taken);
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0) {
      continue;
    }
    if ((field_bytes += field.namelen + field.valuelen) > limits_.field_bytes_max) {
      return TooMuch(
          absl::StrCat("headers that unpack to more than ", limits_.field_bytes_max, " bytes"));
    }
    // NOLINTBEGIN: the library's type
    if (absl::string_view(reinterpret_cast<const char*>(field.name), field.namelen) ==
        "authorization") {
      authorization.assign(reinterpret_cast<const char*>(field.value), field.valuelen);
      ++found;
    }
    // NOLINTEND
  }
  nghttp2_hd_inflate_end_headers(inflater_.get());
  block_.clear();
  is_admitted_ = authenticate_ && authenticate_(found == 1 ? authorization : "");
  return absl::OkStatus();
}

}  // namespace concur::gate
