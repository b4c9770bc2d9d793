// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/kube_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"

namespace concur::testing {
namespace {

using Json = nlohmann::json;

struct Request {
  std::string method;
  std::string resource;
  std::string name;
  std::string query;
  std::string token;
  std::string body;
  std::string verb;  // "create jobs"

  std::string Parameter(const std::string& key) const {
    const std::vector<std::string> pairs = absl::StrSplit(query, '&');
    for (const std::string& pair : pairs) {
      if (absl::StartsWith(pair, key + "=")) {
        return pair.substr(key.size() + 1);
      }
    }
    return "";
  }
};

bool SendAll(int fd, const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t now = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) {
      return false;
    }
    sent += static_cast<size_t>(now);
  }
  return true;
}

void Answer(int fd, int status, const std::string& body) {
  SendAll(fd, absl::StrCat("HTTP/1.1 ", status, " X\r\nContent-Type: application/json\r\n",
                           "Content-Length: ", body.size(), "\r\nConnection: close\r\n\r\n", body));
}

std::string StatusBody(int code, const std::string& message) {
  return Json{{"kind", "Status"}, {"status", "Failure"}, {"code", code}, {"message", message}}
      .dump();
}

// False when the client closed the connection before the end of the request.
bool ReadRequest(int fd, Request* request) {
  std::string text;
  char buffer[65536];
  size_t end = std::string::npos;
  while ((end = text.find("\r\n\r\n")) == std::string::npos) {
    const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    if (got <= 0) {
      return false;
    }
    text.append(buffer, static_cast<size_t>(got));
  }
  size_t length = 0;
  const std::vector<std::string> lines = absl::StrSplit(text.substr(0, end), "\r\n");
  for (const std::string& line : lines) {
    if (absl::StartsWithIgnoreCase(line, "content-length: ")) {
      CONCUR_CHECK(absl::SimpleAtoi(line.substr(16), &length));
    } else if (absl::StartsWithIgnoreCase(line, "authorization: bearer ")) {
      request->token = line.substr(22);
    }
  }
  request->body = text.substr(end + 4);
  while (request->body.size() < length) {
    const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    if (got <= 0) {
      return false;
    }
    request->body.append(buffer, static_cast<size_t>(got));
  }
  const std::vector<std::string> words = absl::StrSplit(lines[0], ' ');
  const std::vector<std::string> target = absl::StrSplit(words[1], absl::MaxSplits('?', 1));
  request->method = words[0];
  request->query = target.size() > 1 ? target[1] : "";
  const std::vector<std::string> path = absl::StrSplit(target[0], "/namespaces/lab/");
  if (path.size() != 2) {
    return true;
  }
  const std::vector<std::string> parts = absl::StrSplit(path[1], '/');
  request->resource = parts[0];
  request->name = parts.size() > 1 ? parts[1] : "";
  const bool is_watch = absl::StrContains(request->query, "watch=1");
  request->verb = absl::StrCat(request->method == "POST"     ? "create"
                               : request->method == "DELETE" ? "delete"
                               : is_watch                    ? "watch"
                                                             : "list",
                               " ", request->resource);
  return true;
}

}  // namespace

struct KubeServer::State {
  struct Refusal {
    int status = 0;
    std::string message;
    int times = 0;
    int skip = 0;
  };
  struct Event {
    uint64_t version = 0;
    std::string resource;
    std::string line;
  };

  std::mutex mutex;
  std::condition_variable changed;
  bool closing = false;
  bool ends_watches = false;
  bool away = false;
  int listener = -1;
  uint16_t port = 0;
  uint64_t version = 1;
  uint64_t oldest = 0;      // watches from older versions get 410
  uint64_t generation = 0;  // a change of it ends the watches
  std::map<std::string, std::map<std::string, Json>> objects;
  std::vector<Event> history;
  std::map<std::string, Refusal> refusals;
  std::set<std::string> lost_answers;
  std::string token;
  std::map<std::string, int> counts;
  std::map<std::string, int> watching;
  std::vector<std::thread> threads;

  void Record(const std::string& resource, const std::string& type, Json object) {
    ++version;
    object["metadata"]["resourceVersion"] = absl::StrCat(version);
    const std::string name = object["metadata"]["name"];
    if (type == "DELETED") {
      objects[resource].erase(name);
    } else {
      objects[resource][name] = object;
    }
    history.push_back({version, resource, Json{{"type", type}, {"object", object}}.dump()});
    changed.notify_all();
  }

