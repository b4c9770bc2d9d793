// Streams are counted by host, whatever connections they come over. tests/e2e/limits_test.cc has
// those that stand still.
#include "coordinator/stream_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "tests/testing/status_matchers.h"

namespace concur {
namespace {

using ::concur::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(StreamWatchTest, APeerIsAHostWithoutItsPort) {
  EXPECT_EQ(HostOfPeer("ipv4:10.0.0.7:41234"), "ipv4:10.0.0.7");
  EXPECT_EQ(HostOfPeer("ipv6:%5Bfe80::1%5D:41234"), "ipv6:%5Bfe80::1%5D");
  EXPECT_EQ(HostOfPeer("unix:/run/concur.sock"), "unix:/run/concur.sock");
  EXPECT_EQ(HostOfPeer("unix:"), "unix:");
}

TEST(StreamWatchTest, ConnectionsOfOneHostCountTogetherAndOthersApart) {
  SystemClock clock;
  StreamWatch watch(clock, {.per_peer_max = 3, .stalled_max = absl::Hours(1)});
  std::vector<uint64_t> streams;
  for (int port = 1; port <= 3; ++port) {
    streams.push_back(watch.Begin(absl::StrCat("ipv4:10.0.0.7:", port), "/m", nullptr, true));
  }
  EXPECT_OK(watch.Check("ipv4:10.0.0.7:9"));
  streams.push_back(watch.Begin("ipv4:10.0.0.7:4", "/m", nullptr, true));
  EXPECT_THAT(watch.Check("ipv4:10.0.0.7:4"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("ipv4:10.0.0.7 has 3 streams open"),
                             HasSubstr("limits.streams_per_peer_max is 3"))));
  EXPECT_OK(watch.Check("ipv4:10.0.0.8:4"));
  watch.End(streams[0]);
  EXPECT_OK(watch.Check("ipv4:10.0.0.7:4"));
  // Those of workers do not count.
  const uint64_t uncounted = watch.Begin("ipv4:10.0.0.7:5", "/m", nullptr, false);
  EXPECT_OK(watch.Check("ipv4:10.0.0.7:4"));
  watch.End(uncounted);
  for (size_t i = 1; i < streams.size(); ++i) {
    watch.End(streams[i]);
  }
  EXPECT_OK(watch.Check("ipv4:10.0.0.7:4"));
}

}  // namespace
}  // namespace concur
