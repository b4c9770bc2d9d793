// SPDX-License-Identifier: Apache-2.0
// Form of a pilot's Job, and what is read from Jobs and pods.
#include "coordinator/provision/kube_objects.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/provision/kube_reasons.h"
#include "tests/testing/test.h"

namespace concur::provision {
namespace {

PilotSetup TheSetup() {
  PilotSetup setup;
  setup.coordinator_id = "ab12";
  setup.coordinator = "concur-coordinator.concur.svc:7447";
  setup.ca_pem = "CA";
  return setup;
}

PoolSpec Pool() {
  PoolSpec pool;
  pool.name = "gpu";
  pool.provider = ProviderKind::kKubernetes;
  pool.resources = {.cpu_millis = 2500, .memory_bytes = int64_t{4} << 30, .gpus = 2};
  pool.labels = {{"zone", "b"}};
  pool.time_limit = absl::Hours(2);
  pool.kubernetes.image = "registry/concur:1";
  pool.kubernetes.node_selector = {{"kind", "a100"}};
  return pool;
}

KubeJson Parse(const std::string& text) { return KubeJson::parse(text); }

TEST(KubeObjectsTest, APoolWithoutAnImageIsRefused) {
  PoolSpec pool = Pool();
  EXPECT_OK(CheckKubePool(pool));
  pool.kubernetes.image = "";
  EXPECT_THAT(CheckKubePool(pool), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("pool gpu: kubernetes.image: expected")));
}

TEST(KubeObjectsTest, NamesAreWhatKubernetesTakesAndDiffer) {
  std::set<std::string> names;
  for (const std::string& pilot :
       {std::string("cpu-1"), std::string("CPU-1"), std::string("c.p_u-1"), std::string("c-p-u-1"),
        std::string(40, 'x') + "-1", std::string(60, 'x') + "-1", std::string(60, 'x') + "-2",
        std::string("a_-17")}) {
    const std::string name = KubeJobName("Ab12", pilot);
    EXPECT_TRUE(names.insert(name).second) << pilot;
    EXPECT_LE(name.size(), 63u);
    EXPECT_THAT(name, ::testing::MatchesRegex("[a-z0-9]([-a-z0-9]*[a-z0-9])?")) << pilot;
  }
  EXPECT_EQ(KubeJobName("ab12", "cpu-17"), "concur-ab12-cpu-17");
}

TEST(KubeObjectsTest, AJobAsksForWhatItsPoolSays) {
  const KubeJson job = KubePilotJob(Pool(), TheSetup(), "gpu-7", "the-secret");
  EXPECT_EQ(PilotOf(job), "gpu-7");
  EXPECT_EQ(job["spec"]["backoffLimit"], 0);
  EXPECT_EQ(job["spec"]["activeDeadlineSeconds"], 7200);
  const KubeJson& pod = job["spec"]["template"]["spec"];
  EXPECT_EQ(pod["restartPolicy"], "Never");
  EXPECT_EQ(pod["nodeSelector"]["kind"], "a100");
  EXPECT_EQ(pod["tolerations"][0]["key"], "nvidia.com/gpu");
  EXPECT_EQ(pod["automountServiceAccountToken"], false);
  EXPECT_EQ(pod["securityContext"]["runAsNonRoot"], true);
  EXPECT_EQ(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
  const KubeJson& container = pod["containers"][0];
  EXPECT_EQ(container["image"], "registry/concur:1");
  EXPECT_EQ(container["resources"]["requests"]["cpu"], "2500m");
  EXPECT_EQ(container["resources"]["limits"]["memory"], "4294967296");
  EXPECT_EQ(container["resources"]["limits"]["nvidia.com/gpu"], "2");
  EXPECT_FALSE(container["resources"]["limits"].contains("cpu"));
  EXPECT_EQ(container["securityContext"]["readOnlyRootFilesystem"], true);
  const std::string command = container["command"].dump();
  EXPECT_THAT(command, StartsWith(R"(["concur-worker","--name","gpu-7")"));
  EXPECT_THAT(command, HasSubstr(R"("--gpus","2")"));
  EXPECT_THAT(command, HasSubstr(R"("--label","zone=b")"));
  EXPECT_THAT(command, HasSubstr(R"("--ca","/etc/concur/ca.pem")"));
  EXPECT_EQ(container["env"][1]["valueFrom"]["secretKeyRef"]["name"], "the-secret");
  EXPECT_EQ(job["metadata"]["labels"], job["spec"]["template"]["metadata"]["labels"]);
}

constexpr char kJobImage[] =
    "registry/jobs@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// As strict as the pod of the pool's own image, with nothing of the worker in the image.
TEST(KubeObjectsTest, AWorkerIsPutIntoPodsOfAnImageOfJobs) {
  PoolSpec pool = Pool();
  pool.kubernetes.job_images = true;
  pool.kubernetes.image_pull_policy = "IfNotPresent";
  pool.kubernetes.env = {{"HF_HOME", "/models"}, {"https_proxy", "proxy"}};
  pool.labels["environment.sandbox"] = "bubblewrap";  // label of the pool's own image
  const KubeJson own = KubePilotJob(pool, TheSetup(), "gpu-6", "the-secret");
  EXPECT_FALSE(own["spec"]["template"]["spec"].contains("initContainers"));
  EXPECT_THAT(own.dump(), Not(HasSubstr("environment.image")));

  const KubeJson job = KubePilotJob(ForImage(pool, kJobImage), TheSetup(), "gpu-7", "the-secret");
  EXPECT_EQ(job["metadata"]["annotations"]["concur/image"], kJobImage);
  const KubeJson& pod = job["spec"]["template"]["spec"];
  ASSERT_EQ(pod["initContainers"].size(), 1u);
  const KubeJson& before = pod["initContainers"][0];
  const KubeJson& container = pod["containers"][0];
  EXPECT_EQ(before["image"], "registry/concur:1");
  EXPECT_EQ(
      before["command"],
      Parse(R"(["cp","/usr/lib/concur/concur-worker-static","/opt/concur-pod/concur-worker"])"));
  EXPECT_EQ(before["volumeMounts"],
            Parse(R"([{"name":"programs","mountPath":"/opt/concur-pod"}])"));
  EXPECT_THAT(container["volumeMounts"].dump(),
              HasSubstr(R"({"mountPath":"/opt/concur-pod","name":"programs","readOnly":true})"));
  EXPECT_THAT(pod["volumes"].dump(), HasSubstr(R"({"emptyDir":{},"name":"programs"})"));
  for (const KubeJson* one : {&before, &container}) {
    EXPECT_EQ((*one)["securityContext"], Parse(R"({"allowPrivilegeEscalation":false,
        "readOnlyRootFilesystem":true,"capabilities":{"drop":["ALL"]}})"));
    EXPECT_EQ((*one)["imagePullPolicy"], "IfNotPresent");
    EXPECT_EQ((*one)["resources"], own["spec"]["template"]["spec"]["containers"][0]["resources"]);
  }
  EXPECT_EQ(container["image"], kJobImage);
  const std::string command = container["command"].dump();
  EXPECT_THAT(command, StartsWith(R"(["/opt/concur-pod/concur-worker","--name","gpu-7")"));
  EXPECT_THAT(command, HasSubstr(absl::StrCat(R"("--image",")", kJobImage)));
  EXPECT_THAT(command, Not(HasSubstr("environment.")));
  EXPECT_THAT(container["env"].dump(),
              HasSubstr(R"({"name":"CONCUR_POD_VARIABLES","value":"HF_HOME,https_proxy"})"));

  // The image of the worker, and the file in it, may be others.
  pool.kubernetes.worker_image = "registry/worker:2";
  pool.worker_program = "/worker";
  const KubeJson other = KubePilotJob(ForImage(pool, kJobImage), TheSetup(), "gpu-8", "");
  const KubeJson& other_before = other["spec"]["template"]["spec"]["initContainers"][0];
  EXPECT_EQ(other_before["image"], "registry/worker:2");
  EXPECT_EQ(other_before["command"][1], "/worker");
}

TEST(KubeObjectsTest, AnImageOfJobsThatCannotBePulledIsImpossibleAndAWorkerThatIsNotThereSaidSo) {
  PoolSpec pool = Pool();
  const KubeJson own = KubePilotJob(pool, TheSetup(), "gpu-1", "");
  const KubeJson of_jobs = KubePilotJob(ForImage(pool, kJobImage), TheSetup(), "gpu-2", "");
  const KubeJson unpulled = Parse(R"({"status":{"phase":"Pending",
      "initContainerStatuses":[{"state":{"terminated":{"exitCode":0}}}],
      "containerStatuses":[{"state":{"waiting":{"reason":"ImagePullBackOff","message":"no"}}}]}})");
  PilotReport report = KubeReport(of_jobs, &unpulled, "");
  EXPECT_EQ(report.state, PilotReport::State::kPending);
  EXPECT_TRUE(report.impossible);
  EXPECT_THAT(report.message, StartsWith("its image cannot be pulled: ImagePullBackOff: no; "));
  EXPECT_FALSE(KubeReport(own, &unpulled, "").impossible);

  const KubeJson without = Parse(R"({"status":{"phase":"Failed","initContainerStatuses":[{"state":
      {"terminated":{"exitCode":1,"reason":"Error","message":"cp: cannot stat 'x'"}}}],
      "containerStatuses":[{"state":{"waiting":{"reason":"PodInitializing"}}}]}})");
  report = KubeReport(of_jobs, &without, "");
  EXPECT_EQ(report.state, PilotReport::State::kEnded);
  EXPECT_EQ(report.message, "Error, exit code 1: cp: cannot stat 'x'");
  const KubeJson starting = Parse(R"({"status":{"phase":"Pending",
      "initContainerStatuses":[{"state":{"running":{}}}],
      "containerStatuses":[{"state":{"waiting":{"reason":"PodInitializing"}}}]}})");
  report = KubeReport(of_jobs, &starting, "");
  EXPECT_FALSE(report.impossible);
  EXPECT_EQ(report.message, "");
}

