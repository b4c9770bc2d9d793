// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e_environments/three_systems.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace concur::testing {
namespace {

constexpr char kApproachHead[] = R"(apiVersion: concur/v1
kind: Approach
metadata: {name: NAME}
spec:
  version: "1"
)";

constexpr char kSeedsSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: environments}
spec:
  approaches: [APPROACHES]
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, test: task.txt, metric: accuracy}
  seeds: {from: 1, to: SEEDS}
  retry: {failures_max: 1}
)";

// Writes the package "tinypackage", whose number is 0.75, as a wheel.
constexpr char kMakeWheel[] = R"(
import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + "/tinypackage-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("tinypackage.py", "number = 0.75\n")
    info = "tinypackage-1.0.dist-info/"
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: tinypackage\nVersion: 1.0\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "RECORD", "")
)";

constexpr char kPython[] =
    "import json, sys, tinypackage\n"
    "assert sys.version_info[:2] == (3, 11)\n"
    "json.dump({'accuracy': tinypackage.number}, open(sys.argv[1], 'w'))\n";

std::string Source(const std::string& file) {
  const char* sources = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  return absl::StrCat(sources == nullptr ? "" : sources, "/", file);
}
// With Python 3.9 and glibc 2.31, beside the machine's Debian 12. Made by scripts/test.
std::string Debian11() { return Source("build/roots/debian-11.tar.gz"); }

// The package "tinypackage" and what installs it without a network.
void MakeWheel(const Cluster& cluster) {
  cluster.Write("wheel.py", kMakeWheel);
  EXPECT_TRUE(Works(cluster, {"python3", cluster.File("wheel.py"), cluster.File("")}));
  cluster.Write("requirements.txt", absl::StrCat("--no-index\n--find-links ", cluster.File(""),
                                                 "\ntinypackage==1.0\n"));
}

}  // namespace

bool Works(const Cluster& cluster, std::vector<std::string> argv) {
  argv.insert(argv.begin(), "/usr/bin/env");
  return Cluster::Run(argv, cluster.File("scratch")).exit_code == 0;
}

void WriteApproach(const Cluster& cluster, const std::string& name, const std::string& spec) {
  cluster.Write(name + ".yaml", absl::StrReplaceAll(kApproachHead, {{"NAME", name}}) + spec);
}

std::string InRoot(const std::string& root, const std::string& script) {
  return absl::StrCat("  environment: {root: ", root,
                      ".tar.gz}\n  predict:\n    command: [sh, -euc, '", script, "']\n");
}

void WriteSeeds(const Cluster& cluster, const std::string& approaches, int seeds) {
  cluster.Write("task.txt", "x");
  cluster.Write("sweep.yaml", absl::StrReplaceAll(kSeedsSweep, {{"APPROACHES", approaches},
                                                                {"SEEDS", absl::StrCat(seeds)}}));
}

ThreeSystems WriteThreeSystems(const Cluster& cluster, const std::string& checks) {
  ThreeSystems systems;
  const auto add = [&](const std::string& name, const std::string& number,
                       const std::string& spec) {
    WriteApproach(cluster, name, spec);
    systems.approaches.push_back(name + ".yaml");
    systems.numbers.push_back(number);
  };
  EXPECT_TRUE(Works(cluster, {"bash", Source("configs/environments/roots.sh"), "busybox",
                              cluster.File("busybox.tar.gz")}));
  systems.roots.emplace_back("busybox");
  add("busybox", "0.25",
      InRoot("busybox", checks + "test ! -e /usr; test ! -e /lib; "
                                 "echo \"{{\\\"accuracy\\\": 0.25}}\" > {metrics}"));
  if (Works(cluster, {"python3.11", "-c", "import venv, ensurepip"})) {
    MakeWheel(cluster);
    cluster.Write("score.py", kPython);
    add("python", "0.75", R"(  environment: {venv: requirements.txt, python: python3.11}
  code: [score.py]
  predict: {command: [python, "{code}/score.py", "{metrics}"]}
)");
  } else {
    systems.missing.emplace_back("python3.11 with venv (package python3.11-venv)");
  }
  if (std::filesystem::exists(Debian11())) {
    std::filesystem::create_symlink(Debian11(), cluster.File("debian-11.tar.gz"));
    systems.roots.emplace_back("debian-11");
    add("debian", "0.5",
        InRoot("debian-11", checks +
                                "grep -q ^11 /etc/debian_version; python3 -c \"import sys; assert "
                                "sys.version_info.minor == 9\"; "
                                "echo \"{{\\\"accuracy\\\": 0.5}}\" > {metrics}"));
  } else {
    systems.missing.push_back("Debian 11: scripts/test makes " + Debian11() + " of a mirror");
  }
  return systems;
}

}  // namespace concur::testing
