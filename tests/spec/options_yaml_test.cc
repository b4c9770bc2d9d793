#include "spec/options_yaml.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace concur::spec {
namespace {

using ::concur::testing::StatusIs;
using ::testing::HasSubstr;

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
  testing::TempDir dir_;
};

TEST_F(OptionsTest, BadCoordinatorOptionsAreRefusedByField) {
  const std::vector<BadOptions> cases = {
      {"  listen: localhost\n", "o.yaml:4:11: spec.listen: expected an address HOST:PORT"},
      {"  listen: localhost:70000\n", "spec.listen: expected an address"},
      {"  listen: \":80\"\n", "spec.listen: expected an address"},
      {"  listen: \"::1:80\"\n", "spec.listen: expected an address"},
      {"  listen: http://a:80\n", "spec.listen: expected an address"},
      {"  lease: 1s\n", "spec.lease: expected a duration from 2s to 1h"},
      {"  lease: 10s\n", "expected sync_park_max below lease, got 20s and 10s"},
      {"  gc: {interval: 0s}\n", "spec.gc.interval: expected a duration from 1s"},
      {"  gc: {graze: 1h}\n", "spec.gc.graze: expected a known field, got \"graze\" (did you mean"},
      {"  limits: {sweeps_max: 0}\n", "spec.limits.sweeps_max: expected a whole number"},
      {"  limits: {artifact_bytes_max: 12}\n", "expected a size with a unit"},
      {"  pools: {name: a}\n", "spec.pools: expected a list"},
      {"  pools: [{name: a}]\n", "spec.pools[0]: expected the field \"max\""},
      {"  pools: [{name: a, max: {}}, {name: a, max: {}}]\n", "expected each pool once"},
      {"  owner: \"two words\"\n", "spec.owner: expected a name"},
      {"  data_directory: \"\"\n", "spec.data_directory: expected a path"},
      {"  worker: true\n", "spec.worker: expected a known field"},
      {"  tls: {certificate: a.pem}\n", "spec.tls: expected certificate and key together"},
      {"  tls: {client_ca: a.pem}\n", "spec.tls: expected certificate and key"},
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
      {"  slots: -1\n", "spec.slots: expected a whole number"},
      {"  resources: {gpus: 65}\n", "spec.resources.gpus: expected a whole number from 0 to 64"},
      {"  labels: {a: [1]}\n", "spec.labels.a: expected text, got a list"},
      {"  stop_grace: -1s\n", "spec.stop_grace: expected a duration"},
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
}

TEST_F(OptionsTest, ARelativeDirectoryStartsAtTheFile) {
  ASSERT_OK_AND_ASSIGN(const WorkerOptions options,
                       LoadWorkerOptions(Write("WorkerOptions", "  work_directory: jobs\n")));
  EXPECT_EQ(options.work_directory, dir_.File("jobs"));
}

TEST_F(OptionsTest, APoolLimitsOnlyWhatItStates) {
  ASSERT_OK_AND_ASSIGN(const CoordinatorOptions options,
                       LoadCoordinatorOptions(
                           Write("CoordinatorOptions", "  pools: [{name: a, max: {cpus: 4}}]\n")));
  const Resources& max = options.pools[0].max;
  EXPECT_TRUE((Resources{4000, int64_t{1} << 50, 0}.FitsIn(max)));
  EXPECT_FALSE((Resources{4001, 0, 0}.FitsIn(max)));
  EXPECT_FALSE((Resources{1000, 0, 1}.FitsIn(max))) << "GPUs are only where they are stated";
}

}  // namespace
}  // namespace concur::spec