TEST(KubeObjectsTest, APodIsPlacedAsItsPoolSays) {
  PoolSpec pool = Pool();
  pool.kubernetes.service_account = "trainer";
  pool.kubernetes.priority_class = "batch";
  pool.kubernetes.runtime_class = "nvidia";
  pool.kubernetes.image_pull_secrets = {"one", "two"};
  pool.kubernetes.gpu_resource = "amd.com/gpu";
  pool.kubernetes.tolerations = {{"dedicated", "ml", "NoSchedule"}, {"spot", "", ""}, {"", "", ""}};
  const KubeJson job = KubePilotJob(pool, TheSetup(), "gpu-7", "");
  const KubeJson& pod = job["spec"]["template"]["spec"];
  EXPECT_EQ(pod["serviceAccountName"], "trainer");
  EXPECT_EQ(pod["priorityClassName"], "batch");
  EXPECT_EQ(pod["runtimeClassName"], "nvidia");
  EXPECT_EQ(pod["imagePullSecrets"], Parse(R"([{"name":"one"},{"name":"two"}])"));
  EXPECT_EQ(pod["tolerations"], Parse(R"([
      {"key":"dedicated","operator":"Equal","value":"ml","effect":"NoSchedule"},
      {"key":"spot","operator":"Exists"},
      {"operator":"Exists"},
      {"key":"amd.com/gpu","operator":"Exists","effect":"NoSchedule"}])"));
  EXPECT_EQ(pod["containers"][0]["resources"]["limits"]["amd.com/gpu"], "2");
}

