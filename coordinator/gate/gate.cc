// SPDX-License-Identifier: Apache-2.0
#include "coordinator/gate/gate.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/process/waker.h"
#include "base/status_macros.h"
#include "coordinator/gate/socket.h"

namespace concur::gate {
namespace {

constexpr size_t kStrangersMax = 4096;
constexpr StrangerLimits kStrangerLimits;
const absl::Duration kRefillTime =
    absl::Seconds(kStrangerLimits.frames_max / kStrangerLimits.frames_per_second);
constexpr size_t kPieceBytes = size_t{64} << 10;
constexpr size_t kStrangerPieceBytes = size_t{4} << 10;
// Pieces of one connection before others have their turn.
constexpr int kRoundsMax = 8;
constexpr int kAcceptedAtOnceMax = 64;
constexpr absl::Duration kTick = absl::Milliseconds(500);
// For a client to read what was sent before the end.
constexpr absl::Duration kLinger = absl::Seconds(2);
constexpr absl::Duration kComplainEvery = absl::Minutes(1);
// In epoll's data. A connection numbered n, from 1 on, has 2n for its client, 2n + 1 for gRPC.
constexpr uint64_t kWakerTag = 0;
constexpr uint64_t kListenerTag = 1;

// Not the wall clock, which may be set.
absl::Time SteadyNow() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

// A connection takes three descriptors, and a quarter of them is kept back.
size_t ConnectionsMax() {
  rlimit files{};
  CONCUR_CHECK(getrlimit(RLIMIT_NOFILE, &files) == 0);
  return std::max<size_t>(16, files.rlim_cur / 4);
}

bool IsPassing(ssize_t result) { return result < 0 && (errno == EAGAIN || errno == EINTR); }

// The strangers of one machine.
struct Host {
  size_t count = 0;
  FrameBudget budget;
};

struct Connection {
  Connection(uint64_t given, FileDescriptor socket, ssl_ctx_st* tls)
      : number(given), wire(std::move(socket), tls) {}

  const uint64_t number;
  Wire wire;
  FileDescriptor inner;  // gRPC has the other end; invalid until HTTP/2 begins
  // Edge-triggered: what an event said holds until a call says otherwise.
  bool wire_in = false;
  bool inner_in = false;
  bool inner_out = true;
  std::string to_inner;  // the part that did not fit; at most a piece
  std::string to_wire;
  std::optional<StrangerMeter> meter;  // a stranger's
  std::string address;
  std::string host;
  absl::Time ends_at;
  bool is_ending = false;  // anything that the client sends is dropped
};

}  // namespace

class Gate::Loop {
 public:
  Loop(GateOptions options, Peers& peers, Listeners listeners, TlsContext tls)
      : options_(std::move(options)),
        peers_(peers),
        listeners_(std::move(listeners)),
        tls_(std::move(tls)),
        epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    CONCUR_CHECK(epoll_.valid());
    Watch(waker_.fd(), EPOLLIN, kWakerTag);
    WatchListeners();
    thread_ = std::thread([this] { Run(); });
  }

  ~Loop() {
    stopping_ = true;
    waker_.Wake();
    thread_.join();
    if (absl::StartsWith(address(), "unix:")) {
      unlink(address().substr(5).c_str());
    }
  }

  const std::string& address() const { return listeners_.address; }
  int listener() const { return listeners_.sockets.front().get(); }

