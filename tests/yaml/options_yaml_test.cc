// SPDX-License-Identifier: Apache-2.0
#include "yaml/options_yaml.h"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/test.h"
#include "yaml/pools_yaml.h"

namespace concur::spec {
namespace {

struct BadOptions {
  const char* text;
  const char* message;
};

class OptionsTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& kind, const std::string& spec) {
    const std::string path = dir_.File("o.yaml");
    std::ofstream(path) << "apiVersion: concur/v1\nkind: " << kind << "\nspec:\n" << spec;
    return path;
  }
  TempDir dir_;
};

TEST_F(OptionsTest, BadCoordinatorOptionsAreRefusedByField) {
  const std::vector<BadOptions> cases = {
      {"  listen: localhost\n", "o.yaml:4:11: spec.listen: expected an address HOST:PORT"},
      {"  listen: localhost:70000\n", "spec.listen: expected an address"},
      {"  listen: \":80\"\n", "spec.listen: expected an address"},
      {"  listen: \"a:80,b:80\"\n", "spec.listen: expected an address"},
      {"  listen: \"::1:80\"\n", "spec.listen: expected an address"},
      {"  listen: http://a:80\n", "spec.listen: expected an address"},
      {"  lease: 1s\n", "spec.lease: expected a duration from 2s to 1h"},
      {"  overdue_grace: 0s\n", "spec.overdue_grace: expected a duration from 1s to 168h"},
      {"  lease: 10s\n", "expected sync_park_max below lease, got 20s and 10s"},
      {"  gc: {interval: 0s}\n", "spec.gc.interval: expected a duration from 1s"},
      {"  gc: {graze: 1h}\n", "spec.gc.graze: expected a known field, got \"graze\" (did you mean"},
      {"  limits: {sweeps_max: 0}\n", "spec.limits.sweeps_max: expected a whole number"},
      {"  limits: {artifact_bytes_max: 12}\n", "expected a size with a unit"},
      {"  pools: {name: a}\n", "spec.pools: expected a list"},
      {"  pools: [{name: a}]\n", "spec.pools[0]: expected the field \"max\""},
      {"  pools: [{name: a, max: {}}, {name: a, max: {}}]\n", "expected each pool once"},
      {"  quotas: {default: {jobs: 1}}\n", "spec.quotas.default.jobs: expected a known field"},
      {"  quotas: {default: {running_jobs_max: 0}}\n", "running_jobs_max: expected a whole number"},
      {"  quotas: {default: {jobs_max: 0}}\n", "jobs_max: expected a whole number"},
      {"  quotas: {owners: [{stored_bytes_max: 1GiB}]}\n", "expected the field \"name\""},
      {"  quotas: {owners: [{name: a}, {name: a}]}\n", "expected each owner once"},
      {"  quarantine: {min: 2h, max: 1h}\n", "spec.quarantine: expected max of min or more"},
      {"  owner: \"two words\"\n", "spec.owner: expected a name"},
      {"  data_directory: \"\"\n", "spec.data_directory: expected a path"},
      {"  database: mysql://a:secret@b/c\n",
       "spec.database: expected a URI such as postgresql://concur@db.example.org/concur"},
      {"  worker: true\n", "spec.worker: expected a known field"},
      {"  tls: {certificate: a.pem}\n", "spec.tls: expected certificate and key together"},
      {"  tls: {client_ca: a.pem}\n", "spec.tls: expected certificate and key"},
      {"  pack_small_artifacts: 1\n", "spec.pack_small_artifacts: expected true or false"},
      {"  artifacts: {s3: {endpoint: \"https://a\", bucket: abc}}\n  pack_small_artifacts: true\n",
       "spec.pack_small_artifacts: expected false with artifacts.s3"},
      {"  tls: {ca: a.pem}\n", "spec.tls.ca: expected a known field"},
  };
  for (const BadOptions& bad : cases) {
    EXPECT_THAT(LoadCoordinatorOptions(Write("CoordinatorOptions", bad.text)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(bad.message)))
        << bad.text;
  }
}