TEST(KubeObjectsTest, LabelsAnnotationsAffinityPullPolicyAndEnvironmentAreThePools) {
  PoolSpec pool = Pool();
  pool.kubernetes.labels = {{"team", "nlp"}, {"concur/coordinator", "somebody-else"}};
  pool.kubernetes.annotations = {{"note", "any text"}, {"concur/pilot", "other"}};
  pool.kubernetes.env = {{"HF_HOME", "/models"}};
  pool.kubernetes.affinity = R"({"nodeAffinity":{"a":[1]}})";
  pool.kubernetes.image_pull_policy = "Always";
  ASSERT_OK(CheckKubePool(pool));
  const KubeJson job = KubePilotJob(pool, TheSetup(), "gpu-7", "");
  for (const KubeJson* metadata : {&job["metadata"], &job["spec"]["template"]["metadata"]}) {
    EXPECT_EQ((*metadata)["labels"]["team"], "nlp");
    EXPECT_NE((*metadata)["labels"]["concur/coordinator"], "somebody-else")
        << "by it a coordinator finds its own";
    EXPECT_EQ((*metadata)["annotations"], Parse(R"({"note":"any text","concur/pilot":"gpu-7"})"));
  }
  const KubeJson& pod = job["spec"]["template"]["spec"];
  EXPECT_EQ(pod["affinity"], Parse(R"({"nodeAffinity":{"a":[1]}})"));
  EXPECT_EQ(pod["containers"][0]["imagePullPolicy"], "Always");
  EXPECT_THAT(pod["containers"][0]["env"].dump(),
              HasSubstr(R"({"name":"HF_HOME","value":"/models"})"));
  EXPECT_FALSE(job["spec"].contains("suspend"));
  pool.kubernetes.affinity = "[]";
  EXPECT_THAT(CheckKubePool(pool), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("kubernetes.affinity: expected a mapping")));
}

