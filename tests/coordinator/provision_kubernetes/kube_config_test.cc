// SPDX-License-Identifier: Apache-2.0
// Kubeconfigs and service accounts, whole and broken.
#include "coordinator/provision/kube_config.h"

#include <fstream>
#include <map>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/test.h"

namespace concur::provision {
namespace {

class KubeConfigTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_.File(name)) << text;
    return dir_.File(name);
  }
  // A kubeconfig with these bodies of cluster, user and context.
  std::string Config(const std::string& cluster, const std::string& user,
                     const std::string& context = "cluster: c, user: u") {
    return Write("config",
                 absl::StrCat("apiVersion: v1\nkind: Config\npreferences: {}\ncurrent-context: x\n",
                              "clusters: [{name: other, cluster: {server: \"https://no\"}}, ",
                              "{name: c, cluster: {", cluster, "}}]\n", "users: [{name: u, user: {",
                              user, "}}]\ncontexts: [{name: x, context: {", context, "}}]\n"));
  }
  TempDir dir_;
};

TEST_F(KubeConfigTest, ServerCredentialsAndNamespaceAreRead) {
  const auto config = LoadKubeConfig(
      Config(absl::StrCat("server: \"https://h:6443/\", certificate-authority-data: ",
                          absl::Base64Escape("CA PEM")),
             absl::StrCat("client-certificate-data: ", absl::Base64Escape("CERT"),
                          ", client-key: key.pem"),
             "cluster: c, user: u, namespace: lab"));
  EXPECT_THAT(config, StatusIs(absl::StatusCode::kNotFound, HasSubstr("key.pem")));
  Write("key.pem", "KEY");
  const auto whole = LoadKubeConfig(dir_.File("config"));
  ASSERT_OK(whole);
  EXPECT_EQ(whole->server, "https://h:6443");
  EXPECT_EQ(whole->ca_pem, "CA PEM");
  EXPECT_EQ(whole->certificate_pem, "CERT");
  EXPECT_EQ(whole->key_pem, "KEY");
  EXPECT_EQ(whole->name_space, "lab");
  EXPECT_FALSE(whole->insecure_skip_verify);
}

TEST_F(KubeConfigTest, WhatCannotWorkIsRefusedByField) {
  const struct {
    std::string cluster, user, context, message;
  } cases[] = {
      {"server: \"ftp://h\"", "token: t", "cluster: c, user: u", "cluster.server: expected https"},
      {"server: \"https://h\"", "exec: {command: aws}", "cluster: c, user: u",
       "user.exec: a plugin is not run here"},
      {"server: \"https://h\"", "auth-provider: {name: gcp}", "cluster: c, user: u",
       "user.auth-provider"},
      {"server: \"https://h\"", "token: t", "cluster: nope, user: u",
       "clusters: expected one with the name \"nope\""},
      {"server: \"https://h\"", "token: t", "cluster: c, user: nope", "users: expected one"},
      {"server: \"https://h\", certificate-authority-data: \"***\"", "token: t",
       "cluster: c, user: u", "certificate-authority-data: expected base64"},
      {"server: \"https://h\"", "client-certificate-data: QQ==", "cluster: c, user: u",
       "expected client-certificate and client-key together"},
  };
  for (const auto& bad : cases) {
    EXPECT_THAT(LoadKubeConfig(Config(bad.cluster, bad.user, bad.context)),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(bad.message), HasSubstr(dir_.File("config")))))
        << bad.message;
  }
  EXPECT_THAT(LoadKubeConfig(Write("odd", "a: [1\n")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("odd:")));
  EXPECT_THAT(LoadKubeConfig(dir_.File("nothing")),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("set KUBECONFIG")));
}

TEST_F(KubeConfigTest, APodsServiceAccountIsFoundAndItsTokenReadAnew) {
  std::map<std::string, std::string> env = {{"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                            {"KUBERNETES_SERVICE_PORT", "6443"}};
  EXPECT_THAT(FindKubeConfig(env, dir_.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("automountServiceAccountToken: true")));
  Write("token", "one\n");
  Write("ca.crt", "CA");
  Write("namespace", "lab");
  const auto config = FindKubeConfig(env, dir_.path());
  ASSERT_OK(config);
  EXPECT_EQ(config->server, "https://[fd00::1]:6443");
  EXPECT_EQ(config->name_space, "lab");
  EXPECT_EQ(*config->CurrentToken(), "one");
  Write("token", "two\n");
  EXPECT_EQ(*config->CurrentToken(), "two");
  env["KUBECONFIG"] = Config("server: \"https://h\"", "token: t");
  EXPECT_EQ(FindKubeConfig(env, dir_.path())->server, "https://h") << "what is said comes first";
}

TEST_F(KubeConfigTest, WithoutAnyClusterThatIsSaid) {
  EXPECT_THAT(FindKubeConfig({{"HOME", dir_.path()}}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("no cluster is known"), HasSubstr("set KUBECONFIG"))));
}

}  // namespace
}  // namespace concur::provision
