// SPDX-License-Identifier: Apache-2.0
#include "coordinator/provision/kube_config.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "yaml/errors.h"
#include "yaml/yaml_reader.h"

namespace concur::provision {
namespace {

using spec::YamlNode;

constexpr int64_t kFileBytesMax = 1 << 20;

// Null when there is none.
const YamlNode* ChildOf(const YamlNode* node, absl::string_view key) {
  if (node == nullptr) {
    return nullptr;
  }
  for (const YamlNode::Entry& entry : node->entries) {
    if (entry.key == key) {
      return &entry.value;
    }
  }
  return nullptr;
}

std::string TextOf(const YamlNode* node, absl::string_view key) {
  const YamlNode* child = ChildOf(node, key);
  return child == nullptr ? "" : child->text;
}

// The entry of `clusters`, `users` or `contexts` with this name, below `inner`.
absl::StatusOr<const YamlNode*> Named(const spec::YamlFile& file, absl::string_view list,
                                      const std::string& name, absl::string_view inner) {
  if (const YamlNode* items = ChildOf(&file.root, list)) {
    for (const YamlNode& item : items->items) {
      if (TextOf(&item, "name") == name) {
        return ChildOf(&item, inner);
      }
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat(file.path, ": ", list, ": expected one with the name \"", name, "\""));
}

// PEM from `key` (a path) or `key`-data (base64); "" when neither is there.
absl::StatusOr<std::string> Pem(const spec::YamlFile& file, const YamlNode* node,
                                const std::string& key) {
  if (const std::string data = TextOf(node, key + "-data"); !data.empty()) {
    std::string pem;
    if (!absl::Base64Unescape(data, &pem)) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.path, ": ", key, "-data: expected base64"));
    }
    return pem;
  }
  const std::string path = TextOf(node, key);
  if (path.empty()) {
    return std::string();
  }
  return ReadFile((std::filesystem::path(file.directory) / path).string(), kFileBytesMax);
}

absl::Status ReadUser(const spec::YamlFile& file, const YamlNode* user, KubeConfig* config) {
  for (const char* plugin : {"exec", "auth-provider"}) {
    if (ChildOf(user, plugin) != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.path, ": user.", plugin,
                       ": a plugin is not run here; make a service account and give its token"));
    }
  }
  config->token = TextOf(user, "token");
  if (const std::string token_file = TextOf(user, "tokenFile");
      config->token.empty() && !token_file.empty()) {
    config->token_file = (std::filesystem::path(file.directory) / token_file).string();
  }
  CONCUR_ASSIGN_OR_RETURN(config->certificate_pem, Pem(file, user, "client-certificate"));
  CONCUR_ASSIGN_OR_RETURN(config->key_pem, Pem(file, user, "client-key"));
  if (config->certificate_pem.empty() != config->key_pem.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": user: expected client-certificate and client-key together"));
  }
  return absl::OkStatus();
}

absl::StatusOr<KubeConfig> FromServiceAccount(const std::string& host, const std::string& port,
                                              const std::string& directory) {
  KubeConfig config;
  config.server = absl::StrCat(
      "https://", absl::StrContains(host, ':') ? absl::StrCat("[", host, "]") : host, ":", port);
  config.token_file = directory + "/token";
  config.origin = "the pod's service account";
  const absl::StatusOr<std::string> ca = ReadFile(directory + "/ca.crt", kFileBytesMax);
  if (!ca.ok() || !config.CurrentToken().ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("kubernetes: this pod has no service account's token in ", directory,
                     ": give it one (automountServiceAccountToken: true), or set KUBECONFIG"));
  }
  config.ca_pem = *ca;
  if (const auto name = ReadFile(directory + "/namespace", kFileBytesMax); name.ok()) {
    config.name_space = std::string(absl::StripAsciiWhitespace(*name));
  }
  return config;
}

}  // namespace

absl::StatusOr<std::string> KubeConfig::CurrentToken() const {
  if (token_file.empty()) {
    return token;
  }
  absl::StatusOr<std::string> text = ReadFile(token_file, kFileBytesMax);
  if (!text.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("kubernetes: the token cannot be read: ", text.status().message()));
  }
  return std::string(absl::StripAsciiWhitespace(*text));
}

absl::StatusOr<KubeConfig> LoadKubeConfig(const std::string& path) {
  spec::ErrorList errors;
  spec::YamlFile file;
  const absl::StatusOr<std::string> contents = spec::OpenYamlFile(path, &file);
  if (!contents.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("kubernetes: the kubeconfig cannot be read: ", contents.status().message(),
                     "; set KUBECONFIG to one that is there"));
  }
  if (!spec::ParseYaml(*contents, &file, &errors)) {
    return errors.ToStatus();
  }
  const std::string current = TextOf(&file.root, "current-context");
  CONCUR_ASSIGN_OR_RETURN(const YamlNode* context, Named(file, "contexts", current, "context"));
  CONCUR_ASSIGN_OR_RETURN(const YamlNode* cluster,
                          Named(file, "clusters", TextOf(context, "cluster"), "cluster"));
  CONCUR_ASSIGN_OR_RETURN(const YamlNode* user,
                          Named(file, "users", TextOf(context, "user"), "user"));
  KubeConfig config;
  config.origin = path;
  config.server = std::string(absl::StripSuffix(TextOf(cluster, "server"), "/"));
  if (!absl::StartsWith(config.server, "https://") && !absl::StartsWith(config.server, "http://")) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": cluster.server: expected https://HOST:PORT, got \"", config.server, "\""));
  }
  config.insecure_skip_verify = TextOf(cluster, "insecure-skip-tls-verify") == "true";
  CONCUR_ASSIGN_OR_RETURN(config.ca_pem, Pem(file, cluster, "certificate-authority"));
  if (const std::string name = TextOf(context, "namespace"); !name.empty()) {
    config.name_space = name;
  }
  CONCUR_RETURN_IF_ERROR(ReadUser(file, user, &config));
  return config;
}

std::map<std::string, std::string> KubeEnvironment() {
  std::map<std::string, std::string> env;
  for (const char* name :
       {"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "HOME"}) {
    if (const char* value = std::getenv(name)) {  // NOLINT(concurrency-mt-unsafe)
      env[name] = value;
    }
  }
  return env;
}

absl::StatusOr<KubeConfig> FindKubeConfig(const std::map<std::string, std::string>& env,
                                          const std::string& service_account_directory) {
  const auto get = [&env](const std::string& name) {
    const auto it = env.find(name);
    return it == env.end() ? std::string() : it->second;
  };
  if (const std::string path = get("KUBECONFIG"); !path.empty()) {
    return LoadKubeConfig(path);
  }
  if (const std::string host = get("KUBERNETES_SERVICE_HOST"); !host.empty()) {
    const std::string port = get("KUBERNETES_SERVICE_PORT");
    return FromServiceAccount(host, port.empty() ? "443" : port, service_account_directory);
  }
  const std::string path = get("HOME") + "/.kube/config";
  if (!std::filesystem::exists(path)) {
    return absl::FailedPreconditionError(
        absl::StrCat("kubernetes: no cluster is known: this is no pod, and there is no ", path,
                     "; set KUBECONFIG"));
  }
  return LoadKubeConfig(path);
}

}  // namespace concur::provision