TEST(KubeObjectsTest, AJobWithKueuesLabelWaitsUntilKueueLetsItGo) {
  PoolSpec pool = Pool();
  pool.kubernetes.labels = {{kKueueLabel, "lab"}};
  KubeJson job = KubePilotJob(pool, TheSetup(), "gpu-7", "");
  EXPECT_EQ(job["spec"]["suspend"], true);
  EXPECT_EQ(job["metadata"]["labels"][kKueueLabel], "lab");
  job["status"] = Parse(
      R"({"conditions":[{"type":"Suspended","status":"True","reason":"JobSuspended","message":"Job suspended"}]})");
  const PilotReport report = KubeReport(job, nullptr, "");
  EXPECT_EQ(report.state, PilotReport::State::kPending);
  EXPECT_THAT(report.message,
              StartsWith("waits in Kueue's queue lab; see `kubectl get workloads`"));
}

TEST(KubeObjectsTest, APodThatAsksForNothingSpecialSaysNothingOfIt) {
  PoolSpec pool = Pool();
  pool.resources.gpus = 0;
  pool.kubernetes.node_selector = {};
  const KubeJson job = KubePilotJob(pool, TheSetup(), "cpu-7", "");
  const KubeJson& pod = job["spec"]["template"]["spec"];
  for (const char* field : {"serviceAccountName", "priorityClassName", "runtimeClassName",
                            "imagePullSecrets", "nodeSelector", "tolerations"}) {
    EXPECT_FALSE(pod.contains(field)) << field;
  }
}