 private:
  void Watch(int fd, uint32_t events, uint64_t tag) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = tag;
    CONCUR_CHECK(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0);
  }
  void WatchListeners() {
    is_listening_ = true;
    for (const FileDescriptor& socket : listeners_.sockets) {
      Watch(socket.get(), EPOLLIN, kListenerTag);
    }
  }

  void Run() {
    sigset_t pipe;  // OpenSSL writes without MSG_NOSIGNAL
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    std::array<epoll_event, 256> events{};
    absl::Time next_tick = SteadyNow() + kTick;
    while (!stopping_) {
      const int wait = again_.empty() ? static_cast<int>(absl::ToInt64Milliseconds(kTick)) : 0;
      const int count = epoll_wait(epoll_.get(), events.data(), events.size(), wait);
      now_ = SteadyNow();
      for (int i = 0; i < count; ++i) {
        Handle(events.at(static_cast<size_t>(i)));
      }
      for (const uint64_t number : std::exchange(again_, {})) {
        Pump(number);
      }
      if (now_ >= next_tick) {
        next_tick = now_ + kTick;
        Tick();
      }
    }
    connections_.clear();
  }

  void Handle(const epoll_event& event) {
    const uint64_t number = event.data.u64 / 2;
    if (event.data.u64 == kListenerTag) {
      for (const FileDescriptor& socket : listeners_.sockets) {
        Accept(socket);
      }
    } else if (const auto found = connections_.find(number); found != connections_.end()) {
      Connection& connection = *found->second;
      const bool in = (event.events & ~uint32_t{EPOLLOUT}) != 0;
      if (event.data.u64 % 2 == 0) {
        connection.wire_in |= in;
      } else {
        connection.inner_in |= in;
        connection.inner_out |= (event.events & ~uint32_t{EPOLLIN}) != 0;
      }
      Pump(number);
    }
  }

  void Accept(const FileDescriptor& listener) {
    for (int i = 0; i < kAcceptedAtOnceMax; ++i) {
      sockaddr_storage address{};
      socklen_t size = sizeof address;
      FileDescriptor socket(accept4(listener.get(),
                                    reinterpret_cast<sockaddr*>(&address),  // NOLINT
                                    &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket.valid()) {
        if (connections_.size() < connections_max_ || MakeRoom("too many connections")) {
          Add(std::move(socket), address);
        }
      } else {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
          PauseListening();
        }
        return;
      }
    }
  }

  // Others have the descriptors: nobody is accepted until the next tick, so that the loop does not
  // spin.
  void PauseListening() {
    MakeRoom("there are no descriptors");
    is_listening_ = false;
    for (const FileDescriptor& socket : listeners_.sockets) {
      epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket.get(), nullptr);
    }
  }

  // Closes the oldest stranger, of this host if one is named; false when there is none.
  bool MakeRoom(absl::string_view why, const std::string* host = nullptr) {
    for (const auto& [number, stranger] : strangers_) {
      if (host == nullptr || stranger->host == *host) {
        Cut(*stranger, why);
        return true;
      }
    }
    Complain("a new connection was refused", why);
    return false;
  }

  void Add(FileDescriptor socket, const sockaddr_storage& address) {
    if (address.ss_family != AF_UNIX) {
      const int on = 1;
      setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    const uint64_t number = next_number_++;
    auto& connection = *(connections_[number] =
                             std::make_unique<Connection>(number, std::move(socket), tls_.get()));
    connection.ends_at = now_ + options_.handshake_max;
    connection.address = NameOfPeer(address);
    connection.host = connection.address.substr(0, connection.address.rfind(':'));
    Host& host = hosts_[connection.host];
    connection.meter.emplace(kStrangerLimits, host.budget, options_.authenticate);
    strangers_[number] = &connection;
    Watch(connection.wire.fd(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, number * 2);
    if (++host.count > strangers_max_ / 2) {
      MakeRoom("too many connections of one host", &connection.host);
    } else if (strangers_.size() > strangers_max_) {
      MakeRoom("too many connections without a valid token");
    }
  }

  // Moves bytes both ways as far as both sides go.
  void Pump(uint64_t number) {
    const auto found = connections_.find(number);
    if (found == connections_.end()) {
      return;
    }
    Connection& connection = *found->second;
    for (int round = 0; round < kRoundsMax; ++round) {
      bool moved = false;
      if (!ToInner(connection, &moved) || !ToWire(connection, &moved) || !moved) {
        return;
      }
    }
    again_.push_back(number);
  }

  // This and the following return false when they have closed the connection.
  bool ToInner(Connection& connection, bool* moved) {
    if (!Flush(connection)) {
      return false;
    }
    if (!connection.wire_in || (connection.inner.valid() && !connection.to_inner.empty())) {
      return true;
    }
    const size_t asked = connection.meter.has_value() ? kStrangerPieceBytes : kPieceBytes;
    const Wire::Moved got = connection.wire.Read(absl::MakeSpan(piece_).subspan(0, asked));
    if (got < 0) {
      return End(connection);
    }
    connection.wire_in = got > 0;
    *moved |= got > 0;
    const absl::string_view bytes(piece_.data(), static_cast<size_t>(got));
    return connection.is_ending || (Meter(connection, bytes) && Flush(connection));
  }

  // Takes what the client sent into `to_inner`, within a stranger's limits.
  bool Meter(Connection& connection, absl::string_view bytes) {
    absl::StrAppend(&connection.to_inner, bytes);
    if (!connection.meter.has_value()) {
      return true;
    }
    const bool had_preface = connection.meter->has_preface();
    if (const absl::Status status = connection.meter->Take(now_, bytes); !status.ok()) {
      Cut(connection, status.message());
      return false;
    }
    const bool has_preface = connection.meter->has_preface();
    if (has_preface && !had_preface) {
      connection.ends_at = now_ + options_.stranger_max;
    }
    // Clients of TLS wait for gRPC's first frame, which says that their certificates were taken.
    const bool begins = has_preface || connection.wire.has_shaken_hands();
    if (begins && !connection.inner.valid() && !OpenInner(connection)) {
      return false;
    }
    if (connection.meter->is_admitted()) {
      Forget(connection);
      connection.ends_at = absl::InfiniteFuture();
    }
    return true;
  }

  bool OpenInner(Connection& connection) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
      Cut(connection, "there are no descriptors");
      return false;
    }
    connection.inner = FileDescriptor(ends[0]);
    Watch(ends[0], EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, connection.number * 2 + 1);
    peers_.Set(ends[1], {connection.address, connection.wire.certificate()});
    options_.serve(ends[1]);
    return true;
  }

  bool Flush(Connection& connection) {
    if (connection.to_inner.empty() || !connection.inner.valid() || !connection.inner_out) {
      return true;
    }
    const ssize_t sent = send(connection.inner.get(), connection.to_inner.data(),
                              connection.to_inner.size(), MSG_NOSIGNAL);
    if (sent < 0 && !IsPassing(sent)) {
      connection.to_inner.clear();  // gRPC has closed its end, which the next read tells
      return true;
    }
    connection.to_inner.erase(0, static_cast<size_t>(std::max<ssize_t>(0, sent)));
    connection.inner_out = connection.to_inner.empty();
    return true;
  }

  bool ToWire(Connection& connection, bool* moved) {
    if (connection.to_wire.empty() && connection.inner_in && connection.inner.valid()) {
      const ssize_t got = recv(connection.inner.get(), piece_.data(), piece_.size(), 0);
      if (got == 0 || (got < 0 && !IsPassing(got))) {
        connection.inner = FileDescriptor();
        return End(connection);
      }
      connection.inner_in = got > 0;
      *moved |= got > 0;
      connection.to_wire.assign(piece_.data(), static_cast<size_t>(std::max<ssize_t>(0, got)));
    }
    if (connection.to_wire.empty()) {
      return true;
    }
    const Wire::Moved sent = connection.wire.Write(connection.to_wire);
    if (sent < 0) {
      Close(connection);
      return false;
    }
    connection.to_wire.erase(0, static_cast<size_t>(sent));
    *moved |= sent > 0;  // bytes that gRPC wrote meanwhile raise no event of their own
    return true;
  }

  // One side has ended. The client should be able to read what gRPC sent last, or an alert of TLS:
  // the connection stays for a while, so that closing it does not reset it.
  bool End(Connection& connection) {
    if (connection.is_ending || connection.inner.valid()) {
      Close(connection);
      return false;
    }
    connection.is_ending = true;
    connection.ends_at = now_ + kLinger;
    connection.wire.End();
    return true;
  }

  void Cut(Connection& connection, absl::string_view why) {
    Complain(absl::StrCat("closed a connection of ", connection.address), why);
    Close(connection);
  }

  void Close(Connection& connection) {
    Forget(connection);
    connections_.erase(connection.number);
  }

  // It is no stranger any more.
  void Forget(Connection& connection) {
    if (connection.meter.has_value()) {
      connection.meter.reset();
      strangers_.erase(connection.number);
      --hosts_.at(connection.host).count;
    }
  }

  // At most one line a minute: strangers choose how often there is a reason.
  void Complain(absl::string_view event, absl::string_view why) {
    ++complaints_;
    if (now_ >= complain_after_) {
      complain_after_ = now_ + kComplainEvery;
      LogWarning(event, {{"because", std::string(why)},
                         {"connections_closed", std::to_string(complaints_)}});
    }
  }

  void Tick() {
    for (auto next = connections_.begin(); next != connections_.end();) {
      Connection& connection = *(next++)->second;
      if (now_ >= connection.ends_at) {
        Close(connection);
      }
    }
    std::erase_if(hosts_, [this](const auto& host) {
      return host.second.count == 0 && now_ - host.second.budget.time > kRefillTime;
    });
    if (!is_listening_) {
      WatchListeners();
    }
  }

  // Constant after construction.
  const GateOptions options_;
  Peers& peers_;
  const Listeners listeners_;
  const TlsContext tls_;
  const size_t connections_max_ = ConnectionsMax();
  // Fewer, so that strangers close each other, and one host's its own.
  const size_t strangers_max_ = std::min(kStrangersMax, connections_max_ / 2);

  // Own synchronization.
  process::Waker waker_;
  std::atomic<bool> stopping_ = false;

  // The thread's.
  const FileDescriptor epoll_;
  absl::Time now_ = SteadyNow();
  bool is_listening_ = false;
  uint64_t next_number_ = 1;
  std::map<std::string, Host> hosts_;  // their budgets do not move
  std::map<uint64_t, std::unique_ptr<Connection>> connections_;
  std::map<uint64_t, Connection*> strangers_;  // the oldest first
  std::vector<uint64_t> again_;                // have more to move
  std::vector<char> piece_ = std::vector<char>(kPieceBytes);
  int64_t complaints_ = 0;
  absl::Time complain_after_ = absl::InfinitePast();

  std::thread thread_;
};

