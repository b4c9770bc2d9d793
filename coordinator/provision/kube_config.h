// SPDX-License-Identifier: Apache-2.0
// Access to a Kubernetes API server: from within a pod, or from a kubeconfig.
//
// Reads what a kubeconfig says about servers and certificates: clusters with a CA, users
// with a token, a token file or a client certificate, contexts. Plugins (exec, auth-provider) run
// programs and are refused by name.
//
// Values; thread-safe.
#ifndef CONCUR_COORDINATOR_PROVISION_KUBE_CONFIG_H_
#define CONCUR_COORDINATOR_PROVISION_KUBE_CONFIG_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace concur::provision {

struct KubeConfig {
  std::string server;                 // "https://10.0.0.1:6443", without a slash at its end
  std::string ca_pem;                 // "": the system's CAs
  bool insecure_skip_verify = false;  // as the kubeconfig says
  std::string token;
  std::string token_file;  // read for every call, since the kubelet renews it
  std::string certificate_pem;
  std::string key_pem;
  std::string name_space = "default";
  std::string origin;  // "the pod's service account" or the kubeconfig's path, for messages

  // The bearer token now; "" for none. FailedPrecondition when its file cannot be read.
  absl::StatusOr<std::string> CurrentToken() const;
};

// A service account's files, in a pod.
inline constexpr char kServiceAccountDirectory[] = "/var/run/secrets/kubernetes.io/serviceaccount";

// The variables of the environment that FindKubeConfig knows, as they are now. REQUIRES: nobody
// changes the environment meanwhile.
std::map<std::string, std::string> KubeEnvironment();

// $KUBECONFIG, else the pod's service account where KUBERNETES_SERVICE_HOST is set, else
// ~/.kube/config. FailedPrecondition says what is missing, and the remedy.
absl::StatusOr<KubeConfig> FindKubeConfig(
    const std::map<std::string, std::string>& env,
    const std::string& service_account_directory = kServiceAccountDirectory);

// The current context of a kubeconfig. InvalidArgument names file and field.
absl::StatusOr<KubeConfig> LoadKubeConfig(const std::string& path);

}  // namespace concur::provision

#endif  // CONCUR_COORDINATOR_PROVISION_KUBE_CONFIG_H_