TEST_F(OptionsTest, BadWorkerOptionsAreRefusedByField) {
  const std::vector<BadOptions> cases = {
      {"  name: a/b\n", "spec.name: expected a name"},
      {"  coordinator: 5\n", "spec.coordinator: expected an address"},
      {"  coordinator: \"a:1, b:1\"\n", "or several with commas and no spaces"},
      {"  coordinator: \"a:1,b\"\n", "spec.coordinator: expected an address HOST:PORT"},
      {"  slots: -1\n", "spec.slots: expected a whole number"},
      {"  resources: {gpus: 65}\n", "spec.resources.gpus: expected a whole number from 0 to 64"},
      {"  labels: {a: [1]}\n", "spec.labels.a: expected text, got a list"},
      {"  stop_grace: -1s\n", "spec.stop_grace: expected a duration"},
      {"  containment: docker\n", "(auto, cgroup, processes)"},
      {"  processes_max: 1\n", "spec.processes_max: expected a whole number from 16 to 4000000"},
      {"  private_tmp: /tmp\n", "spec.private_tmp: expected true or false"},
      {"  environments: [docker]\n", "spec.environments: expected some of bubblewrap, podman"},
      {"  environments: [podman, podman]\n", "each once, got \"podman\""},
      {"  environments: podman\n", "spec.environments: expected a list"},
      {"  tls: {certificate: a.pem, key: a.key}\n", "spec.tls: expected ca"},
      {"  tls: {ca: a.pem, key: a.key}\n", "spec.tls: expected certificate and key together"},
  };
  for (const BadOptions& bad : cases) {
    EXPECT_THAT(LoadWorkerOptions(Write("WorkerOptions", bad.text)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(bad.message)))
        << bad.text;
  }
}

TEST_F(OptionsTest, OneKindIsNotReadAsTheOther) {
  EXPECT_THAT(LoadWorkerOptions(Write("CoordinatorOptions", "  {}\n")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("kind: expected WorkerOptions, got \"CoordinatorOptions\"")));
}

TEST_F(OptionsTest, AnEmptySpecGivesTheDefaults) {
  ASSERT_OK_AND_ASSIGN(const CoordinatorOptions options,
                       LoadCoordinatorOptions(Write("CoordinatorOptions", "  {}\n")));
  EXPECT_EQ(options.listen, CoordinatorOptions().listen);
  EXPECT_TRUE(options.pools.empty());
  EXPECT_TRUE(options.pool_limits.empty());
  EXPECT_TRUE(options.pack_small_artifacts);
}

TEST_F(OptionsTest, SmallArtifactsAreNotPackedWhereTheOptionsSaySo) {
  ASSERT_OK_AND_ASSIGN(
      const CoordinatorOptions options,
      LoadCoordinatorOptions(Write("CoordinatorOptions", "  pack_small_artifacts: false\n")));
  EXPECT_FALSE(options.pack_small_artifacts);
}

TEST_F(OptionsTest, ObjectStorageIsReadInFull) {
  ASSERT_OK_AND_ASSIGN(
      const CoordinatorOptions options,
      LoadCoordinatorOptions(Write("CoordinatorOptions",
                                   "  artifacts:\n    s3:\n      endpoint: https://minio:9000\n"
                                   "      bucket: my.bucket-1\n      prefix: team_a/x-1.0\n"
                                   "      region: eu-central-1\n      ca: ca.pem\n"
                                   "      credentials_file: keys\n")));
  ASSERT_TRUE(options.s3.has_value());
  EXPECT_EQ(options.s3->endpoint, "https://minio:9000");
  EXPECT_EQ(options.s3->bucket, "my.bucket-1");
  EXPECT_EQ(options.s3->prefix, "team_a/x-1.0");
  EXPECT_EQ(options.s3->region, "eu-central-1");
  EXPECT_EQ(options.s3->ca, dir_.File("ca.pem"));
  EXPECT_EQ(options.s3->credentials_file, dir_.File("keys"));
  ASSERT_OK_AND_ASSIGN(const CoordinatorOptions without,
                       LoadCoordinatorOptions(Write("CoordinatorOptions", "  {}\n")));
  EXPECT_FALSE(without.s3.has_value());
}

TEST_F(OptionsTest, BadObjectStorageIsRefusedByField) {
  const std::string fine = "endpoint: https://s3, bucket: abc";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"artifacts: {}", "expected the field \"s3\""},
      {"artifacts: {s3: {bucket: abc}}", "expected the field \"endpoint\""},
      {"artifacts: {s3: {endpoint: https://s3}}", "expected the field \"bucket\""},
      {"artifacts: {s3: {endpoint: s3.example.org, bucket: abc}}",
       "spec.artifacts.s3.endpoint: expected an address such as https://"},
      {"artifacts: {s3: {endpoint: \"https://s3/abc\", bucket: abc}}", "without a path"},
      {"artifacts: {s3: {endpoint: https://s3, bucket: a b}}",
       "spec.artifacts.s3.bucket: expected a bucket's name"},
      {"artifacts: {s3: {endpoint: https://s3, bucket: ab}}", "3 to 63 letters"},
      {"artifacts: {s3: {" + fine + ", prefix: /a}}", "spec.artifacts.s3.prefix: expected no"},
      {"artifacts: {s3: {" + fine + ", prefix: a/../b}}", "spec.artifacts.s3.prefix: expected no"},
      {"artifacts: {s3: {" + fine + ", prefix: \"a b\"}}", "expected letters, digits"},
      {"artifacts: {s3: {" + fine + ", region: \"a/b\"}}", "expected a region"},
      {"artifacts: {s3: {" + fine + ", secret: x}}", "expected a known field"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(LoadCoordinatorOptions(Write("CoordinatorOptions", "  " + text + "\n")),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << text;
  }
}

