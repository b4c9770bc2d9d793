// SPDX-License-Identifier: Apache-2.0
#include "coordinator/provision/kube_watch.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace concur::provision {
namespace {

// Pages of a list.
constexpr int kPageSize = 500;
constexpr int kPagesMax = 1000;

// Only what reports are made of: managed fields and specs are most of an object.
std::shared_ptr<const KubeJson> Slim(const KubeJson& object) {
  auto slim = std::make_shared<KubeJson>(KubeJson::object());
  if (const KubeJson* metadata = KubeFind(object, {"metadata"})) {
    (*slim)["metadata"] = *metadata;
    (*slim)["metadata"].erase("managedFields");
  }
  if (const KubeJson* status = KubeFind(object, {"status"})) {
    (*slim)["status"] = *status;
  }
  return slim;
}

std::string NameOf(const KubeJson& object) { return KubeText(object, {"metadata", "name"}); }

}  // namespace

KubeWatch::KubeWatch(const KubeClient& client, KubeVerb list, KubeVerb watch,
                     std::string name_space, std::string selector, KubeWatchOptions options)
    : client_(client),
      list_(list),
      watch_(watch),
      name_space_(std::move(name_space)),
      selector_(std::move(selector)),
      options_(options),
      thread_([this] { Run(); }) {}

KubeWatch::~KubeWatch() {
  {
    MutexLock lock(mutex_);
    closing_ = true;
    changed_.NotifyAll();
  }
  interrupt_.Set();
  thread_.join();
}

absl::StatusOr<std::vector<std::shared_ptr<const KubeJson>>> KubeWatch::Objects(
    absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  MutexLock lock(mutex_);
  while (listed_ < wanted_ && status_.ok() && absl::Now() < deadline) {
    changed_.WaitWithTimeout(mutex_, deadline - absl::Now());
  }
  if (!status_.ok()) {
    return status_;
  }
  if (listed_ < wanted_) {
    return absl::DeadlineExceededError(
        absl::StrCat("kubernetes: no list within ", absl::FormatDuration(timeout)));
  }
  std::vector<std::shared_ptr<const KubeJson>> all;
  for (const auto& [name, object] : objects_) {
    all.push_back(object);
  }
  return all;
}

void KubeWatch::Insert(const KubeJson& object) {
  MutexLock lock(mutex_);
  const auto slim = Slim(object);
  // A watch may have told of it, or of its next state, before the call's answer was read.
  objects_.try_emplace(NameOf(object), slim);
  inserted_[NameOf(object)] = slim;
}

void KubeWatch::RequireList() {
  {
    MutexLock lock(mutex_);
    wanted_ = begun_ + 1;
    status_ = absl::OkStatus();  // anything wrong is found out anew
    changed_.NotifyAll();
  }
  interrupt_.Set();
}

// False when it is to end.
bool KubeWatch::Pause(absl::Duration span) {
  const absl::Time end = absl::Now() + span;
  MutexLock lock(mutex_);
  while (!closing_ && begun_ >= wanted_ && absl::Now() < end) {
    changed_.WaitWithTimeout(mutex_, end - absl::Now());
  }
  return !closing_;
}

void KubeWatch::Run() {
  absl::Duration backoff = options_.backoff_min;
  for (;;) {
    // Before it is looked whether there is a reason to be interrupted.
    interrupt_.Clear();
    {
      MutexLock lock(mutex_);
      if (closing_) {
        return;
      }
      ++begun_;
      inserted_.clear();
    }
    std::string version;
    absl::Status status = List(&version);
    if (status.ok()) {
      const absl::Time begin = absl::Now();
      while (status.ok()) {
        const std::string before = version;
        const absl::Time start = absl::Now();
        status = WatchFrom(&version);
        // A server or proxy that ends every watch at once would be asked without a pause.
        if (status.ok() && version == before && absl::Now() - start < options_.backoff_min) {
          status = absl::OutOfRangeError("kubernetes: a watch ended at once, without an event");
        }
      }
      // A watch that held for a while shows that all is well; one that breaks at once does not.
      if (absl::Now() - begin > options_.backoff_max) {
        backoff = options_.backoff_min;
      }
    }
    if (absl::IsCancelled(status)) {
      continue;  // a list is wanted, or the end
    }
    if (!absl::IsOutOfRange(status)) {
      Warn(status);
      MutexLock lock(mutex_);
      if (begun_ >= wanted_) {
        status_ = status;
        changed_.NotifyAll();
      }
    }
    if (!Pause(backoff)) {
      return;
    }
    backoff = std::min(backoff * 2, options_.backoff_max);
  }
}

