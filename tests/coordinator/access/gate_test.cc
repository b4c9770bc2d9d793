// SPDX-License-Identifier: Apache-2.0
#include "coordinator/gate/gate.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/http/listener.h"
#include "coordinator/gate/peers.h"
#include "coordinator/gate/socket.h"
#include "tests/testing/http_client.h"
#include "tests/testing/test.h"

namespace concur::gate {
namespace {

using ::concur::testing::ConnectTo;

constexpr absl::string_view kPreface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);

TEST(GateTest, AClientThatIsSilentGetsALongAnswerWhole) {
  constexpr size_t kAnswerBytes = size_t{32} << 20;
  std::promise<FileDescriptor> served;
  GateOptions options;
  options.listen = "127.0.0.1:0";
  options.serve = [&served](int fd) { served.set_value(FileDescriptor(fd)); };
  Peers peers;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Gate> gate, Gate::Start(std::move(options), peers));
  const FileDescriptor client = ConnectTo(gate->address());  // which waits for 20 s at most
  ASSERT_EQ(send(client.get(), kPreface.data(), kPreface.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(kPreface.size()));
  const FileDescriptor inner = served.get_future().get();
  std::promise<void> full;  // nobody reads: nothing more fits anywhere
  std::thread server([&inner, &full] {
    const std::string piece(size_t{1} << 20, 'x');
    bool is_full = false;
    for (size_t written = 0; written < kAnswerBytes;) {
      pollfd room{inner.get(), POLLOUT, 0};
      if (poll(&room, 1, 200) == 0 && !std::exchange(is_full, true)) {
        full.set_value();
      }
      const ssize_t now = send(inner.get(), piece.data(),
                               std::min(piece.size(), kAnswerBytes - written), MSG_NOSIGNAL);
      if (now < 0 && errno != EAGAIN) {
        return;
      }
      written += static_cast<size_t>(std::max<ssize_t>(0, now));
    }
  });
  full.get_future().wait();
  size_t received = 0;
  std::string buffer(size_t{1} << 16, '\0');
  while (received < kAnswerBytes) {
    const ssize_t got = recv(client.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) {
      break;
    }
    received += static_cast<size_t>(got);
  }
  EXPECT_EQ(received, kAnswerBytes);
  shutdown(inner.get(), SHUT_RDWR);
  server.join();
}

TEST(GateTest, AnAddressThatAnotherProgramHasIsRefused) {
  ASSERT_OK_AND_ASSIGN(const http::Listener other, http::Listen({"127.0.0.1", 0}));
  EXPECT_THAT(ListenOn(absl::StrCat("localhost:", other.endpoint.port)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("in use")));
}

TEST(GateTest, AnAddressWithAnInterfaceIsNotTakenForAllAddresses) {
  EXPECT_THAT(http::Listen({"fe80::1%lo", 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("without an interface")));
}

}  // namespace
}  // namespace concur::gate
