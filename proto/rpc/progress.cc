// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/progress.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "core/fields.h"
#include "proto/rpc/convert_value.h"

namespace concur::rpc {
namespace {

constexpr absl::Duration kSpanMin = absl::Milliseconds(500);  // a shorter one gives no rate
constexpr size_t kDigestMin = 12;                             // hexadecimal digits

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// Bytes of the number at the start of the text, or of the "?" that a progress bar has for one:
// 12, 4.25, 00:01.
size_t NumberAt(absl::string_view text) {
  if (!IsDigit(text[0]) && text[0] != '?') {
    return 0;
  }
  size_t size = 1;
  while (size < text.size() && (IsDigit(text[size]) || absl::StrContains(":.,?", text[size]))) {
    ++size;
  }
  return size;
}

// Bytes of the digest that is the word at the start of the text.
size_t DigestAt(absl::string_view text) {
  const size_t size = std::min(text.find_first_not_of("0123456789abcdef"), text.size());
  const bool in_word =
      size < text.size() && absl::ascii_isalnum(static_cast<unsigned char>(text[size]));
  return size < kDigestMin || in_word ? 0 : size;
}

// Bytes of the bar at the start of the text, and of its blanks: "###  ", "==>", U+2500 to U+25FF.
size_t BarAt(absl::string_view text) {
  size_t size = 0;
  while (size < text.size()) {
    if (absl::StrContains(" #=>-|", text[size]) || (size > 0 && text[size] == '.')) {
      ++size;
    } else if (size + 2 < text.size() && text[size] == '\xE2' && text[size + 1] >= '\x94' &&
               text[size + 1] <= '\x97') {
      size += 3;
    } else {
      break;
    }
  }
  return size;
}

// Bytes of the folders of the path at the start of the text, up to its file's name.
size_t FoldersAt(absl::string_view text) {
  if (text[0] != '/') {
    return 0;
  }
  size_t size = 1;
  while (size < text.size() && (absl::ascii_isalnum(static_cast<unsigned char>(text[size])) ||
                                absl::StrContains("/_.+-", text[size]))) {
    ++size;
  }
  return text.rfind('/', size - 1);
}

// The message with one text for all numbers and digests, one for folders, and one for bars.
std::string Signature(absl::string_view message) {
  std::string signature;
  bool in_word = false;  // a word is looked at once: messages are long, and of strangers
  while (!message.empty()) {
    const size_t digest = in_word ? 0 : DigestAt(message);
    in_word = absl::ascii_isalnum(static_cast<unsigned char>(message[0]));
    if (const size_t number = std::max(digest, NumberAt(message)); number > 0) {
      signature.push_back('0');
      message.remove_prefix(number);
    } else if (const size_t folders = FoldersAt(message); folders > 0) {
      message.remove_prefix(folders);
    } else if (const size_t bar = BarAt(message); bar > 0) {
      signature.push_back(' ');
      message.remove_prefix(bar);
    } else {
      signature.push_back(message[0]);
      message.remove_prefix(1);
    }
  }
  return signature;
}

}  // namespace

v1::Progress MakeProgress(const v1::Sweep& sweep) {
  const v1::StateCounts& counts = sweep.counts();
  const uint32_t done = counts.succeeded() + counts.failed() + counts.skipped() + counts.stopped();
  const uint32_t left = counts.blocked() + counts.ready() + counts.backoff() + counts.running();
  const double parts =
      std::clamp(counts.running_done(), 0.0, static_cast<double>(counts.running()));
  v1::Progress progress;
  progress.set_jobs(done + left + counts.canceled());
  progress.set_done(done);
  progress.set_jobs_left(left - parts);
  if (progress.jobs() > 0) {
    progress.set_percent(
        done == progress.jobs()
            ? 100
            : std::min(99, static_cast<int>((done + parts) * 100 / progress.jobs())));
  }
  const absl::Duration span =
      FromProto(sweep.recent_span(), FieldPath("recent_span")).value_or(absl::ZeroDuration());
  if (sweep.state() == v1::Sweep::STATE_ACTIVE && span >= kSpanMin && sweep.recent_jobs() > 0) {
    progress.set_jobs_per_second(sweep.recent_jobs() / absl::ToDoubleSeconds(span));
    if (progress.jobs_left() > 0) {
      *progress.mutable_left() =
          ToProto(absl::Seconds(progress.jobs_left() / progress.jobs_per_second()));
    }
  }
  return progress;
}

v1::Progress ProgressOf(const v1::Sweep& sweep) {
  return sweep.has_progress() ? sweep.progress() : MakeProgress(sweep);
}

uint64_t FailureGroup(v1::FailureClass failure, absl::string_view message) {
  const std::string bytes =
      Sha256Of(absl::StrCat(static_cast<int>(failure), " ", Signature(message))).ToBytes();
  uint64_t group = 0;
  std::memcpy(&group, bytes.data(), sizeof(group));
  return std::max<uint64_t>(group, 1);
}

}  // namespace concur::rpc
