// SPDX-License-Identifier: Apache-2.0
// Objects that `kubectl kustomize` makes of the overlays: names, selectors, ports, probes, rights.

#include <yaml-cpp/yaml.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "coordinator/provision/kube_client.h"
#include "coordinator/provision/kube_objects.h"
#include "tests/testing/test.h"
#include "yaml/options_yaml.h"

namespace concur {
namespace {

std::string NameOf(const YAML::Node& object) {
  return object["metadata"]["name"].as<std::string>();
}

using LabelMap = std::map<std::string, std::string>;

struct Rendered {
  std::vector<YAML::Node> objects;

  // The objects of this kind.
  std::vector<YAML::Node> Of(const std::string& kind) const;
  // An invalid node when there is none.
  YAML::Node Find(const std::string& kind, const std::string& name) const;
  // StatefulSets and Deployments: whatever has a pod template.
  std::vector<YAML::Node> Workloads() const;
};

// The output of a program, and whether it ended with 0.
struct ProgramOutput {
  bool ok = false;
  std::string out;
};

ProgramOutput RunShell(const std::string& command) {
  ProgramOutput output;
  FILE* pipe = popen(absl::StrCat(command, " 2>&1").c_str(), "r");
  CONCUR_CHECK(pipe != nullptr);
  char buffer[65536];
  for (size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    output.out.append(buffer, got);
  }
  output.ok = pclose(pipe) == 0;
  return output;
}

std::string WhyNotRendered() {
  static const std::string reason = [] {
    const ProgramOutput version = RunShell("kubectl version --client");
    if (!absl::StrContains(version.out, "Kustomize Version: v")) {
      return std::string(
          "kubectl 1.27 or later is needed to render the overlays; it is not part of Debian 12");
    }
    return std::string();
  }();
  return reason;
}

// A kustomization of one's own: the base and these components, "pools prometheus".
std::string Composed(const std::string& root, const std::string& components,
                     const std::string& directory) {
  const auto relative = [&](const std::string& path) {
    return std::filesystem::relative(std::filesystem::canonical(root + "/k8s/" + path),
                                     std::filesystem::canonical(directory))
        .string();
  };
  std::string text = absl::StrCat(
      "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: concur\n"
      "resources:\n  - ",
      relative("base"), "\ncomponents:\n");
  for (const absl::string_view component : absl::StrSplit(components, ' ')) {
    absl::StrAppend(&text, "  - ", relative(absl::StrCat("components/", component)), "\n");
  }
  std::ofstream(directory + "/kustomization.yaml") << text;
  return directory;
}

// Renders a directory of k8s/, or several components.
const Rendered& Render(const std::string& path) {
  static auto* const all = new std::map<std::string, Rendered>;
  const auto [it, is_new] = all->try_emplace(path);
  if (is_new) {
    const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
    const std::string root = source == nullptr ? "." : source;
    const TempDir own;
    const ProgramOutput output = RunShell(absl::StrCat(
        "kubectl kustomize ",
        absl::StrContains(path, ' ') ? Composed(root, path, own.path()) : root + "/k8s/" + path));
    EXPECT_TRUE(output.ok) << path << ": " << output.out;
    CONCUR_CHECK(output.ok);
    it->second.objects = YAML::LoadAll(output.out);
  }
  return it->second;
}

std::vector<YAML::Node> Rendered::Of(const std::string& kind) const {
  std::vector<YAML::Node> found;
  for (const YAML::Node& object : objects) {
    if (object["kind"].as<std::string>() == kind) {
      found.push_back(object);
    }
  }
  return found;
}

YAML::Node Rendered::Find(const std::string& kind, const std::string& name) const {
  for (const YAML::Node& object : Of(kind)) {
    if (NameOf(object) == name) {
      return object;
    }
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

std::vector<YAML::Node> Rendered::Workloads() const {
  std::vector<YAML::Node> found = Of("StatefulSet");
  for (const YAML::Node& deployment : Of("Deployment")) {
    found.push_back(deployment);
  }
  return found;
}

LabelMap Map(const YAML::Node& node) {
  return node.IsDefined() && node.IsMap() ? node.as<LabelMap>() : LabelMap();
}

bool IsIn(const LabelMap& part, const LabelMap& whole) {
  for (const auto& [key, value] : part) {
    const auto it = whole.find(key);
    if (it == whole.end() || it->second != value) {
      return false;
    }
  }
  return true;
}

std::vector<YAML::Node> ContainersOf(const YAML::Node& workload) {
  std::vector<YAML::Node> containers;
  for (const char* list : {"initContainers", "containers"}) {
    for (const YAML::Node& container : workload["spec"]["template"]["spec"][list]) {
      containers.push_back(container);
    }
  }
  return containers;
}

class OverlayTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNotRendered(); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
  const Rendered& Objects() { return Render(GetParam()); }

  // True if some pod template has these labels.
  bool SelectsAPod(const LabelMap& selector) {
    for (const YAML::Node& workload : Objects().Workloads()) {
      if (IsIn(selector, Map(workload["spec"]["template"]["metadata"]["labels"]))) {
        return true;
      }
    }
    return false;
  }
  // The one workload that a Service selects.
  YAML::Node Selected(const YAML::Node& service) {
    YAML::Node found(YAML::NodeType::Undefined);
    for (const YAML::Node& workload : Objects().Workloads()) {
      if (IsIn(Map(service["spec"]["selector"]),
               Map(workload["spec"]["template"]["metadata"]["labels"]))) {
        EXPECT_FALSE(found.IsDefined()) << NameOf(service) << " selects two workloads";
        found.reset(workload);
      }
    }
    EXPECT_TRUE(found.IsDefined()) << NameOf(service) << " selects nothing";
    return found;
  }
  // Names and numbers of the workload's container ports.
  static std::set<std::string> Ports(const YAML::Node& workload) {
    std::set<std::string> ports;
    for (const YAML::Node& container : ContainersOf(workload)) {
      for (const YAML::Node& port : container["ports"]) {
        EXPECT_TRUE(ports.insert(port["name"].as<std::string>()).second);
        EXPECT_TRUE(ports.insert(port["containerPort"].as<std::string>()).second);
      }
    }
    return ports;
  }
};

INSTANTIATE_TEST_SUITE_P(All, OverlayTest,
                         ::testing::Values("base", "overlays/local", "overlays/gpu",
                                           "overlays/pools", "overlays/prometheus",
                                           "overlays/static-workers", "overlays/stand-by",
                                           "pools prometheus stand-by", "pools prometheus",
                                           "pools prometheus local",
                                           "static-workers gpu prometheus local"),
                         [](const auto& overlay) {
                           std::string name = overlay.param;
                           for (char& c : name) {
                             c = c == '/' || c == '-' || c == ' ' ? '_' : c;
                           }
                           return name;
                         });

TEST_P(OverlayTest, ObjectsStandOnceAndInOneNamespace) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const YAML::Node& object : Objects().objects) {
    const std::string kind = object["kind"].as<std::string>();
    EXPECT_TRUE(seen.insert({kind, NameOf(object)}).second) << kind << " " << NameOf(object);
    if (kind != "Namespace") {
      EXPECT_EQ(object["metadata"]["namespace"].as<std::string>(""), "concur") << NameOf(object);
    }
    EXPECT_EQ(Map(object["metadata"]["labels"])["app.kubernetes.io/part-of"], "concur")
        << kind << " " << NameOf(object);
  }
}

TEST_P(OverlayTest, SelectorsSelect) {
  for (const YAML::Node& workload : Objects().Workloads()) {
    const LabelMap labels = Map(workload["spec"]["template"]["metadata"]["labels"]);
    EXPECT_TRUE(IsIn(Map(workload["spec"]["selector"]["matchLabels"]), labels)) << NameOf(workload);
    EXPECT_EQ(labels.at("app.kubernetes.io/part-of"), "concur");
  }
  for (const YAML::Node& budget : Objects().Of("PodDisruptionBudget")) {
    EXPECT_TRUE(SelectsAPod(Map(budget["spec"]["selector"]["matchLabels"])));
  }
  for (const YAML::Node& policy : Objects().Of("NetworkPolicy")) {
    const LabelMap selector = Map(policy["spec"]["podSelector"]["matchLabels"]);
    // Workers of pools are not rendered: the provider gives their pods this name.
    const bool is_worker = selector == LabelMap{{"app.kubernetes.io/name", "concur-worker"}};
    EXPECT_TRUE(is_worker || SelectsAPod(selector)) << NameOf(policy);
  }
  for (const YAML::Node& monitor : Objects().Of("ServiceMonitor")) {
    const LabelMap selector = Map(monitor["spec"]["selector"]["matchLabels"]);
    const YAML::Node service = Objects().Find("Service", "concur-coordinator");
    EXPECT_TRUE(IsIn(selector, Map(service["metadata"]["labels"])));
    std::set<std::string> ports;
    for (const YAML::Node& port : service["spec"]["ports"]) {
      ports.insert(port["name"].as<std::string>());
    }
    EXPECT_EQ(ports.count(monitor["spec"]["endpoints"][0]["port"].as<std::string>()), 1u);
  }
}

TEST_P(OverlayTest, PortsAndProbesLeadToContainers) {
  for (const YAML::Node& service : Objects().Of("Service")) {
    const std::set<std::string> ports = Ports(Selected(service));
    for (const YAML::Node& port : service["spec"]["ports"]) {
      EXPECT_EQ(ports.count(port["targetPort"].as<std::string>()), 1u) << NameOf(service);
    }
  }
  for (const YAML::Node& workload : Objects().Workloads()) {
    const std::set<std::string> ports = Ports(workload);
    const YAML::Node container = workload["spec"]["template"]["spec"]["containers"][0];
    EXPECT_TRUE(container["livenessProbe"] && container["readinessProbe"]) << NameOf(workload);
    for (const char* probe : {"startupProbe", "livenessProbe", "readinessProbe"}) {
      const YAML::Node spec = container[probe];
      if (!spec) {
        continue;
      }
      const YAML::Node get = spec["httpGet"];
      EXPECT_EQ(ports.count(get["port"].as<std::string>()), 1u) << probe;
      const std::set<std::string> pages = {"/healthz", "/readyz"};
      EXPECT_EQ(pages.count(get["path"].as<std::string>()), 1u) << probe;
    }
    const YAML::Node annotations = workload["spec"]["template"]["metadata"]["annotations"];
    EXPECT_EQ(ports.count(annotations["prometheus.io/port"].as<std::string>()), 1u);
  }
}

TEST_P(OverlayTest, PodsHaveNoMoreRightsThanTheyNeed) {
  for (const YAML::Node& workload : Objects().Workloads()) {
    const YAML::Node pod = workload["spec"]["template"]["spec"];
    EXPECT_TRUE(pod["securityContext"]["runAsNonRoot"].as<bool>(false));
    EXPECT_GT(pod["securityContext"]["runAsUser"].as<int>(0), 0);
    EXPECT_EQ(pod["securityContext"]["seccompProfile"]["type"].as<std::string>(), "RuntimeDefault");
    EXPECT_FALSE(pod["hostNetwork"] || pod["hostPID"] || pod["hostIPC"]);
    for (const YAML::Node& container : ContainersOf(workload)) {
      const YAML::Node security = container["securityContext"];
      const std::string name = absl::StrCat(NameOf(workload), "/", container["name"].Scalar());
      EXPECT_TRUE(security["readOnlyRootFilesystem"].as<bool>(false)) << name;
      EXPECT_FALSE(security["allowPrivilegeEscalation"].as<bool>(true)) << name;
      EXPECT_EQ(security["capabilities"]["drop"][0].as<std::string>(""), "ALL") << name;
      EXPECT_TRUE(container["resources"]["requests"]["cpu"]) << name;
      EXPECT_TRUE(container["resources"]["requests"]["memory"]) << name;
      EXPECT_TRUE(container["resources"]["limits"]["memory"]) << name;
    }
    // Only the coordinator speaks with the API server.
    EXPECT_EQ(pod["automountServiceAccountToken"].as<bool>(true),
              NameOf(workload) == "concur-coordinator");
  }
  for (const YAML::Node& account : Objects().Of("ServiceAccount")) {
    EXPECT_FALSE(account["automountServiceAccountToken"].as<bool>(true));
  }
  EXPECT_THAT(Objects().Of("ClusterRole"), IsEmpty());
  EXPECT_THAT(Objects().Of("ClusterRoleBinding"), IsEmpty());
}

TEST_P(OverlayTest, WhatIsReferredToIsThere) {
  for (const YAML::Node& workload : Objects().Workloads()) {
    const YAML::Node pod = workload["spec"]["template"]["spec"];
    EXPECT_TRUE(Objects().Find("ServiceAccount", pod["serviceAccountName"].as<std::string>()));
    std::set<std::string> volumes;
    for (const YAML::Node& volume : pod["volumes"]) {
      volumes.insert(volume["name"].as<std::string>());
      if (volume["configMap"]) {
        EXPECT_TRUE(Objects().Find("ConfigMap", volume["configMap"]["name"].as<std::string>()));
      }
      if (volume["persistentVolumeClaim"]) {
        EXPECT_TRUE(Objects().Find("PersistentVolumeClaim",
                                   volume["persistentVolumeClaim"]["claimName"].as<std::string>()));
      }
      if (volume["secret"]) {
        EXPECT_EQ(volume["secret"]["secretName"].as<std::string>(), "concur-worker")
            << "made by hand as docs/kubernetes.md says";
      }
    }
    for (const YAML::Node& claim : workload["spec"]["volumeClaimTemplates"]) {
      volumes.insert(NameOf(claim));
    }
    for (const YAML::Node& container : ContainersOf(workload)) {
      for (const YAML::Node& mount : container["volumeMounts"]) {
        EXPECT_EQ(volumes.count(mount["name"].as<std::string>()), 1u) << mount["name"].Scalar();
      }
      EXPECT_FALSE(container["image"].as<std::string>() == "concur") << "no tag";
    }
  }
  for (const YAML::Node& set : Objects().Of("StatefulSet")) {
    EXPECT_TRUE(Objects().Find("Service", set["spec"]["serviceName"].as<std::string>()));
  }
  for (const YAML::Node& binding : Objects().Of("RoleBinding")) {
    EXPECT_TRUE(Objects().Find("Role", binding["roleRef"]["name"].as<std::string>()));
    EXPECT_TRUE(Objects().Find("ServiceAccount", binding["subjects"][0]["name"].as<std::string>()));
    EXPECT_EQ(binding["subjects"][0]["namespace"].as<std::string>(), "concur");
  }
  for (const YAML::Node& scaler : Objects().Of("HorizontalPodAutoscaler")) {
    const YAML::Node target = scaler["spec"]["scaleTargetRef"];
    EXPECT_TRUE(Objects().Find(target["kind"].as<std::string>(), target["name"].as<std::string>()));
  }
}

TEST_P(OverlayTest, ProgramsKnowTheFlagsThatTheyAreGiven) {
  const char* bin = std::getenv("CONCUR_BIN_DIR");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_NE(bin, nullptr);
  for (const YAML::Node& workload : Objects().Workloads()) {
    for (const YAML::Node& container : ContainersOf(workload)) {
      std::vector<std::string> words = container["command"].as<std::vector<std::string>>();
      const std::string program = absl::StrCat(bin, "/", words[0]);
      std::string help = RunShell(absl::StrCat(program, " --help")).out;
      for (const YAML::Node& word : container["args"]) {
        words.push_back(word.as<std::string>());
      }
      for (const std::string& word : words) {
        if (word == "init-tls") {
          absl::StrAppend(&help, RunShell(program + " init-tls --help").out);
        }
      }
      for (const std::string& word : words) {
        if (absl::StartsWith(word, "--")) {
          EXPECT_THAT(help, HasSubstr(word.substr(0, word.find('=')) + " ")) << container["name"];
        }
      }
    }
  }
}

TEST_P(OverlayTest, TheOptionsFileListensWhereThePortsAre) {
  for (const YAML::Node& map : Objects().Of("ConfigMap")) {
    if (!absl::StartsWith(NameOf(map), "concur-options")) {
      continue;
    }
    const TempDir dir;
    std::ofstream(dir.File("o.yaml")) << map["data"]["coordinator.yaml"].as<std::string>();
    const absl::StatusOr<spec::CoordinatorOptions> options =
        spec::LoadCoordinatorOptions(dir.File("o.yaml"));
    ASSERT_OK(options);
    const std::set<std::string> ports = Ports(Objects().Find("StatefulSet", "concur-coordinator"));
    for (const std::string& listen : {options->listen, options->metrics_listen}) {
      EXPECT_EQ(ports.count(listen.substr(listen.rfind(':') + 1)), 1u) << listen;
      EXPECT_TRUE(absl::StartsWith(listen, "0.0.0.0:")) << listen;
    }
    EXPECT_FALSE(options->tls.certificate.empty());
    for (const PoolSpec& pool : options->pools) {
      EXPECT_OK(provision::CheckKubePool(pool));
      EXPECT_TRUE(Objects().Find("ServiceAccount", pool.kubernetes.service_account));
    }
    return;
  }
  ADD_FAILURE() << "no options";
}

TEST_P(OverlayTest, TheCoordinatorMayDoWhatItsPoolsDoAndNothingElse) {
  std::set<std::string> asked;
  for (const provision::KubeRight& right : provision::KubeRights()) {
    asked.insert(absl::StrCat(right.group, "/", right.resource, " ", right.name));
  }
  std::set<std::string> granted;
  for (const YAML::Node& rule : Objects().Find("Role", "concur-coordinator")["rules"]) {
    for (const YAML::Node& group : rule["apiGroups"]) {
      for (const YAML::Node& resource : rule["resources"]) {
        for (const YAML::Node& verb : rule["verbs"]) {
          granted.insert(absl::StrCat(group.as<std::string>(), "/", resource.as<std::string>(), " ",
                                      verb.as<std::string>()));
        }
      }
    }
  }
  EXPECT_EQ(granted, asked);
}

TEST_P(OverlayTest, NobodyMayDoEverything) {
  for (const YAML::Node& role : Objects().Of("Role")) {
    for (const YAML::Node& rule : role["rules"]) {
      for (const char* list : {"apiGroups", "resources", "verbs"}) {
        for (const YAML::Node& item : rule[list]) {
          EXPECT_NE(item.as<std::string>(), "*") << list;
        }
      }
    }
  }
}

}  // namespace
}  // namespace concur