TEST(KubeObjectsTest, VolumesAreMountedAndThoseOfOneSourceAreOne) {
  PoolSpec pool = Pool();
  pool.kubernetes.volumes = {
      {VolumeKind::kClaim, "data", 0, "/data/qa", "qa", true},
      {VolumeKind::kClaim, "data", 0, "/data/out", "out", false},
      {VolumeKind::kSecret, "hub", 0, "/etc/hub", "", true},
      {VolumeKind::kConfigMap, "site", 0, "/etc/site", "", false},
      {VolumeKind::kHostPath, "/mnt/nvme", 0, "/scratch", "", false},
      {VolumeKind::kMemory, "", int64_t{1} << 30, "/dev/shm", "", false},
  };
  const KubeJson job = KubePilotJob(pool, TheSetup(), "gpu-7", "the-secret");
  const KubeJson& pod = job["spec"]["template"]["spec"];
  std::set<std::string> names;
  for (const KubeJson& volume : pod["volumes"]) {
    EXPECT_TRUE(names.insert(volume["name"]).second);
  }
  EXPECT_EQ(names.size(), 8u) << "work, tmp, credentials, and five of the pool";
  const KubeJson& volumes = pod["volumes"];
  EXPECT_EQ(volumes[3],
            Parse(R"({"name":"volume-0","persistentVolumeClaim":{"claimName":"data"}})"));
  EXPECT_EQ(volumes[4], Parse(R"({"name":"volume-2","secret":{"secretName":"hub"}})"));
  EXPECT_EQ(volumes[5], Parse(R"({"name":"volume-3","configMap":{"name":"site"}})"));
  EXPECT_EQ(volumes[6], Parse(R"({"name":"volume-4","hostPath":{"path":"/mnt/nvme"}})"));
  EXPECT_EQ(
      volumes[7],
      Parse(R"({"name":"volume-5","emptyDir":{"medium":"Memory","sizeLimit":"1073741824"}})"));
  const KubeJson& mounts = pod["containers"][0]["volumeMounts"];
  EXPECT_EQ(mounts[3], Parse(R"({"name":"volume-0","mountPath":"/data/qa","subPath":"qa",
                                 "readOnly":true})"));
  EXPECT_EQ(mounts[4], Parse(R"({"name":"volume-0","mountPath":"/data/out","subPath":"out"})"));
  EXPECT_EQ(mounts[8], Parse(R"({"name":"volume-5","mountPath":"/dev/shm"})"));
}

TEST(KubeObjectsTest, SetupRunsBeforeTheWorker) {
  PoolSpec pool = Pool();
  pool.setup = {"module load cuda", "export A=1"};
  const KubeJson job = KubePilotJob(pool, TheSetup(), "gpu-7", "");
  const KubeJson& command = job["spec"]["template"]["spec"]["containers"][0]["command"];
  EXPECT_EQ(command[0], "/bin/sh");
  EXPECT_EQ(command[2], "module load cuda\nexport A=1\nexec \"$@\"");
  EXPECT_EQ(command[4], "concur-worker");
}

TEST(KubeObjectsTest, OtherCredentialsAreAnotherSecret) {
  PilotSetup setup = TheSetup();
  const std::string name = KubeSecretName(setup, "t1");
  EXPECT_EQ(KubeSecretName(setup, "t1"), name);
  EXPECT_NE(KubeSecretName(setup, "t2"), name);
  EXPECT_THAT(name, Not(HasSubstr("t1")));
  const KubeJson secret = KubeSecret(name, setup, "t1");
  EXPECT_EQ(secret["stringData"], Parse(R"({"ca.pem":"CA","token":"t1"})"));
  EXPECT_EQ(secret["immutable"], true);
  setup.ca_pem = "other";
  EXPECT_NE(KubeSecretName(setup, "t1"), name);
  setup = TheSetup();
  setup.certificate_pem = "CERTIFICATE";
  setup.key_pem = "KEY";
  EXPECT_NE(KubeSecretName(setup, "t1"), name);
}