TEST_F(OptionsTest, ARelativeDirectoryStartsAtTheFile) {
  ASSERT_OK_AND_ASSIGN(const WorkerOptions options,
                       LoadWorkerOptions(Write(
                           "WorkerOptions", "  work_directory: jobs\n  run_directory: scratch\n")));
  EXPECT_EQ(options.work_directory, dir_.File("jobs"));
  EXPECT_EQ(options.run_directory, dir_.File("scratch"));
}

TEST_F(OptionsTest, BadPoolsAreRefusedByField) {
  const std::string head = "  pools:\n  - name: p\n    ";
  const std::string rest = "    workers: {max: 3}\n    resources: {cpus: 4}\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"provider: pbs\n" + rest,
       "o.yaml:6:15: spec.pools[0].provider: expected a provider (local, slurm, kubernetes, "
       "command)"},
      {"provider: slurm\n    resources: {cpus: 1}\n", "expected the field \"workers\""},
      {"provider: slurm\n    workers: {max: 3}\n", "expected the field \"resources\""},
      {"provider: slurm\n    workers: {max: 3}\n    resources: {gpus: 1}\n",
       "expected the field \"cpus\""},
      {"provider: slurm\n    workers: {max: 0}\n    resources: {cpus: 1}\n",
       "spec.pools[0].workers.max: expected a whole number from 1 to 10000"},
      {"provider: slurm\n    workers: {min: 4, max: 3}\n    resources: {cpus: 1}\n",
       "spec.pools[0].workers.min: expected a whole number from 0 to 3"},
      {"provider: slurm\n" + rest + "    time_limit: 10s\n",
       "spec.pools[0].time_limit: expected a duration from 1m"},
      {"provider: slurm\n" + rest + "    time_limit: 10m\n    drain_margin: 6m\n",
       "drain_margin: expected at most half of time_limit"},
      {"provider: slurm\n" + rest + "    slurm: {queue: long}\n",
       "o.yaml:9:13: spec.pools[0].slurm.queue: expected a known field"},
      {"provider: local\n" + rest + "    slurm: {partition: long}\n",
       "spec.pools[0].slurm: expected no settings of slurm for the provider local"},
      {"provider: command\n" + rest,
       "spec.pools[0]: command.directory: expected the absolute path of the directory of the "
       "programs submit, list and cancel, got \"\""},
      {"provider: command\n" + rest + "    command: {directory: lsf}\n",
       "command.directory: expected the absolute path"},
      {"provider: command\n" + rest + "    command: {directory: /lsf, token_directory: home}\n",
       "command.token_directory: expected an absolute path, got \"home\""},
      {"provider: slurm\n" + rest + "    command: {directory: /lsf}\n",
       "spec.pools[0].command: expected no settings of command for the provider slurm"},
      {"provider: slurm\n" + rest + "    slurm: {arguments: [--job-name=x]}\n",
       "slurm.arguments[0]: expected no --job-name"},
      {"provider: slurm\n" + rest + "    setup: module load\n",
       "spec.pools[0].setup: expected a list"},
      {"provider: kubernetes\n" + rest + "    kubernetes: {tolerations: [{key: a, effects: b}]}\n",
       "o.yaml:9:41: spec.pools[0].kubernetes.tolerations[0].effects: expected a known field"},
      {"provider: kubernetes\n" + rest +
           "    kubernetes: {tolerations: [{key: a, value: b, operator: Exists}]}\n",
       "o.yaml:9:61: spec.pools[0].kubernetes.tolerations[0].operator: expected Equal where there "
       "is a value"},
      {"provider: kubernetes\n" + rest + "    kubernetes: {tolerations: {key: a}}\n",
       "spec.pools[0].kubernetes.tolerations: expected a list of {key, value, effect}"},
      {"provider: kubernetes\n" + rest + "    kubernetes: {volumes: [{path: /data}]}\n",
       "o.yaml:9:28: spec.pools[0].kubernetes.volumes[0]: expected one of claim, secret, "
       "config_map, host_path and memory, got 0"},
      {"provider: kubernetes\n" + rest +
           "    kubernetes: {volumes: [{claim: a, secret: b, path: /data}]}\n",
       "spec.pools[0].kubernetes.volumes[0]: expected one of claim, secret, config_map, host_path "
       "and memory, got 2"},
      {"provider: kubernetes\n" + rest + "    kubernetes: {volumes: [{memory: 8, path: /shm}]}\n",
       "spec.pools[0].kubernetes.volumes[0].memory: expected a size"},
      {"provider: kubernetes\n" + rest + "    kubernetes: {volumes: [{claim: a}]}\n",
       "spec.pools[0].kubernetes.volumes[0]: expected the field \"path\""},
      {"provider: kubernetes\n" + rest + "    kubernetes: {volumes: [{claim: a, path: /tmp}]}\n",
       "kubernetes.volumes[0].path: expected a place where nothing else is mounted"},
      {"provider: kubernetes\n" + rest + "    kubernetes: {image_pull_secrets: registry}\n",
       "spec.pools[0].kubernetes.image_pull_secrets: expected a list"},
      {"provider: slurm\n" + rest + "    accept: {gpus_min: 1}\n",
       "accept.gpus_min: expected 0 to the GPUs of a worker, 0, got 1"},
      {"provider: slurm\n" + rest + "    accept: {gpus: 1}\n",
       "spec.pools[0].accept.gpus: expected a known field"},
      {"provider: slurm\n" + rest + "    env_pass: ['A B']\n",
       "env_pass[0]: expected the name of a variable"},
      {"provider: slurm\n" + rest + "    env_pass: [CONCUR_TOKEN]\n",
       "env_pass[0]: expected no variable of Concur's own"},
      {"provider: kubernetes\n" + rest + "    kubernetes: {affinity: [a]}\n",
       "spec.pools[0].kubernetes.affinity: expected a mapping, as in a pod"},
      {"provider: kubernetes\n" + rest + "    kubernetes: {image_pull_policy: Sometimes}\n",
       "kubernetes.image_pull_policy: expected Always, IfNotPresent or Never"},
      {"provider: kubernetes\n" + rest + "    kubernetes: {job_images: [a]}\n",
       "spec.pools[0].kubernetes.job_images: expected"},
      {"provider: kubernetes\n" + rest + "    kubernetes: {labels: {a b: c}}\n",
       "kubernetes.labels: expected a label"},
      {"provider: kubernetes\n" + rest + "    kubernetes: {env: {1A: c}}\n",
       "kubernetes.env: expected the name of a variable"},
      {"provider: slurm\n" + rest + "    max: {cpus: 1}\n",
       "spec.pools[0].max: expected a known field"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(LoadCoordinatorOptions(Write("CoordinatorOptions", head + text)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << text;
  }
}

TEST_F(OptionsTest, APoolWithGpusAcceptsJobsWithoutWhereItSaysSo) {
  const auto gpus_min = [this](const std::string& accept) {
    const absl::StatusOr<CoordinatorOptions> options =
        LoadCoordinatorOptions(Write("CoordinatorOptions",
                                     "  pools:\n  - {name: p, provider: local, workers: {max: 1}, "
                                     "resources: {cpus: 1, gpus: 4}" +
                                         accept + "}\n"));
    return options.ok() ? options->pools.at(0).gpus_min : -1;
  };
  EXPECT_EQ(gpus_min(""), 1);
  EXPECT_EQ(gpus_min(", accept: {gpus_min: 0}"), 0);
  EXPECT_EQ(gpus_min(", accept: {gpus_min: 2}"), 2);
}

TEST_F(OptionsTest, APodsAffinityIsTakenOverAsItIs) {
  ASSERT_OK_AND_ASSIGN(
      const CoordinatorOptions options,
      LoadCoordinatorOptions(
          Write("CoordinatorOptions",
                "  pools:\n"
                "  - name: p\n"
                "    provider: kubernetes\n"
                "    workers: {max: 1}\n"
                "    resources: {cpus: 1}\n"
                "    kubernetes:\n"
                "      image_pull_policy: Always\n"
                "      worker_image: registry/worker:2\n"
                "      job_images: true\n"
                "      labels: {kueue.x-k8s.io/queue-name: lab}\n"
                "      annotations: {note: 'it is: \"ours\"'}\n"
                "      env: {HF_HOME: /models}\n"
                "      affinity:\n"
                "        nodeAffinity:\n"
                "          preferredDuringSchedulingIgnoredDuringExecution:\n"
                "            - {weight: 5, preference: {matchExpressions: [{key: a, operator: In, "
                "values: ['1']}]}}\n")));
  const KubernetesSettings& kubernetes = options.pools.at(0).kubernetes;
  EXPECT_EQ(kubernetes.affinity,
            R"({"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"preference":)"
            R"({"matchExpressions":[{"key":"a","operator":"In","values":["1"]}]},"weight":5}]}})");
  EXPECT_EQ(kubernetes.image_pull_policy, "Always");
  EXPECT_EQ(kubernetes.worker_image, "registry/worker:2");
  EXPECT_TRUE(kubernetes.job_images);
  EXPECT_EQ(kubernetes.labels, (Labels{{"kueue.x-k8s.io/queue-name", "lab"}}));
  EXPECT_EQ(kubernetes.annotations, (Labels{{"note", "it is: \"ours\""}}));
  EXPECT_EQ(kubernetes.env, (Labels{{"HF_HOME", "/models"}}));
}

