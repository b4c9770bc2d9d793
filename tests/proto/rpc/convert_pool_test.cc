// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/convert_pool.h"

#include <functional>
#include <string>
#include <vector>

#include "tests/testing/test.h"

namespace concur::rpc {
namespace {

PoolSpec FullPool() {
  PoolSpec spec;
  spec.name = "cluster";
  spec.provider = ProviderKind::kSlurm;
  spec.workers_min = 1;
  spec.workers_max = 7;
  spec.resources = {2500, int64_t{3} << 30, 2};
  spec.labels = {{"rack", "b2"}};
  spec.time_limit = absl::Hours(3);
  spec.drain_margin = absl::Seconds(90);
  spec.idle_timeout = absl::Seconds(5);
  spec.start_timeout = absl::Minutes(2);
  spec.coordinator = "head:1";
  spec.worker_program = "/opt/w";
  spec.work_directory = "/scratch";
  spec.setup = {"a", "b"};
  spec.slurm = {"p", "a", "q", "c", {"--x"}, "/logs", 3};
  spec.kubernetes = {"ns",
                     "image",
                     "account",
                     {{"topology.kubernetes.io/zone", "z"}},
                     "amd.com/gpu",
                     {{"key", "value", "NoSchedule"}, {"other", "", ""}},
                     {{VolumeKind::kClaim, "claim", 0, "/data", "sub", true},
                      {VolumeKind::kMemory, "", 4096, "/dev/shm", "", false}},
                     {"pull"},
                     "batch",
                     "nvidia",
                     {{"kueue.x-k8s.io/queue-name", "lab"}},
                     {{"note", "any text: of it"}},
                     {{"HF_HOME", "/models"}},
                     "{\"nodeAffinity\":{}}",
                     "Always",
                     "registry/concur:1",
                     true};
  spec.command = {"/opt/lsf", {"-q", "short"}, "/home/u/.concur"};
  spec.gpus_min = 2;
  spec.env_pass = {"PYTHONPATH", "CUDA_*"};
  return spec;
}

TEST(ConvertPoolTest, EveryFieldComesBackAsItWas) {
  for (const PoolSpec& spec : {FullPool(), [] {
                                 PoolSpec plain;
                                 plain.name = "plain";
                                 return plain;
                               }()}) {
    ASSERT_OK_AND_ASSIGN(const PoolSpec again, FromProto(ToProto(spec)));
    EXPECT_TRUE(again == spec) << spec.name;
    ASSERT_OK_AND_ASSIGN(const PoolSpec decoded, DecodePool(EncodePool(spec)));
    EXPECT_TRUE(decoded == spec) << spec.name;
  }
}

TEST(ConvertPoolTest, PoolsThatBreakARuleAreRefusedWithTheFieldsPath) {
  struct Case {
    const char* message;
    std::function<void(v1::PoolSpec&)> break_it;
  };
  const std::vector<Case> cases = {
      {"spec.provider: ", [](v1::PoolSpec& p) { p.clear_provider(); }},
      {"spec.provider: ",
       [](v1::PoolSpec& p) { p.set_provider(static_cast<v1::PoolSpec::Provider>(9)); }},
      {"spec.resources: expected", [](v1::PoolSpec& p) { p.clear_resources(); }},
      {"spec.resources", [](v1::PoolSpec& p) { p.mutable_resources()->set_gpus(-1); }},
      {"spec.name: ", [](v1::PoolSpec& p) { p.set_name("../x"); }},
      {"spec.workers.max: ", [](v1::PoolSpec& p) { p.set_workers_max(0); }},
      {"spec.time_limit", [](v1::PoolSpec& p) { p.mutable_time_limit()->set_seconds(-1); }},
      {"spec.setup[0]: ", [](v1::PoolSpec& p) { p.set_setup(0, "a\nb"); }},
      {"spec.slurm.arguments[0]: ",
       [](v1::PoolSpec& p) { p.mutable_slurm()->set_arguments(0, "--array=1-9"); }},
  };
  for (const Case& c : cases) {
    v1::PoolSpec proto = ToProto(FullPool());
    c.break_it(proto);
    EXPECT_THAT(FromProto(proto),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)))
        << c.message;
  }
}

TEST(ConvertPoolTest, DamagedBytesAreDataLoss) {
  EXPECT_THAT(DecodePool("\x01\x02\xff"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not a pool")));
  EXPECT_THAT(DecodePool(""), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("pool.")));
}

}  // namespace
}  // namespace concur::rpc