TEST(KubeObjectsTest, APodShowsTheCertificateThatItsCoordinatorAsksFor) {
  PilotSetup setup = TheSetup();
  setup.certificate_pem = "CERTIFICATE";
  setup.key_pem = "KEY";
  EXPECT_EQ(KubeSecret("s", setup, "t1")["stringData"],
            Parse(R"({"ca.pem":"CA","client.key":"KEY","client.pem":"CERTIFICATE","token":"t1"})"));
  const KubeJson job = KubePilotJob(Pool(), setup, "gpu-7", "s");
  const KubeJson& pod = job["spec"]["template"]["spec"];
  const std::string command = pod["containers"][0]["command"].dump();
  EXPECT_THAT(command, HasSubstr(R"("--certificate","/etc/concur/client.pem")"));
  EXPECT_THAT(command, HasSubstr(R"("--key","/etc/concur/client.key")"));
  EXPECT_THAT(command, Not(HasSubstr("KEY")));
  const KubeJson& secret = pod["volumes"][2]["secret"];
  EXPECT_EQ(secret["defaultMode"], 0440) << "root and the pod's group";
  EXPECT_EQ(secret["items"].size(), 3u);
  EXPECT_THAT(job.dump(), Not(HasSubstr("\"KEY\"")));
}

struct Case {
  const char* name;
  const char* pod;  // its status; "" for none
  PilotReport::State state;
  const char* message;
};

class PodTest : public ::testing::TestWithParam<Case> {};

TEST_P(PodTest, SaysWhatItIs) {
  const KubeJson job = Parse(R"({"metadata":{"name":"j","annotations":{"concur/pilot":"p-1"}}})");
  const std::string status = GetParam().pod;
  KubeJson pod;
  if (!status.empty()) {
    pod = {{"metadata", {{"name", "j-abc"}}}, {"status", Parse(status)}};
  }
  const PilotReport report =
      KubeReport(job, status.empty() ? nullptr : &pod, "FailedCreate: exceeded quota: pods=10");
  EXPECT_EQ(report.name, "p-1");
  EXPECT_EQ(report.state, GetParam().state);
  EXPECT_THAT(report.message, StartsWith(GetParam().message));
  const absl::string_view message = GetParam().message;
  EXPECT_EQ(report.taken_back, absl::StartsWith(message, "evicted: ") ||
                                   absl::StartsWith(message, "preempted: ") ||
                                   absl::StartsWith(message, "its node went away: "));
  EXPECT_EQ(report.external_id, status.empty() ? "j" : "j-abc");
}

constexpr auto kPending = PilotReport::State::kPending;
constexpr auto kRunning = PilotReport::State::kRunning;
constexpr auto kEnded = PilotReport::State::kEnded;

