// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/method_table.h"

#include <google/protobuf/descriptor.h>

#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "concur/v1/coordinator.pb.h"
#include "concur/v1/worker.pb.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

// By gRPC path.
std::map<std::string, const google::protobuf::MethodDescriptor*> MethodsOfTheProtos() {
  std::map<std::string, const google::protobuf::MethodDescriptor*> methods;
  for (const google::protobuf::FileDescriptor* file :
       {v1::CreateSweepRequest::descriptor()->file(), v1::SyncRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int j = 0; j < file->service(i)->method_count(); ++j) {
        const google::protobuf::MethodDescriptor* method = file->service(i)->method(j);
        methods[absl::StrCat("/", file->service(i)->full_name(), "/", method->name())] = method;
      }
    }
  }
  return methods;
}

TEST(MethodTableTest, EveryMethodOfTheProtosIsListedOnceAndNoOtherIs) {
  const auto methods = MethodsOfTheProtos();
  EXPECT_GE(methods.size(), 22u);
  std::map<std::string, int> listed;
  for (const MethodRule& rule : MethodRules()) {
    EXPECT_EQ(++listed[std::string(rule.path)], 1) << rule.path << " is listed twice";
    EXPECT_TRUE(methods.contains(std::string(rule.path))) << rule.path << " is in no proto";
    EXPECT_EQ(FindMethodRule(rule.path), &rule);
  }
  for (const auto& [path, method] : methods) {
    EXPECT_TRUE(listed.contains(path))
        << path << " has no line in coordinator/access/method_table.cc";
  }
}

TEST(MethodTableTest, StreamsOfUsersAreLimitedPerPeerAndThoseOfWorkersAreNot) {
  for (const auto& [path, method] : MethodsOfTheProtos()) {
    const MethodRule* rule = FindMethodRule(path);
    ASSERT_NE(rule, nullptr) << path;
    const bool streams = method->client_streaming() || method->server_streaming();
    const StreamLimit expected = !streams ? StreamLimit::kNoStream
                                 : absl::StartsWith(path, "/concur.v1.Worker")
                                     ? StreamLimit::kUnlimited
                                     : StreamLimit::kPerPeer;
    EXPECT_EQ(rule->streams, expected) << path;
  }
}

TEST(MethodTableTest, NoViewerMayCallWhatIsAudited) {
  for (const MethodRule& rule : MethodRules()) {
    EXPECT_FALSE(rule.audited && rule.least == Role::kViewer) << rule.path;
  }
}

TEST(MethodTableTest, ANameIsThePathsLastPart) {
  EXPECT_EQ(FindMethodRule("/concur.v1.Coordinator/GetSweep")->name(), "GetSweep");
  EXPECT_EQ(FindMethodRule("/concur.v1.Coordinator/Format"), nullptr);
  EXPECT_EQ(FindMethodRule("GetSweep"), nullptr);
}

}  // namespace
}  // namespace concur
