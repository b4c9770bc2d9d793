// SPDX-License-Identifier: Apache-2.0
// Streams are counted by user and host, whatever connections they come over.
// tests/e2e/limits_test.cc has those that stand still.
#include "coordinator/services/stream_watch.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/digest.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

TEST(StreamWatchTest, APeerIsAHostWithoutItsPort) {
  EXPECT_EQ(HostOfPeer("ipv4:10.0.0.7:41234"), "ipv4:10.0.0.7");
  EXPECT_EQ(HostOfPeer("ipv6:%5Bfe80::1%5D:41234"), "ipv6:%5Bfe80::1%5D");
  EXPECT_EQ(HostOfPeer("unix:/run/concur.sock"), "unix:/run/concur.sock");
  EXPECT_EQ(HostOfPeer("unix:"), "unix:");
}

class StreamWatchCounts : public ::testing::Test {
 protected:
  // Opens a stream, which stays open unless it is refused.
  absl::Status Open(const std::string& user, const std::string& peer, bool counted = true) {
    const uint64_t stream = watch_.Begin(peer, "/m", nullptr);
    absl::Status admitted = watch_.Admit(stream, user, Sha256Of(user), counted);
    if (admitted.ok()) {
      open_.push_back(stream);
    } else {
      watch_.End(stream);
    }
    return admitted;
  }
  ~StreamWatchCounts() override {
    for (const uint64_t stream : open_) {
      watch_.End(stream);
    }
  }

  SystemClock clock_;
  StreamWatch watch_{clock_, {.per_peer_max = 3, .stalled_max = absl::Hours(1)}, [](const Digest&) {
                       return absl::OkStatus();
                     }};
  std::vector<uint64_t> open_;
};

TEST_F(StreamWatchCounts, ConnectionsOfAUserOnOneHostCountTogetherAndOthersApart) {
  for (int port = 1; port <= 3; ++port) {
    EXPECT_OK(Open("ada", absl::StrCat("ipv4:10.0.0.7:", port)));
  }
  EXPECT_THAT(Open("ada", "ipv4:10.0.0.7:4"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("ada at ipv4:10.0.0.7 has 3 streams open"),
                             HasSubstr("limits.streams_per_peer_max is 3"))));
  EXPECT_OK(Open("ada", "ipv4:10.0.0.8:4"));
  EXPECT_OK(Open("worker", "ipv4:10.0.0.7:5", /*counted=*/false));
  watch_.End(open_.front());
  open_.erase(open_.begin());
  EXPECT_OK(Open("ada", "ipv4:10.0.0.7:6"));
}

// Streams counted by address alone: one submitter locked out every viewer behind the same address.
TEST_F(StreamWatchCounts, OneUserDoesNotLockOutAnotherBehindTheSameAddress) {
  for (int port = 1; port <= 3; ++port) {
    EXPECT_OK(Open("ada", absl::StrCat("ipv4:10.0.0.7:", port)));
  }
  EXPECT_OK(Open("bob", "ipv4:10.0.0.7:4"));
}

}  // namespace
}  // namespace concur