  void Put(const std::string& resource, const Json& object) {
    const bool is_new = !objects[resource].contains(object["metadata"]["name"]);
    Record(resource, is_new ? "ADDED" : "MODIFIED", object);
  }

  std::string List(const Request& request) {
    // "labelSelector=concur%2Fcoordinator%3DID".
    const std::string selector = request.Parameter("labelSelector");
    const std::string id = selector.empty() ? "" : selector.substr(selector.rfind("%3D") + 3);
    Json items = Json::array();
    for (const auto& [name, object] : objects[request.resource]) {
      if (selector.empty() || object["metadata"]["labels"].value("concur/coordinator", "") == id) {
        items.push_back(object);
      }
    }
    return Json{{"metadata", {{"resourceVersion", absl::StrCat(version)}}}, {"items", items}}
        .dump();
  }

  // Executes the call and returns its response.
  std::pair<int, std::string> Carry(const Request& request) {
    if (request.method == "POST") {
      Json object = Json::parse(request.body, nullptr, false);
      if (!object.is_object()) {
        return {400, StatusBody(400, "no JSON")};
      }
      const std::string name = object["metadata"]["name"];
      if (objects[request.resource].contains(name)) {
        return {409,
                StatusBody(409, absl::StrCat(request.resource, " \"", name, "\" already exists"))};
      }
      if (request.Parameter("dryRun") == "All") {
        return {201, object.dump()};
      }
      Put(request.resource, object);
      return {201, objects[request.resource][name].dump()};
    }
    if (request.method == "DELETE") {
      const auto it = objects[request.resource].find(request.name);
      if (it == objects[request.resource].end()) {
        return {404, StatusBody(404, absl::StrCat(request.name, " not found"))};
      }
      Record(request.resource, "DELETED", Json(it->second));
      return {200, StatusBody(200, "")};
    }
    return {200, List(request)};
  }

  void Watch(int fd, const Request& request) {
    uint64_t from = 0;
    CONCUR_CHECK(absl::SimpleAtoi(request.Parameter("resourceVersion"), &from));
    SendAll(fd, "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n");
    std::unique_lock<std::mutex> lock(mutex);
    const uint64_t mine = generation;
    if (from < oldest) {
      lock.unlock();
      SendAll(fd, Json{{"type", "ERROR"},
                       {"object", {{"code", 410}, {"message", "too old resource version"}}}}
                          .dump() +
                      "\n");
      return;
    }
    ++watching[request.resource];
    changed.notify_all();
    size_t next = 0;
    while (!closing && !ends_watches && generation == mine) {
      std::string lines;
      for (; next < history.size(); ++next) {
        if (history[next].resource == request.resource && history[next].version > from) {
          absl::StrAppend(&lines, history[next].line, "\n");
        }
      }
      if (!lines.empty()) {
        lock.unlock();
        const bool sent = SendAll(fd, lines);
        lock.lock();
        if (!sent) {
          break;
        }
        continue;
      }
      // Short, to detect closed connections soon.
      changed.wait_for(lock, std::chrono::milliseconds(20));
      pollfd gone{.fd = fd, .events = POLLIN, .revents = 0};
      if (poll(&gone, 1, 0) != 0) {
        break;
      }
    }
    --watching[request.resource];
  }

  void Serve(int fd) {
    Request request;
    if (!ReadRequest(fd, &request)) {
      return;
    }
    std::unique_lock<std::mutex> lock(mutex);
    if (!request.verb.empty()) {
      ++counts[request.verb];
    }
    changed.notify_all();
    if (!token.empty() && request.token != token) {
      lock.unlock();
      Answer(fd, 401, StatusBody(401, "Unauthorized"));
      return;
    }
    const auto it = refusals.find(request.verb);
    if (it != refusals.end() && it->second.times > 0 && it->second.skip-- <= 0) {
      const Refusal refusal = it->second;
      --it->second.times;
      lock.unlock();
      Answer(fd, refusal.status, StatusBody(refusal.status, refusal.message));
      return;
    }
    if (request.resource.empty()) {
      lock.unlock();
      Answer(fd, 404, StatusBody(404, "there is one namespace, lab"));
      return;
    }
    if (absl::StartsWith(request.verb, "watch ")) {
      lock.unlock();
      Watch(fd, request);
      return;
    }
    const auto [status, body] = Carry(request);
    const bool lose = lost_answers.erase(request.verb) > 0;
    lock.unlock();
    if (!lose) {
      Answer(fd, status, body);
    }
  }