TEST_F(OptionsTest, APoolIsReadInFull) {
  ASSERT_OK_AND_ASSIGN(
      const CoordinatorOptions options,
      LoadCoordinatorOptions(Write(
          "CoordinatorOptions",
          "  pilots: {coordinator: \"head:7447,[::1]:7447\", ca: ca.pem}\n"
          "  pools:\n"
          "  - name: cluster\n"
          "    provider: slurm\n"
          "    workers: {min: 1, max: 50}\n"
          "    resources: {cpus: 8, memory: 32GiB, gpus: 1}\n"
          "    labels: {rack: b2}\n"
          "    time_limit: 4h\n"
          "    drain_margin: 2m\n"
          "    idle_timeout: 90s\n"
          "    start_timeout: 5m\n"
          "    coordinator: \"login:1\"\n"
          "    worker_program: /opt/concur-worker\n"
          "    work_directory: /scratch\n"
          "    setup: [module load cuda, ulimit -c 0]\n"
          "    env_pass: [PYTHONPATH, CUDA_*]\n"
          "    slurm: {partition: long, account: lab, qos: high, constraint: avx, array_max: 5,\n"
          "            arguments: [--exclusive], log_directory: /shared/logs}\n")));
  EXPECT_EQ(options.pilots.coordinator, "head:7447,[::1]:7447");
  EXPECT_EQ(options.pilots.ca, dir_.File("ca.pem"));
  ASSERT_EQ(options.pools.size(), 1u);
  PoolSpec expected;
  expected.name = "cluster";
  expected.provider = ProviderKind::kSlurm;
  expected.workers_min = 1;
  expected.workers_max = 50;
  expected.resources = {8000, int64_t{32} << 30, 1};
  expected.labels = {{"rack", "b2"}};
  expected.time_limit = absl::Hours(4);
  expected.drain_margin = absl::Minutes(2);
  expected.idle_timeout = absl::Seconds(90);
  expected.start_timeout = absl::Minutes(5);
  expected.coordinator = "login:1";
  expected.worker_program = "/opt/concur-worker";
  expected.work_directory = "/scratch";
  expected.setup = {"module load cuda", "ulimit -c 0"};
  expected.env_pass = {"PYTHONPATH", "CUDA_*"};
  expected.gpus_min = 1;  // it has GPUs
  expected.slurm = {"long", "lab", "high", "avx", {"--exclusive"}, "/shared/logs", 5};
  EXPECT_TRUE(options.pools[0] == expected);
  const std::vector<PoolLimit> limits = LimitsOf(options);
  ASSERT_EQ(limits.size(), 1u);
  EXPECT_EQ(limits[0].max, expected.resources);
}

TEST_F(OptionsTest, APoolLimitsOnlyWhatItStates) {
  ASSERT_OK_AND_ASSIGN(const CoordinatorOptions options,
                       LoadCoordinatorOptions(
                           Write("CoordinatorOptions", "  pools: [{name: a, max: {cpus: 4}}]\n")));
  const Resources& max = options.pool_limits[0].max;
  EXPECT_TRUE((Resources{4000, int64_t{1} << 50, 0}.FitsIn(max)));
  EXPECT_FALSE((Resources{4001, 0, 0}.FitsIn(max)));
  EXPECT_FALSE((Resources{1000, 0, 1}.FitsIn(max))) << "GPUs are only where they are stated";
}

}  // namespace
}  // namespace concur::spec
