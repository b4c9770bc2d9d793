// SPDX-License-Identifier: Apache-2.0
// The bounds of who has no token, frame by frame. tests/stranger attacks a whole coordinator.
#include "coordinator/gate/stranger_meter.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/test.h"

namespace concur::gate {
namespace {

constexpr char kPrefaceText[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr int kDataFrame = 0;
constexpr int kHeadersFrame = 1;
constexpr int kPingFrame = 6;
constexpr int kContinuationFrame = 9;
constexpr int kEndHeaders = 4;
constexpr int kPadded = 8;

std::string Frame(int type, int flags, const std::string& payload) {
  const size_t size = payload.size();
  const std::string head = {static_cast<char>(size >> 16),
                            static_cast<char>(size >> 8),
                            static_cast<char>(size),
                            static_cast<char>(type),
                            static_cast<char>(flags),
                            0,
                            0,
                            0,
                            1};
  return head + payload;
}

// A literal that HPACK keeps in its table, or not.
std::string Field(const std::string& name, const std::string& value, bool kept = false) {
  return absl::StrCat(std::string(1, kept ? '\x40' : '\0'),
                      std::string(1, static_cast<char>(name.size())), name,
                      std::string(1, static_cast<char>(value.size())), value);
}

class StrangerMeterTest : public ::testing::Test {
 protected:
  absl::Status Take(const std::string& bytes) { return meter_.Take(now_, bytes); }
  void SetUp() override {
    budget_.Refill({}, now_);
    ASSERT_OK(Take(kPrefaceText));
    ASSERT_TRUE(meter_.has_preface());
  }

  absl::Time now_ = absl::UnixEpoch();
  FrameBudget budget_;
  std::vector<std::string> shown_;
  StrangerMeter meter_{{}, budget_, [this](absl::string_view authorization) {
                         shown_.emplace_back(authorization);
                         return authorization == "Bearer good";
                       }};
};

TEST_F(StrangerMeterTest, AnotherProtocolIsNoHttp2) {
  StrangerMeter meter({}, budget_, nullptr);
  EXPECT_THAT(meter.Take(now_, "GET / HTTP/1.1\r\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("preface")));
}

TEST_F(StrangerMeterTest, FramesAreFewAndComeBackWithTime) {
  const std::string ping = Frame(kPingFrame, 0, "12345678");
  for (int i = 0; i < 1008; ++i) {
    ASSERT_OK(Take(ping)) << i;
  }
  const auto is_too_many = StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("frames"));
  EXPECT_THAT(Take(ping), is_too_many);
  // Another connection of the host has its own first frames, and what came back since.
  now_ += absl::Milliseconds(10);
  StrangerMeter neighbour({}, budget_, nullptr);
  ASSERT_OK(neighbour.Take(now_, kPrefaceText));
  for (int i = 0; i < 9; ++i) {
    ASSERT_OK(neighbour.Take(now_, ping)) << i;
  }
  EXPECT_THAT(neighbour.Take(now_, ping), is_too_many);
}

TEST_F(StrangerMeterTest, MessagesAndHeadersHaveSizes) {
  EXPECT_OK(Take(Frame(kDataFrame, 0, std::string(65536, 'd'))));
  EXPECT_THAT(Take(Frame(kDataFrame, 0, "d").substr(0, 9)),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("messages")));
}

TEST_F(StrangerMeterTest, ContinuationsAreBoundedTogetherWithTheirHeaders) {
  EXPECT_OK(Take(Frame(kHeadersFrame, 0, std::string(10000, '\x82'))));
  EXPECT_THAT(Take(Frame(kContinuationFrame, 0, std::string(7000, '\x82'))),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("headers")));
}

TEST_F(StrangerMeterTest, AHeaderBombIsNotUnpacked) {
  EXPECT_OK(Take(Frame(kHeadersFrame, kEndHeaders, Field("x", std::string(120, 'y'), true))));
  EXPECT_THAT(Take(Frame(kHeadersFrame, kEndHeaders, std::string(16000, '\xbe'))),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("unpack")));
}

TEST_F(StrangerMeterTest, BrokenBlocksAreNoHttp2) {
  for (const std::string& bad : {Frame(kContinuationFrame, kEndHeaders, ""),
                                 Frame(kHeadersFrame, kEndHeaders, "\xff\xff\xff\xff\xff\xff"),
                                 Frame(kHeadersFrame, kEndHeaders | kPadded, "\x09x"),
                                 Frame(kHeadersFrame, 0, "") + Frame(kPingFrame, 0, "12345678")}) {
    StrangerMeter meter({}, budget_, nullptr);
    EXPECT_THAT(meter.Take(now_, kPrefaceText + bad),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no HTTP/2")));
  }
}

TEST_F(StrangerMeterTest, AValidTokenAdmitsHoweverItsFramesAreCut) {
  const std::string good = Field("authorization", "Bearer good");
  const std::string bytes =
      Frame(kHeadersFrame, kEndHeaders, Field("authorization", "Bearer bad")) +
      Frame(kHeadersFrame, kEndHeaders, good + good) +
      Frame(kHeadersFrame, kPadded, std::string("\x03", 1) + good.substr(0, 5) + "pad") +
      Frame(kContinuationFrame, kEndHeaders, good.substr(5));
  for (const char byte : bytes) {
    ASSERT_FALSE(meter_.is_admitted());
    ASSERT_OK(Take(std::string(1, byte)));
  }
  EXPECT_TRUE(meter_.is_admitted());
  EXPECT_THAT(shown_, ElementsAre("Bearer bad", "", "Bearer good"));
  EXPECT_OK(Take(Frame(kDataFrame, 0, std::string(1 << 20, 'd'))));
}

}  // namespace
}  // namespace concur::gate
