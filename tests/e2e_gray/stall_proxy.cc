// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e_gray/stall_proxy.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/check.h"

namespace concur::testing {
namespace {

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  CONCUR_CHECK(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace

StallProxy::StallProxy(const std::string& path, std::string target) : target_(std::move(target)) {
  const sockaddr_un address = AddressOf(path);
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CONCUR_CHECK(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CONCUR_CHECK(listen(listener_, SOMAXCONN) == 0);
  acceptor_ = std::thread([this] { Accept(); });
}

StallProxy::~StallProxy() {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    stopping_ = true;
    shutdown(listener_, SHUT_RDWR);
    for (const int fd : open_) {
      shutdown(fd, SHUT_RDWR);
    }
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_.empty(); });
  }
  acceptor_.join();
  close(listener_);
}

void StallProxy::Stall(Direction direction, bool stalled) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stalled_[direction] = stalled;
  }
  changed_.notify_all();
}

size_t StallProxy::held_bytes() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return held_bytes_;
}

void StallProxy::Accept() {
  for (;;) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) {
      return;
    }
    Connect(client);
  }
}

void StallProxy::Connect(int client) {
  const sockaddr_un address = AddressOf(target_);
  const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stopping_ ||
      connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(server);
    close(client);
    return;
  }
  open_.insert({client, server});
  std::thread([this, client, server] { Serve(client, server); }).detach();
}

void StallProxy::Serve(int client, int server) {
  std::thread answers([&] { Pump(server, client, kFromTarget); });
  Pump(client, server, kToTarget);
  answers.join();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const int fd : {client, server}) {
    open_.erase(fd);
    close(fd);
  }
  changed_.notify_all();  // with the lock: afterwards this object may be gone
}

void StallProxy::Pump(int from, int to, Direction direction) {
  char buffer[1 << 14];
  for (;;) {
    const ssize_t got = read(from, buffer, sizeof buffer);
    if (got <= 0) {
      break;
    }
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (stalled_[direction]) {
        held_bytes_ += static_cast<size_t>(got);
        changed_.wait(lock, [&] { return stopping_ || !stalled_[direction]; });
      }
    }
    ssize_t sent = 0;
    for (ssize_t n = 1; sent < got && n > 0; sent += n) {
      n = send(to, buffer + sent, static_cast<size_t>(got - sent), MSG_NOSIGNAL);
    }
    if (sent < got) {
      break;
    }
  }
  shutdown(from, SHUT_RDWR);
  shutdown(to, SHUT_RDWR);
}

}  // namespace concur::testing
