// SPDX-License-Identifier: Apache-2.0
// Programs that this machine lacks, by stand-ins with their documented command lines: Apptainer,
// micromamba and skopeo. And what becomes of builds that fail.
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/file.h"
#include "tests/worker/environments/environment_fixture.h"

namespace concur::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// apptainer [--quiet] exec [options] SANDBOX COMMAND…, as its documentation has it; the command
// runs outside, where --pwd says, with the variables APPTAINERENV_NAME alone.
constexpr char kApptainer[] = R"(#!/bin/sh
echo "$@" >> "$(dirname "$0")/calls"
[ "$1" = --quiet ] && shift
[ "$1" = exec ] || exit 255
shift
while :; do
  case $1 in
    --containall | --cleanenv | --no-home | --no-privs | --writable) shift ;;
    --pwd) cd "$2" || exit 255; shift 2 ;;
    --bind) [ -e "${2%%:*}" ] || exit 255; shift 2 ;;
    --*) echo "unknown option $1" >&2; exit 255 ;;
    *) break ;;
  esac
done
[ -d "$1" ] || exit 255
shift
env | sed -n 's/^APPTAINERENV_//p' > "$(dirname "$0")/variables"
exec env -i $(grep -v ' ' "$(dirname "$0")/variables") "$@"
)";

// micromamba create --yes --prefix PREFIX --file FILE.yml
constexpr char kMicromamba[] = R"(#!/bin/sh
[ "$1 $2 $3 $5" = "create --yes --prefix --file" ] || exit 2
case $6 in *.yml) ;; *) exit 2 ;; esac
grep -q broken "$6" && { echo "nothing provides broken 1.0"; exit 1; }
grep -q offline "$6" && { echo "Could not resolve host: Connection timed out"; exit 1; }
mkdir -p "$4/bin"
printf '#!/bin/sh\necho tool of conda in $CONDA_PREFIX\n' > "$4/bin/tool"
chmod +x "$4/bin/tool"
)";

// skopeo copy docker://IMAGE oci-archive:FILE
constexpr char kSkopeo[] = R"(#!/bin/sh
[ "$1 $2" = "copy docker://IMAGE" ] || { echo "no such image $2"; exit 1; }
cp "$(dirname "$0")/image.tar" "${3#oci-archive:}"
)";

class EnvironmentBuildersTest : public EnvironmentFixture {
 protected:
  void SetUp() override { ASSERT_OK(MakeDirectories(temp_.File("bin"))); }

  void Install(const std::string& name, const std::string& script) {
    const std::string path = temp_.File("bin/" + name);
    ASSERT_OK(WriteFileAtomically(path, script));
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  }
  void StartWithStandIns(const std::vector<std::string>& kinds) {
    std::map<std::string, std::string> base = process::BaseEnvironment();
    base["PATH"] = absl::StrCat(temp_.File("bin"), ":", base["PATH"]);
    Start(kinds, base);
  }
  JobOrder From(JobOrder order, EnvironmentKind kind, const std::string& file) {
    Environment& environment = order.environment.emplace();
    environment.kind = kind;
    environment.digest = transfer_.Add(file);
    return order;
  }
  JobResult RunConda(const std::string& file) {
    return Run(From(Train("tool; touch $2"), EnvironmentKind::kConda, file));
  }
};

TEST_F(EnvironmentBuildersTest, ApptainerIsCalledAsItsDocumentationSays) {
  if (!std::filesystem::exists(kBusybox)) {
    GTEST_SKIP() << "no " << kBusybox << " for a small root (package busybox-static)";
  }
  Install("apptainer", kApptainer);
  StartWithStandIns({"apptainer"});
  ASSERT_EQ(environments_->labels().at(kSandboxLabel), "apptainer") << environments_->missing()[0];
  MakeRoot();
  const JobResult result = Run(In(Train("cat $1; pwd; echo job $CONCUR_JOB; touch $2")));
  ASSERT_TRUE(result.succeeded) << result.message;
  const std::string directory = temp_.File("work/runs/s1-0-a1");
  EXPECT_THAT(LogOf(result), AllOf(HasSubstr("Where is Paris?"), HasSubstr(directory + "\n"),
                                   HasSubstr("job s1/0\n")));
  ASSERT_OK_AND_ASSIGN(const std::string calls, ReadFile(temp_.File("bin/calls")));
  EXPECT_THAT(calls, AllOf(HasSubstr(absl::StrCat("--bind ", directory, ":", directory, " ")),
                           HasSubstr(".jsonl"), HasSubstr(":ro ")));
  ASSERT_OK_AND_ASSIGN(const std::string variables, ReadFile(temp_.File("bin/variables")));
  EXPECT_THAT(variables, AllOf(HasSubstr("HOME=" + directory), Not(HasSubstr(temp_.File("bin")))));
}