  void Accept() {
    for (;;) {
      const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) {
        return;
      }
      const std::lock_guard<std::mutex> lock(mutex);
      if (away) {
        const linger at_once{.l_onoff = 1, .l_linger = 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(fd);
        continue;
      }
      threads.emplace_back([this, fd] {
        Serve(fd);
        close(fd);
      });
    }
  }
};

KubeServer::KubeServer() : state_(std::make_shared<State>()) {
  State& state = *state_;
  state.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  CONCUR_CHECK(bind(state.listener, reinterpret_cast<sockaddr*>(&address), size) == 0);
  CONCUR_CHECK(listen(state.listener, 64) == 0);
  CONCUR_CHECK(getsockname(state.listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  state.port = ntohs(address.sin_port);
  state.threads.reserve(10'000);
  state.threads.emplace_back([&state] { state.Accept(); });
}

KubeServer::~KubeServer() {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->closing = true;
    state_->changed.notify_all();
  }
  shutdown(state_->listener, SHUT_RDWR);
  state_->threads[0].join();
  for (size_t i = 1; i < state_->threads.size(); ++i) {
    state_->threads[i].join();
  }
  close(state_->listener);
}

std::string KubeServer::url() const { return absl::StrCat("http://127.0.0.1:", state_->port); }

std::string KubeServer::Kubeconfig(const std::string& token, const std::string& token_file) const {
  const std::string user = !token.empty()        ? absl::StrCat("token: ", token)
                           : !token_file.empty() ? absl::StrCat("tokenFile: ", token_file)
                                                 : "username: nobody";
  return absl::StrCat(
      "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
      "clusters: [{name: c, cluster: {server: \"",
      url(), "\"}}]\nusers: [{name: u, user: {", user,
      "}}]\ncontexts: [{name: x, context: {cluster: c, user: u, namespace: lab}}]\n");
}

void KubeServer::Refuse(const std::string& verb, int status, const std::string& message, int times,
                        int skip) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->refusals[verb] = {status, message, times, skip};
}

void KubeServer::LoseAnswer(const std::string& verb) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->lost_answers.insert(verb);
}

void KubeServer::RequireToken(const std::string& token) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->token = token;
}

void KubeServer::SendLine(const std::string& resource, const std::string& line) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->history.push_back({++state_->version, resource, line});
  state_->changed.notify_all();
}

void KubeServer::ForgetHistory() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  ++state_->generation;
  state_->oldest = ++state_->version;
  state_->history.clear();
  state_->changed.notify_all();
}

void KubeServer::EndWatchesAtOnce() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->ends_watches = true;
  state_->changed.notify_all();
}

void KubeServer::GoAway() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->away = true;
  ++state_->generation;
  state_->changed.notify_all();
}

void KubeServer::ComeBack() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->away = false;
}

void KubeServer::Put(const std::string& resource, const Json& object) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->Put(resource, object);
}

void KubeServer::Remove(const std::string& resource, const std::string& name) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->Record(resource, "DELETED", Json(state_->objects[resource].at(name)));
}

Json KubeServer::Get(const std::string& resource, const std::string& name) const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const auto it = state_->objects[resource].find(name);
  return it == state_->objects[resource].end() ? Json() : it->second;
}

std::vector<Json> KubeServer::All(const std::string& resource) const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  std::vector<Json> all;
  for (const auto& [name, object] : state_->objects[resource]) {
    all.push_back(object);
  }
  return all;
}

void KubeServer::PutPod(const std::string& job, const Json& status) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const Json& made = state_->objects["jobs"].at(job);
  Json pod = made["spec"]["template"];
  pod["metadata"]["name"] = job + "-abcde";
  pod["metadata"]["creationTimestamp"] = "2023-11-14T22:13:00Z";
  pod["status"] = status;
  state_->Put("pods", pod);
}

void KubeServer::EndJob(const std::string& job, const std::string& type, const std::string& reason,
                        const std::string& time) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  Json object = state_->objects["jobs"].at(job);
  object["status"]["conditions"] = Json::array({{{"type", type},
                                                 {"status", "True"},
                                                 {"reason", reason},
                                                 {"message", "Job has ended"},
                                                 {"lastTransitionTime", time}}});
  state_->Put("jobs", object);
}

std::set<std::string> KubeServer::verbs() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  std::set<std::string> verbs;
  for (const auto& [verb, count] : state_->counts) {
    verbs.insert(verb);
  }
  return verbs;
}

int KubeServer::count(const std::string& verb) const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const auto it = state_->counts.find(verb);
  return it == state_->counts.end() ? 0 : it->second;
}

int KubeServer::watchers(const std::string& resource) const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->watching[resource];
}

}  // namespace concur::testing