INSTANTIATE_TEST_SUITE_P(
    Kinds, PodTest,
    ::testing::Values(
        Case{"NoPod", "", kPending, "FailedCreate: exceeded quota: pods=10"},
        Case{"Pending", R"({"phase":"Pending"})", kPending, ""},
        Case{
            "Unschedulable",
            R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes are available: 3 Insufficient cpu."}]})",
            kPending, "unschedulable: 0/3 nodes are available: 3 Insufficient cpu."},
        Case{
            "ImagePullBackOff",
            R"({"phase":"Pending","containerStatuses":[{"state":{"waiting":{"reason":"ImagePullBackOff","message":"Back-off pulling image \"x\""}}}]})",
            kPending, "its image cannot be pulled: ImagePullBackOff: Back-off pulling image"},
        Case{
            "NoSecret",
            R"({"phase":"Pending","containerStatuses":[{"state":{"waiting":{"reason":"CreateContainerConfigError","message":"secret \"s\" not found"}}}]})",
            kPending, "its container cannot be made: CreateContainerConfigError: secret"},
        Case{
            "Creating",
            R"({"phase":"Pending","containerStatuses":[{"state":{"waiting":{"reason":"ContainerCreating"}}}]})",
            kPending, ""},
        Case{"Running", R"({"phase":"Running"})", kRunning, ""},
        Case{"NodeSilent", R"({"phase":"Unknown"})", kRunning, "its node does not answer"},
        Case{
            "Succeeded",
            R"({"phase":"Succeeded","containerStatuses":[{"state":{"terminated":{"exitCode":0,"reason":"Completed"}}}]})",
            kEnded, "Completed"},
        Case{
            "OutOfMemory",
            R"({"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]})",
            kEnded, "out of memory: OOMKilled, exit code 137"},
        Case{
            "Failed",
            R"({"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":2,"reason":"Error","message":"cannot work: no token"}}}]})",
            kEnded, "Error, exit code 2: cannot work: no token"},
        Case{
            "Evicted",
            R"({"phase":"Failed","reason":"Evicted","message":"The node was low on resource: memory."})",
            kEnded, "evicted: The node was low on resource: memory."},
        Case{
            "EvictedByApi",
            R"({"phase":"Failed","conditions":[{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI","message":"drained"}]})",
            kEnded, "evicted: EvictionByEvictionAPI: drained"},
        Case{
            "Preempted",
            R"({"phase":"Failed","conditions":[{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler","message":"for a higher priority"}]})",
            kEnded, "preempted: PreemptionByScheduler: for a higher priority"},
        Case{"PreemptedOld", R"({"phase":"Failed","reason":"Preempting","message":"in favour"})",
             kEnded, "preempted: Preempting: in favour"},
        Case{"NodeLost", R"({"phase":"Failed","reason":"NodeLost","message":"node n1"})", kEnded,
             "its node went away: NodeLost: node n1"},
        Case{"Deadline", R"({"phase":"Failed","reason":"DeadlineExceeded","message":"too long"})",
             kEnded, "time limit: DeadlineExceeded: too long"},
        Case{"Nonsense", R"({"phase":7,"conditions":{},"containerStatuses":"x"})", kPending, ""}),
    [](const auto& kind) { return std::string(kind.param.name); });

struct RemedyCase {
  const char* message;
  const char* remedy;
};