Gate::Gate(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
Gate::~Gate() = default;

absl::StatusOr<std::unique_ptr<Gate>> Gate::Start(GateOptions options, Peers& peers) {
  CONCUR_ASSIGN_OR_RETURN(TlsContext tls, MakeTlsContext(options.tls));
  CONCUR_ASSIGN_OR_RETURN(Listeners listeners, ListenOn(options.listen));
  return std::unique_ptr<Gate>(new Gate(
      std::make_unique<Loop>(std::move(options), peers, std::move(listeners), std::move(tls))));
}

const std::string& Gate::address() const { return loop_->address(); }

absl::Status Gate::Probe(absl::Duration timeout) {
  sockaddr_storage to{};
  socklen_t size = sizeof to;
  auto* any = reinterpret_cast<sockaddr*>(&to);  // NOLINT: as the system call wants it
  getsockname(loop_->listener(), any, &size);    // Linux takes "every address" for this machine
  const FileDescriptor caller(socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool calls =
      caller.valid() && (connect(caller.get(), any, size) == 0 || errno == EINPROGRESS);
  const int wait = static_cast<int>(absl::ToInt64Milliseconds(timeout / 2));
  pollfd polled = {caller.get(), POLLOUT, 0};
  const bool connected = calls && poll(&polled, 1, wait) == 1;
  polled.events = POLLIN;
  // The gate ends a connection that ends before it has begun.
  if (!connected || shutdown(caller.get(), SHUT_WR) != 0 || poll(&polled, 1, wait) != 1) {
    return absl::UnavailableError(absl::StrCat(address(), ": the listener does not answer"));
  }
  return absl::OkStatus();
}

}  // namespace concur::gate
