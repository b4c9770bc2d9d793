// SPDX-License-Identifier: Apache-2.0
// A Kubernetes API server on an ephemeral port of this machine, with Jobs, pods, events and Secrets
// of one namespace, and trouble as a test orders it.
//
// Plain HTTP, one thread per connection. Thread-safe.
#ifndef CONCUR_TESTS_TESTING_KUBE_SERVER_H_
#define CONCUR_TESTS_TESTING_KUBE_SERVER_H_

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

namespace concur::testing {

class KubeServer {
 public:
  KubeServer();
  ~KubeServer();
  KubeServer(const KubeServer&) = delete;
  KubeServer& operator=(const KubeServer&) = delete;

  // "http://127.0.0.1:PORT".
  std::string url() const;
  // A kubeconfig for it, with this token or token file ("" for none) and the namespace "lab".
  std::string Kubeconfig(const std::string& token, const std::string& token_file = "") const;

  // --- faults. A verb is "create jobs", "watch pods", …

  // After `skip` more calls, the next `times` calls only return this status and message.
  void Refuse(const std::string& verb, int status, const std::string& message, int times = 1,
              int skip = 0);
  // The next call is executed, and its connection is closed without a response.
  void LoseAnswer(const std::string& verb);
  // Requires this bearer token from now on; "": none.
  void RequireToken(const std::string& token);
  // Sends this line to the current watches of "jobs" or "pods".
  void SendLine(const std::string& resource, const std::string& line);
  // Ends all watches; those resumed from an older version get 410 Gone.
  void ForgetHistory();
  // Ends every watch as soon as it begins, without an event, as a proxy may.
  void EndWatchesAtOnce();
  // Refuses connections until ComeBack.
  void GoAway();
  void ComeBack();

  // --- the cluster

  // Adds or replaces an object of "jobs", "pods" or "events" by its name.
  void Put(const std::string& resource, const nlohmann::json& object);
  void Remove(const std::string& resource, const std::string& name);
  // The object, or null.
  nlohmann::json Get(const std::string& resource, const std::string& name) const;
  std::vector<nlohmann::json> All(const std::string& resource) const;
  // Adds a pod with this status to the Job of this name, as the Job's controller would.
  void PutPod(const std::string& job, const nlohmann::json& status);
  // Ends the Job as "Complete" or "Failed".
  void EndJob(const std::string& job, const std::string& type, const std::string& reason,
              const std::string& time = "2023-11-14T22:13:20Z");

  // All calls, executed or not.
  std::set<std::string> verbs() const;
  int count(const std::string& verb) const;
  // Number of open watches.
  int watchers(const std::string& resource) const;

 private:
  struct State;
  const std::shared_ptr<State> state_;  // shared with the connections' threads
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_KUBE_SERVER_H_