// In the words of Kubernetes 1.20 to 1.32: the ErrReason constants of the scheduler's plugins, and
// what admits or refuses pods.
TEST(KubeObjectsTest, EveryReasonOfTheSchedulerHasARemedy) {
  const std::vector<RemedyCase> cases = {
      {"2 Insufficient cpu", "lower resources.cpus"},
      {"2 Insufficient memory", "lower resources.memory"},
      {"1 Insufficient ephemeral-storage", "more disk"},
      {"1 Insufficient nvidia.com/gpu", "kubernetes.gpu_resource"},
      {"1 Too many pods", "ask for larger workers"},
      {"1 node(s) had taint {gpu: true}, that the pod didn't tolerate", "kubernetes.tolerations"},
      {"1 node(s) had untolerated taint {gpu: true}", "kubernetes.tolerations"},
      {"1 node(s) had taints that the pod didn't tolerate", "kubernetes.tolerations"},
      {"2 node(s) didn't match Pod's node affinity/selector", "kubernetes.node_selector"},
      {"2 node(s) didn't match Pod's node affinity", "kubernetes.node_selector"},
      {"2 node(s) didn't match node selector", "kubernetes.node_selector"},
      {"2 node(s) didn't match the requested node name", "kubernetes.affinity"},
      {"2 node(s) didn't match pod affinity rules", "podAffinity"},
      {"2 node(s) didn't match pod anti-affinity rules", "podAffinity"},
      {"2 node(s) didn't satisfy existing pods anti-affinity rules", "podAffinity"},
      {"2 node(s) didn't match pod affinity/anti-affinity", "podAffinity"},
      {"2 node(s) didn't match pod topology spread constraints", "default constraints"},
      {"2 node(s) didn't match pod topology spread constraints (missing required label)",
       "default constraints"},
      {"2 node(s) didn't have free ports for the requested pod ports", "has the port"},
      {"2 node(s) were unschedulable", "kubectl uncordon"},
      {"2 node(s) were not ready", "until nodes are ready"},
      {"no nodes available to schedule pods", "has no node"},
      {"pod has unbound immediate PersistentVolumeClaims", "kubectl get pvc"},
      {"persistentvolumeclaim \"models\" not found", "kubectl get pvc"},
      {"2 node(s) had volume node affinity conflict", "bound to other nodes"},
      {"2 node(s) had no available volume zone", "another zone"},
      {"2 node(s) exceed max volume count", "as many volumes as they can"},
      {"2 node(s) didn't find available persistent volumes to bind", "add a volume"},
      {"2 node(s) did not have enough free storage", "has no room"},
      {"2 node(s) had no available disk", "attached elsewhere"},
      {"2 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", "is gone"},
      {"2 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access "
       "mode",
       "workers.max to 1"},
      {"waiting for ephemeral volume controller to create the persistentvolumeclaim", "pvc"},
      {"2 cannot allocate all claims", "no device is free"},
      {"resourceclaim \"gpu\" not found", "resourceclaims"},
      {"Scheduling is blocked due to non-empty scheduling gates", "scheduling gate"},
      {"FailedCreate: pods is forbidden: exceeded quota: q", "quota raised"},
      {"FailedCreate: pods is forbidden: failed quota: q: must specify limits.memory",
       "state resources.memory"},
      {"FailedCreate: pods is forbidden: violates PodSecurity \"restricted\"", "host paths"},
      {"FailedCreate: pods is forbidden: error looking up service account lab/x: serviceaccount "
       "\"x\" not found",
       "kubernetes.service_account"},
      {"FailedCreate: pods is forbidden: no PriorityClass with name x was found",
       "kubernetes.priority_class"},
      {"FailedCreate: pods is forbidden: pod rejected: RuntimeClass \"x\" not found",
       "kubernetes.runtime_class"},
      {"FailedCreate: Internal error occurred: failed calling webhook \"x\"", "does not answer"},
      {"InvalidImageName: couldn't parse", "correct kubernetes.image"},
      {"ErrImageNeverPull: not present", "kubernetes.image_pull_policy"},
      {"ErrImagePull: not found", "kubernetes.image_pull_secrets"},
      {"ImagePullBackOff: Back-off", "kubernetes.image_pull_secrets"},
      {"CreateContainerConfigError: secret", "kubernetes.volumes"},
      {"CreateContainerError: x", "kubectl describe pod"},
      {"RunContainerError: x", "kubectl describe pod"}};
  for (const RemedyCase& c : cases) {
    const std::string text = WithKubeRemedies(absl::StrCat("0/2 nodes are available: ", c.message));
    const size_t end = text.find(c.message) + std::string(c.message).size();
    EXPECT_THAT(text.substr(end), HasSubstr(c.remedy)) << c.message;
  }
  EXPECT_EQ(WithKubeRemedies("something new"), "something new");
  EXPECT_EQ(WithKubeRemedies("1 Insufficient cpu, 2 Insufficient cpu"),
            "1 Insufficient cpu, 2 Insufficient cpu; lower resources.cpus, or wait for nodes")
      << "each remedy once";
}

TEST(KubeObjectsTest, AJobThatEndedWithoutAPodSaysWhy) {
  const KubeJson job = Parse(
      R"({"metadata":{"name":"j","annotations":{"concur/pilot":"p-1"}},"status":{"conditions":[
          {"type":"Failed","status":"True","reason":"DeadlineExceeded","message":"Job was active longer","lastTransitionTime":"2023-11-14T22:13:20Z"}]}})");
  const PilotReport report = KubeReport(job, nullptr, "");
  EXPECT_EQ(report.state, kEnded);
  EXPECT_EQ(report.message, "DeadlineExceeded: Job was active longer");
  EXPECT_EQ(KubeEndTime(job), absl::FromUnixSeconds(1'700'000'000));
  EXPECT_EQ(KubeEndTime(Parse(R"({"status":{"conditions":"none"}})")), std::nullopt);
}

}  // namespace
}  // namespace concur::provision