TEST_F(EnvironmentBuildersTest, ACondaEnvironmentComesFirstOnThePath) {
  Install("micromamba", kMicromamba);
  StartWithStandIns({"conda"});
  EXPECT_TRUE(environments_->labels().contains("environment.conda"));
  const JobResult result = RunConda("dependencies: [tool]");
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_THAT(LogOf(result),
              HasSubstr(absl::StrCat("tool of conda in ", temp_.File("environments"))));
}

TEST_F(EnvironmentBuildersTest, AFailedBuildSaysWhyAndWhetherItIsWorthTryingAgain) {
  Install("micromamba", kMicromamba);
  StartWithStandIns({"conda"});
  const JobResult broken = RunConda("dependencies: [broken]");
  EXPECT_EQ(FailureClassName(broken.failure), "failed");
  EXPECT_THAT(broken.message,
              AllOf(HasSubstr("environment could not be built"), HasSubstr("exit code 1"),
                    HasSubstr("nothing provides broken 1.0")));
  EXPECT_EQ(FailureClassName(RunConda("dependencies: [offline]").failure), "temporary");
  // It does not take on an environment that it has nothing for; a coordinator would not give it.
  EXPECT_EQ(
      FailureClassName(Run(From(Train("touch $2"), EnvironmentKind::kRoot, "no tar")).failure),
      "worker");
}

TEST_F(EnvironmentBuildersTest, AnImageOfARegistryIsFetchedOnce) {
  if (!std::filesystem::exists(kBusybox)) {
    GTEST_SKIP() << "no " << kBusybox << " for a small root (package busybox-static)";
  }
  MakeRoot();
  const std::string layout = temp_.File("layout");
  ASSERT_OK(MakeDirectories(layout + "/blobs/sha256"));
  const auto add = [&](const std::string& contents) {
    const std::string digits = Sha256Of(contents).ToHex();
    CONCUR_CHECK_OK(WriteFileAtomically(absl::StrCat(layout, "/blobs/sha256/", digits), contents));
    return absl::StrCat(R"({"digest": "sha256:)", digits, R"("})");
  };
  const std::string manifest =
      add(absl::StrCat(R"({"config": )", add(R"({"config": {"Env": ["OF_IMAGE=yes"]}})"),
                       R"(, "layers": [)", add(root_tar_), "]}"));
  ASSERT_OK(WriteFileAtomically(layout + "/index.json",
                                absl::StrCat(R"({"manifests": [)", manifest, "]}")));
  process::Command tar;
  tar.program = "/bin/tar";
  tar.argv = {"tar", "-C", layout, "-cf", temp_.File("bin/image.tar"), "."};
  tar.directory = layout;
  ASSERT_OK(process::RunProgram(tar, {}).status());
  const std::string image = "registry.example/a@sha256:" + std::string(64, 'a');
  Install("skopeo", absl::StrReplaceAll(kSkopeo, {{"IMAGE", image}}));
  StartWithStandIns({"bubblewrap", "podman"});
  if (!environments_->labels().contains(kSandboxLabel)) {
    GTEST_SKIP() << environments_->missing()[0];
  }
  EXPECT_TRUE(environments_->labels().contains("environment.registry"));
  for (int i = 0; i < 2; ++i) {
    JobOrder order = Train("echo image $OF_IMAGE; touch $2");
    order.environment.emplace().kind = EnvironmentKind::kImage;
    order.environment->reference = image;
    const JobResult result = Run(order);
    ASSERT_TRUE(result.succeeded) << result.message;
    EXPECT_EQ(LogOf(result), "image yes\n");
    std::filesystem::remove(temp_.File("bin/image.tar"));  // nothing is fetched again
  }
}

}  // namespace
}  // namespace concur::worker