// The same trouble is logged once.
void KubeWatch::Warn(const absl::Status& status) {
  if (status.message() != warned_) {
    warned_ = std::string(status.message());
    LogWarning("the Kubernetes API server cannot be watched",
               {{"namespace", name_space_}, {"error", warned_}});
  }
}

absl::Status KubeWatch::List(std::string* version) {
  Objects_ found;
  std::string token;
  for (int page = 0; page < kPagesMax; ++page) {
    CONCUR_ASSIGN_OR_RETURN(
        const std::string body,
        client_.Call(list_, name_space_, "",
                     absl::StrCat(selector_, "&limit=", kPageSize,
                                  token.empty() ? "" : absl::StrCat("&continue=", token)),
                     ""));
    const KubeJson list = KubeJson::parse(body, nullptr, /*allow_exceptions=*/false);
    const KubeJson* items = KubeFind(list, {"items"});
    *version = KubeText(list, {"metadata", "resourceVersion"});
    if (items == nullptr || version->empty()) {
      return absl::DataLossError(
          absl::StrCat("kubernetes: expected a list, got \"", body.substr(0, 100), "\""));
    }
    if (items->is_array()) {
      for (const KubeJson& item : *items) {
        found[NameOf(item)] = Slim(item);
      }
    }
    token = KubeText(list, {"metadata", "continue"});
    if (token.empty()) {
      break;
    }
  }
  MutexLock lock(mutex_);
  objects_ = std::move(found);
  for (const auto& [name, object] : inserted_) {
    objects_.try_emplace(name, object);
  }
  listed_ = begun_;
  if (listed_ >= wanted_) {
    status_ = absl::OkStatus();
  }
  changed_.NotifyAll();
  return absl::OkStatus();
}

absl::Status KubeWatch::WatchFrom(std::string* version) {
  return client_.Watch(
      watch_, name_space_,
      absl::StrCat(selector_, "&watch=1&allowWatchBookmarks=true&resourceVersion=", *version,
                   "&timeoutSeconds=", absl::ToInt64Seconds(options_.watch_max)),
      options_.silence_max, interrupt_,
      [this, version](absl::string_view line) { return Apply(line, version); });
}

absl::Status KubeWatch::Apply(absl::string_view line, std::string* version) {
  const KubeJson event =
      KubeJson::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  const std::string type = KubeText(event, {"type"});
  const KubeJson* object = KubeFind(event, {"object"});
  if (object == nullptr || !object->is_object()) {
    return absl::DataLossError(
        absl::StrCat("kubernetes: expected an event, got \"", line.substr(0, 100), "\""));
  }
  if (type == "ERROR") {
    const std::string message = absl::StrCat("kubernetes: ", KubeText(*object, {"message"}));
    return KubeText(*object, {"code"}) == "410" ? absl::OutOfRangeError(message)
                                                : absl::UnavailableError(message);
  }
  const std::string at = KubeText(*object, {"metadata", "resourceVersion"});
  const std::string name = NameOf(*object);
  if (at.empty() || (type != "BOOKMARK" && name.empty())) {
    return absl::DataLossError(
        absl::StrCat("kubernetes: expected an object, got \"", line.substr(0, 100), "\""));
  }
  MutexLock lock(mutex_);
  if (type == "ADDED" || type == "MODIFIED") {
    objects_[name] = Slim(*object);
  } else if (type == "DELETED") {
    objects_.erase(name);
    inserted_.erase(name);
  } else if (type != "BOOKMARK") {
    return absl::DataLossError(absl::StrCat("kubernetes: unknown event \"", type, "\""));
  }
  *version = at;
  changed_.NotifyAll();
  return absl::OkStatus();
}

}  // namespace concur::provision
