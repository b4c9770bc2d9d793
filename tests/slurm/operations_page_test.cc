// SPDX-License-Identifier: Apache-2.0
// "From zero to a sweep on Slurm" of docs/operations.md, typed as it stands there.
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/slurm/slurm_cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

struct PageBlock {
  std::string language;
  std::string text;
};

// The fenced blocks of the section with this heading, without their indentation.
std::vector<PageBlock> BlocksOf(const std::string& page, const std::string& heading) {
  std::vector<PageBlock> blocks;
  bool in_section = false;
  bool in_block = false;
  size_t indent = 0;
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    const absl::string_view text = absl::StripLeadingAsciiWhitespace(line);
    if (!in_block && absl::StartsWith(line, "## ")) {
      in_section = line == heading;
    } else if (in_section && absl::StartsWith(text, "```")) {
      in_block = !in_block;
      indent = line.size() - text.size();
      if (in_block) {
        blocks.push_back({std::string(text.substr(3)), ""});
      }
    } else if (in_block) {
      absl::StrAppend(&blocks.back().text, line.substr(std::min(indent, line.size())), "\n");
    }
  }
  return blocks;
}

// A network and a host name of one's own, so that the page's port is free and its host name leads
// to the loopback device. False when this user may not.
bool OwnNetwork() {
  if (unshare(CLONE_NEWNET | CLONE_NEWUTS) != 0 || sethostname("localhost", 9) != 0) {
    return false;
  }
  const FileDescriptor fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq up{};
  std::strcpy(up.ifr_name, "lo");  // NOLINT(clang-analyzer-security.insecureAPI.strcpy)
  up.ifr_flags = IFF_UP | IFF_RUNNING;
  // With loopback addresses alone, getaddrinfo finds no IPv4 (AI_ADDRCONFIG).
  ifreq address{};
  std::strcpy(address.ifr_name, "lo:1");  // NOLINT(clang-analyzer-security.insecureAPI.strcpy)
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(0x0afe0001);
  std::memcpy(&address.ifr_addr, &any, sizeof any);
  return ioctl(fd.get(), SIOCSIFFLAGS, &up) == 0 && ioctl(fd.get(), SIOCSIFADDR, &address) == 0;
}

class OperationsPageTest : public ::testing::Test {
 protected:
  Output Sh(const std::string& commands, const std::string& scratch) {
    return Cluster::Run({"/bin/sh", "-ec", absl::StrCat("cd \"$HOME\"\n", commands)},
                        dir_.File(scratch), env_);
  }

  // A user's home beside the cluster.
  void Home(SlurmCluster& slurm) {
    env_ = slurm.Environment();
    env_["HOME"] = dir_.File("home");
    env_["XDG_DATA_HOME"] = "";
    env_["XDG_STATE_HOME"] = "";
    const std::string programs = Cluster::Binary("concur");
    env_["PATH"] = programs.substr(0, programs.rfind('/')) + ":/usr/bin:/bin";
    std::filesystem::create_directory(dir_.File("home"));
  }

  TempDir dir_;
  std::map<std::string, std::string> env_;
};

// It failed at its second step: for want of a CA and of a token.
TEST_F(OperationsPageTest, FromZeroToASweepOnSlurm) {
  if (const std::string missing = SlurmCluster::Missing(); !missing.empty()) {
    GTEST_SKIP() << missing;
  }
  if (!OwnNetwork()) {
    GTEST_SKIP() << "only root may have a network of its own";
  }
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  const std::string page =
      ReadFile(absl::StrCat(source == nullptr ? "." : source, "/docs/operations.md")).value_or("");
  const std::vector<PageBlock> blocks = BlocksOf(page, "## From zero to a sweep on Slurm");
  ASSERT_EQ(blocks.size(), 4u);
  ASSERT_EQ(blocks[0].language, "yaml");

  SlurmCluster slurm(2, 2);
  ASSERT_EQ(slurm.Start(), absl::OkStatus());
  Home(slurm);
  ASSERT_EQ(WriteFileAtomically(dir_.File("home/options.yaml"), blocks[0].text), absl::OkStatus());

  // bash becomes its last command, so that the coordinator ends with this process.
  const Process coordinator({"/bin/bash", "-ec", "cd \"$HOME\"\n" + blocks[1].text},
                            dir_.File("coordinator"), env_);
  ASSERT_TRUE(Eventually([&] {
    return std::filesystem::exists(dir_.File("home/.local/share/concur/address"));
  })) << ReadFile(dir_.File("coordinator.err")).value_or("");
  const Output sweep = Sh(blocks[2].text, "sweep");
  EXPECT_EQ(sweep.exit_code, 0) << sweep.out << sweep.err;
  const Output after = Sh(blocks[3].text, "after");
  EXPECT_EQ(after.exit_code, 0) << after.err;
  EXPECT_THAT(after.out, HasSubstr("cluster"));
}

TEST_F(OperationsPageTest, UpRunsASweepThroughSlurm) {
  if (const std::string missing = SlurmCluster::Missing(); !missing.empty()) {
    GTEST_SKIP() << missing;
  }
  if (!OwnNetwork()) {
    GTEST_SKIP() << "only root may have a network of its own";
  }
  SlurmCluster slurm(2, 2);
  ASSERT_EQ(slurm.Start(), absl::OkStatus());
  Home(slurm);
  const std::string up = "concur up --slurm default --cpus 2 --run study/study.yaml --max ";
  const Output first = Sh("concur init study\n" + up + "2", "first");
  EXPECT_EQ(first.exit_code, 0) << first.out << first.err;
  EXPECT_THAT(first.err, HasSubstr("0 here, up to 2 through Slurm"));
  const Output again = Sh(up + "2", "again");  // with the certificates and the pool of before
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  const Output left = Sh("squeue --noheader", "left");  // the pool went with the command
  EXPECT_THAT(left.out, IsEmpty());
}

}  // namespace
}  // namespace concur::testing
