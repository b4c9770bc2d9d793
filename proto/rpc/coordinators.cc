// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/coordinators.h"

#include <grpcpp/channel.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "proto/rpc/channel.h"

namespace concur::rpc {
namespace {

// The host of HOST:PORT if it is a name; "" of a numeric address or a socket.
std::string NamedHost(absl::string_view address) {
  const absl::string_view host = address.substr(0, address.rfind(':'));
  const bool is_name = !absl::StartsWith(address, "unix:") && !absl::StartsWith(host, "[") &&
                       host.find_first_not_of("0123456789.") != host.npos;
  return is_name ? std::string(host) : "";
}

struct FreeAddresses {
  void operator()(addrinfo* found) const { freeaddrinfo(found); }
};

// "Connection refused" of gRPC's "failed to connect to all addresses; last error: …: Connection
// refused".
std::string Cause(absl::string_view message) {
  if (absl::StartsWith(message, "failed to connect to all addresses")) {
    if (const size_t at = message.rfind(": "); at != message.npos) {
      message.remove_prefix(at + 2);
    }
  }
  return std::string(message);
}

}  // namespace

absl::StatusOr<std::shared_ptr<Coordinators>> Coordinators::Make(absl::string_view addresses,
                                                                 const CredentialFiles& files,
                                                                 Resolver resolver) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> named, ParseAddresses(addresses));
  std::shared_ptr<Coordinators> made(new Coordinators(std::move(resolver)));
  for (const std::string& address : named) {
    CONCUR_ASSIGN_OR_RETURN(const Credentials credentials, LoadCredentials(address, files));
    CONCUR_ASSIGN_OR_RETURN(auto channel, MakeChannel(address, credentials, "", named.size() > 1));
    made->named_.push_back(
        std::make_shared<Peer>(Peer{address, "", credentials, std::move(channel)}));
  }
  const MutexLock lock(made->mu_);
  for (const PeerPtr& peer : made->named_) {
    made->entries_.push_back({peer, ""});
  }
  return made;
}

std::vector<std::string> Coordinators::LookUp(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) {
    return {};
  }
  const std::unique_ptr<addrinfo, FreeAddresses> owned(found);
  std::vector<std::string> hosts;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(each->ai_addr, each->ai_addrlen, text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) == 0) {
      hosts.push_back(each->ai_family == AF_INET6 ? absl::StrCat("[", text, "]") : text);
    }
  }
  return hosts;
}

Coordinators::PeerPtr Coordinators::current() const {
  const MutexLock lock(mu_);
  return entries_[at_].peer;
}

std::vector<Coordinators::PeerPtr> Coordinators::peers() const {
  const MutexLock lock(mu_);
  std::vector<PeerPtr> peers;
  for (const Entry& entry : entries_) {
    peers.push_back(entry.peer);
  }
  return peers;
}

size_t Coordinators::size() const {
  const MutexLock lock(mu_);
  return entries_.size();
}

bool Coordinators::may_be_several() const {
  return several() || !NamedHost(named_[0]->address).empty();
}

void Coordinators::Report(const Peer& asked, const absl::Status& answer) {
  if (!absl::IsUnavailable(answer) && !absl::IsDeadlineExceeded(answer)) {
    return;
  }
  const bool is_there = asked.channel->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY;
  {
    const MutexLock lock(mu_);
    Entry& entry = entries_[at_];
    if (entry.peer.get() != &asked) {
      return;
    }
    entry.failure = Cause(answer.message());
    at_ = (at_ + 1) % entries_.size();
    // While nobody listens at any address of a name, its channel goes on looking by itself.
    if (at_ != 0 || (!is_there && entries_.size() == named_.size())) {
      return;
    }
  }
  ResolveNames();  // without the lock: it may take seconds
}

void Coordinators::ResolveNames() {
  const std::vector<PeerPtr> before = peers();
  std::vector<Entry> after;
  for (const PeerPtr& named : named_) {
    const std::string host = NamedHost(named->address);
    std::vector<std::string> hosts = host.empty() ? std::vector<std::string>() : resolver_(host);
    std::sort(hosts.begin(), hosts.end());
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    hosts.resize(std::min(hosts.size(), kAddressesMax));
    if (hosts.size() < 2) {
      after.push_back({named, ""});
      continue;
    }
    for (const std::string& numeric : hosts) {
      const std::string resolved = absl::StrCat(numeric, named->address.substr(host.size()));
      const auto known = std::find_if(before.begin(), before.end(), [&](const PeerPtr& peer) {
        return peer->address == named->address && peer->resolved == resolved;
      });
      if (known != before.end()) {
        after.push_back({*known, ""});
      } else if (auto channel = MakeChannel(named->address, named->credentials, resolved, true);
                 channel.ok()) {
        after.push_back({std::make_shared<Peer>(Peer{named->address, resolved, named->credentials,
                                                     *std::move(channel)}),
                         ""});
      }
    }
  }
  const MutexLock lock(mu_);
  for (Entry& entry : after) {
    for (Entry& old : entries_) {
      if (old.peer == entry.peer) {
        entry.failure = old.failure;
      }
    }
  }
  entries_ = std::move(after);
  at_ = 0;
}

std::string Coordinators::Failures() const {
  const MutexLock lock(mu_);
  return absl::StrJoin(entries_, ", ", [](std::string* out, const Entry& entry) {
    const Peer& peer = *entry.peer;
    absl::StrAppend(out, peer.address, peer.resolved.empty() ? "" : " at ", peer.resolved);
    if (!entry.failure.empty()) {
      absl::StrAppend(out, " (", entry.failure, ")");
    }
  });
}

}  // namespace concur::rpc
