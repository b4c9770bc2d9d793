// SPDX-License-Identifier: Apache-2.0
// A real request for every method of the services, and that none was forgotten.
#include <google/protobuf/descriptor.h>
#include <grpcpp/client_context.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "concur/v1/coordinator.pb.h"
#include "concur/v1/worker.pb.h"
#include "proto/rpc/convert_sweep.h"
#include "tests/coordinator/server/server_fixture.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

class MethodsTest : public ServerTest {
 protected:
  using Users = v1::Coordinator::Stub;

  // The answer to a call, which must succeed and be authenticated once.
  template <typename Stub, typename Request, typename Response>
  Response Call(Stub& stub,
                grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                const Request& request) {
    const int64_t before = server().access_for_test().authentications_for_test();
    grpc::ClientContext context;
    Response response;
    const grpc::Status status = (stub.*method)(&context, request, &response);
    EXPECT_TRUE(status.ok()) << Request::descriptor()->name() << ": " << status.error_message();
    EXPECT_EQ(server().access_for_test().authentications_for_test(), before + 1);
    return response;
  }

  // The message of a call of a user's that must fail.
  template <typename Request, typename Response>
  std::string Fail(grpc::Status (Users::*method)(grpc::ClientContext*, const Request&, Response*),
                   const Request& request) {
    grpc::ClientContext context;
    Response response;
    const grpc::Status status = (client().*method)(&context, request, &response);
    EXPECT_FALSE(status.ok()) << Request::descriptor()->name();
    return status.error_message();
  }

  template <typename Request>
  static Request OfSweep(const std::string& sweep) {
    Request request;
    request.set_sweep(sweep);
    return request;
  }
  template <typename Request>
  static Request OfPool(const std::string& pool) {
    Request request;
    request.set_pool(pool);
    return request;
  }

  template <typename Stub>
  std::string Download(Stub& stub, const Digest& digest) {
    v1::DownloadArtifactRequest request;
    request.set_digest(digest.ToBytes());
    grpc::ClientContext context;
    const auto reader = stub.DownloadArtifact(&context, request);
    return ReadAll<v1::DownloadArtifactResponse>(*reader);
  }
  template <typename Response>
  static std::string ReadAll(grpc::ClientReader<Response>& reader) {
    std::string data;
    for (Response piece; reader.Read(&piece);) {
      data += piece.data();
    }
    const grpc::Status status = reader.Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return data;
  }
};

TEST_F(MethodsTest, SweepsAreListedPausedResumedCanceledAndDeleted) {
  const std::string first = Submit(Spec("a", 1));
  const std::string second = Submit(Spec("b", 1));
  v1::ListSweepsRequest list;
  list.set_page_size(1);
  list.set_owner("ada");
  std::vector<std::string> names;
  do {
    const auto page = Call(client(), &Users::ListSweeps, list);
    ASSERT_THAT(page.sweeps(), SizeIs(1));
    names.push_back(page.sweeps(0).name());
    list.set_page_token(page.next_page_token());
  } while (!list.page_token().empty());
  EXPECT_THAT(names, ElementsAre("of-b", "of-a"));

  EXPECT_EQ(Call(client(), &Users::PauseSweep, OfSweep<v1::PauseSweepRequest>(first)).state(),
            v1::Sweep::STATE_PAUSED);
  Sync(absl::ZeroDuration());
  EXPECT_EQ(running(), 2u) << "those of the other sweep alone";
  EXPECT_EQ(Call(client(), &Users::ResumeSweep, OfSweep<v1::ResumeSweepRequest>(first)).state(),
            v1::Sweep::STATE_ACTIVE);
  auto change = OfSweep<v1::SetPriorityRequest>(first);
  change.set_priority(4);
  EXPECT_EQ(Call(client(), &Users::SetPriority, change).priority(), 4);
  EXPECT_EQ(Call(client(), &Users::GetSweep, OfSweep<v1::GetSweepRequest>(first)).priority(), 4);
  auto budget = OfSweep<v1::SetBudgetRequest>(first);
  budget.set_usd(2.5);
  EXPECT_EQ(Call(client(), &Users::SetBudget, budget).budget_usd(), 2.5);
  EXPECT_EQ(Call(client(), &Users::GetSweep, OfSweep<v1::GetSweepRequest>(first)).budget_usd(),
            2.5);
  for (const double usd : {0.0, -1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    budget.set_usd(usd);
    v1::Sweep ignored;
    grpc::ClientContext context;
    const grpc::Status refused = client().SetBudget(&context, budget, &ignored);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << usd;
    EXPECT_THAT(refused.error_message(), HasSubstr("usd: expected more than 0"));
  }
  EXPECT_EQ(Call(client(), &Users::CancelSweep, OfSweep<v1::CancelSweepRequest>(first)).state(),
            v1::Sweep::STATE_CANCELED);
  Call(client(), &Users::DeleteSweep, OfSweep<v1::DeleteSweepRequest>(first));
  list = {};
  const auto left = Call(client(), &Users::ListSweeps, list);
  ASSERT_THAT(left.sweeps(), SizeIs(1));
  EXPECT_EQ(left.sweeps(0).id(), second);
}

// The tutorial's first submission warned of no worker while both of `concur up` were starting.
TEST_F(MethodsTest, ASweepWithoutAnyWorkerIsAWarningOnceTheyHadTimeToStart) {
  v1::CreateSweepRequest request;
  *request.mutable_spec() = rpc::ToProto(Spec("a", 1));
  request.set_request_id("check");
  request.set_validate_only(true);
  EXPECT_THAT(Call(client(), &Users::CreateSweep, request).warnings(), SizeIs(0));
  options_.limits.workers_expected = absl::ZeroDuration();
  Restart();
  EXPECT_THAT(Call(client(), &Users::CreateSweep, request).warnings(),
              ElementsAre("no worker is live: jobs wait until one joins"));
}

// `sweep get s1` showed another sweep than the one named so.
TEST_F(MethodsTest, ASweepWhoseNameLooksLikeAnIdIsRefused) {
  SweepSpec spec = Spec("a", 1);
  spec.name = "s1";
  v1::CreateSweepRequest request;
  *request.mutable_spec() = rpc::ToProto(spec);
  request.set_request_id("r");
  v1::CreateSweepResponse response;
  grpc::ClientContext context;
  const grpc::Status status = client().CreateSweep(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(),
              HasSubstr("spec.name: expected a name that does not look like the id of a sweep"));
}

TEST_F(MethodsTest, ASweepSaysTheSizesThatItsFilesHave) {
  SweepSpec spec = Spec("a", 1);
  spec.benchmarks[0].test->bytes += 1;
  v1::CreateSweepRequest request;
  *request.mutable_spec() = rpc::ToProto(spec);
  request.set_request_id("r");
  v1::CreateSweepResponse response;
  grpc::ClientContext context;
  const grpc::Status status = client().CreateSweep(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("size_bytes: expected"));
}

TEST_F(MethodsTest, ASuccessCountsOnlyWithArtifactsThatAreStored) {
  v1::GetJobRequest get;
  get.set_job(Submit(Spec("a", 1)) + "/0");
  v1::Artifact& artifact = *result_.add_artifacts();
  artifact.set_kind(v1::Artifact::KIND_PREDICTIONS);
  artifact.set_digest(Sha256Of("predictions").ToBytes());
  artifact.set_size_bytes(1);
  Sync(absl::ZeroDuration());
  Sync(absl::Seconds(1));
  const v1::Job failed = Call(client(), &Users::GetJob, get);
  ASSERT_THAT(failed.attempts(), SizeIs(1));
  EXPECT_EQ(failed.attempts(0).result().failure(), v1::FAILURE_CLASS_WORKER);
  EXPECT_THAT(failed.attempts(0).result().message(), HasSubstr("not stored: predictions"));

  Upload("predictions");
  get.set_job(Submit(Spec("b", 1)) + "/0");
  RunAll(absl::Seconds(1));
  const v1::Job counted = Call(client(), &Users::GetJob, get);
  EXPECT_EQ(counted.state(), v1::Job::STATE_SUCCEEDED);
  ASSERT_THAT(counted.result().artifacts(), SizeIs(1));
  EXPECT_EQ(counted.result().artifacts(0).size_bytes(), 11) << "and not what the worker said";
}

TEST_F(MethodsTest, ResultsAreImportedOnceAndShowTheirSource) {
  v1::ImportSweepRequest request;
  request.set_request_id("r");
  SweepSpec spec = testing::ImportedSweep();
  spec.imported.reset();
  *request.mutable_spec() = rpc::ToProto(spec);
  v1::ImportedResult& imported = *request.add_results();
  imported.set_job(4);
  imported.mutable_result()->set_succeeded(true);
  imported.mutable_result()->set_message("{\"file\":\"results.json\"}");
  v1::Metric& metric = *imported.mutable_result()->add_metrics();
  metric.set_name("acc,none");
  metric.set_value(0.25);
  const std::string scores = "{\"id\":\"q\",\"f1\":100}\n";
  const Digest examples = Upload(scores);
  v1::Artifact& artifact = *imported.mutable_result()->add_artifacts();
  artifact.set_kind(v1::Artifact::KIND_EXAMPLES);
  artifact.set_digest(examples.ToBytes());
  artifact.set_size_bytes(static_cast<int64_t>(scores.size()));
  const auto sweep = Call(client(), &Users::ImportSweep, request).sweep();
  EXPECT_EQ(sweep.state(), v1::Sweep::STATE_SUCCEEDED);
  EXPECT_EQ(sweep.counts().succeeded(), 1u);
  EXPECT_EQ(sweep.counts().canceled(), 5u);
  EXPECT_EQ(Call(client(), &Users::ImportSweep, request).sweep().id(), sweep.id());
  v1::GetJobRequest get;
  get.set_job(sweep.id() + "/4");
  const v1::Job job = Call(client(), &Users::GetJob, get);
  EXPECT_EQ(job.approach(), "org/m 2");
  EXPECT_EQ(job.test_benchmark(), "t2");
  EXPECT_THAT(job.explanation(), HasSubstr("imported, not run here: {\"file\":\"results.json\"}"));
  v1::GetSweepRequest with_spec;
  with_spec.set_sweep(sweep.id());
  with_spec.set_include_spec(true);
  EXPECT_EQ(Call(client(), &Users::GetSweep, with_spec).spec().imported().size(), 32u);

  const auto refused = [&](const v1::ImportSweepRequest& bad, grpc::StatusCode code,
                           const std::string& why) {
    grpc::ClientContext context;
    v1::CreateSweepResponse response;
    const grpc::Status status = client().ImportSweep(&context, bad, &response);
    EXPECT_EQ(status.error_code(), code) << why;
    EXPECT_THAT(status.error_message(), HasSubstr(why));
  };
  v1::ImportSweepRequest bad = request;
  bad.mutable_results(0)->mutable_result()->mutable_metrics(0)->set_value(0.5);
  refused(bad, grpc::StatusCode::INVALID_ARGUMENT, "with another spec");
  bad = request;
  bad.set_request_id("");
  refused(bad, grpc::StatusCode::INVALID_ARGUMENT, "request_id: expected 1 to 200 bytes");
  bad = request;
  bad.mutable_spec()->set_imported(std::string(32, 'x'));
  refused(bad, grpc::StatusCode::INVALID_ARGUMENT, "spec.imported: expected none");
  bad = request;
  bad.mutable_results(0)->set_job(6);
  refused(bad, grpc::StatusCode::INVALID_ARGUMENT, "results[0].job");
  bad = request;
  bad.set_request_id("other");
  bad.mutable_results(0)->mutable_result()->mutable_artifacts(0)->set_digest(
      Sha256Of("missing").ToBytes());
  refused(bad, grpc::StatusCode::FAILED_PRECONDITION, "per-example scores of job 4");
  v1::CreateSweepRequest create;
  create.set_request_id("c");
  *create.mutable_spec() = rpc::ToProto(testing::ImportedSweep());
  grpc::ClientContext context;
  v1::CreateSweepResponse response;
  EXPECT_THAT(client().CreateSweep(&context, create, &response).error_message(),
              HasSubstr("spec.imported: expected none"));
}

TEST_F(MethodsTest, AJobIsExplainedAndRunAgain) {
  const std::string id = Submit(Spec("a", 1));
  RunAll(absl::Seconds(1));
  v1::GetJobRequest get;
  get.set_job(id + "/0");
  v1::Job job = Call(client(), &Users::GetJob, get);
  EXPECT_EQ(job.state(), v1::Job::STATE_SUCCEEDED);
  EXPECT_THAT(job.explanation(), HasSubstr("succeeded"));

  v1::RetryJobsRequest retry;
  retry.set_sweep(id);
  retry.add_jobs(0);
  retry.set_rerun_succeeded(true);
  EXPECT_EQ(Call(client(), &Users::RetryJobs, retry).retried(), 1u);
  job = Call(client(), &Users::GetJob, get);
  EXPECT_EQ(job.state(), v1::Job::STATE_READY);
}

TEST_F(MethodsTest, OneJobIsCanceledAndTheOthersGoOn) {
  const std::string id = Submit(Spec("a", 1));
  v1::CancelJobRequest cancel;
  cancel.set_job(id + "/0");
  for (int i = 0; i < 2; ++i) {  // safe to repeat
    EXPECT_EQ(Call(client(), &Users::CancelJob, cancel).state(), v1::Job::STATE_CANCELED);
  }
  v1::GetSweepRequest get;
  get.set_sweep(id);
  EXPECT_GE(Call(client(), &Users::GetSweep, get).counts().canceled(), 1u);
  cancel.set_job(id + "/9999");
  v1::Job job;
  grpc::ClientContext context;
  EXPECT_EQ(client().CancelJob(&context, cancel, &job).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(MethodsTest, ScoresComeInPages) {
  const std::string id = Submit(Spec("a", 3));
  RunAll(absl::Seconds(1));
  v1::ListScoresRequest list;
  list.set_sweep(id);
  list.set_page_size(4);
  list.set_metric("f1");
  const auto first = Call(client(), &Users::ListScores, list);
  list.set_page_token(first.next_page_token());
  const auto second = Call(client(), &Users::ListScores, list);
  EXPECT_EQ(second.next_page_token(), "");
  ASSERT_EQ(first.scores_size() + second.scores_size(), 6);
  EXPECT_EQ(first.scores(0).approach(), "a");
  EXPECT_EQ(first.scores(0).metric(), "f1");
  EXPECT_EQ(first.scores(0).value(), 50);
}

TEST_F(MethodsTest, AWorkerIsListedDrainedAndTakenBack) {
  Sync(absl::ZeroDuration());
  const auto list = Call(client(), &Users::ListWorkers, v1::ListWorkersRequest());
  ASSERT_THAT(list.workers(), SizeIs(1));
  EXPECT_EQ(list.workers(0).name(), "w");
  EXPECT_THAT(list.workers(0).notices(), ElementsAre("a mount cannot be removed"));
  v1::DrainWorkerRequest drain;
  drain.set_worker("w");
  EXPECT_EQ(Call(client(), &Users::DrainWorker, drain).state(), v1::Worker::STATE_DRAINING);
  Submit(Spec("a", 1));
  Sync(absl::ZeroDuration());
  EXPECT_EQ(running(), 0u);
  drain.set_undo(true);
  EXPECT_EQ(Call(client(), &Users::DrainWorker, drain).state(), v1::Worker::STATE_LIVE);
  Sync(absl::ZeroDuration());
  EXPECT_EQ(running(), 2u);
}

TEST_F(MethodsTest, ANamedResourceIsSetUsedListedAndDeleted) {
  SweepSpec spec = Spec("a", 1);
  spec.approaches[0].train_uses = {{"api", 1}};
  spec.approaches[0].predict_uses = {{"api", 1}};
  v1::CreateSweepRequest create;
  *create.mutable_spec() = rpc::ToProto(spec);
  create.set_request_id("r");
  for (const bool validate_only : {true, false}) {
    create.set_validate_only(validate_only);
    EXPECT_THAT(Fail(&Users::CreateSweep, create), HasSubstr("`concur resource set api N`"));
  }
  v1::SetResourceRequest set;
  set.set_name("api");
  set.set_amount(1'000'001);
  EXPECT_THAT(Fail(&Users::SetResource, set), HasSubstr("amount: expected 0 to 1000000"));
  set.set_amount(1);
  set.set_per_minute(-1);
  EXPECT_THAT(Fail(&Users::SetResource, set), HasSubstr("per_minute: expected 0 to 1000000"));
  set.set_per_minute(3000);
  EXPECT_EQ(Call(client(), &Users::SetResource, set).per_minute(), 3000);
  set.set_per_minute(0);
  EXPECT_EQ(Call(client(), &Users::SetResource, set).amount(), 1);
  Submit(spec);
  Sync(absl::ZeroDuration());
  EXPECT_EQ(running(), 1u);
  const auto list = Call(client(), &Users::ListResources, v1::ListResourcesRequest());
  ASSERT_THAT(list.resources(), SizeIs(1));
  EXPECT_EQ(list.resources(0).name(), "api");
  EXPECT_EQ(list.resources(0).in_use(), 1);
  v1::DeleteResourceRequest drop;
  drop.set_name("api");
  EXPECT_THAT(Fail(&Users::DeleteResource, drop), HasSubstr("has not ended"));
  set.set_name("unused");
  Call(client(), &Users::SetResource, set);
  drop.set_name("unused");
  Call(client(), &Users::DeleteResource, drop);
  EXPECT_THAT(Fail(&Users::DeleteResource, drop), HasSubstr("no resource \"unused\""));
}

TEST_F(MethodsTest, ASecretIsSetListedUsedAndDeletedAndNoCallReturnsItsValue) {
  SweepSpec spec = Spec("a", 1);
  spec.approaches[0].secrets["KEY"] = "openai";
  v1::CreateSweepRequest create;
  *create.mutable_spec() = rpc::ToProto(spec);
  create.set_request_id("r");
  EXPECT_THAT(Fail(&Users::CreateSweep, create), HasSubstr("concur secret set openai"));
  v1::SetSecretRequest set;
  set.set_name("openai");
  set.set_value("short");
  EXPECT_THAT(Fail(&Users::SetSecret, set), HasSubstr("value: expected one line"));
  set.set_value("sk-0123456789");
  EXPECT_EQ(Call(client(), &Users::SetSecret, set).name(), "openai");
  const auto list = Call(client(), &Users::ListSecrets, v1::ListSecretsRequest());
  ASSERT_THAT(list.secrets(), SizeIs(1));
  EXPECT_THAT(list.DebugString(), Not(HasSubstr("sk-0123456789")));
  Submit(spec);
  v1::DeleteSecretRequest drop;
  drop.set_name("openai");
  Call(client(), &Users::DeleteSecret, drop);
  EXPECT_THAT(Fail(&Users::DeleteSecret, drop), HasSubstr("no secret \"openai\""));
}

TEST_F(MethodsTest, APoolIsCreatedPausedResumedAndDeleted) {
  v1::CreatePoolRequest create;
  create.mutable_spec()->set_name("cpu");
  create.mutable_spec()->set_provider(v1::PoolSpec::PROVIDER_LOCAL);
  create.mutable_spec()->set_workers_max(1);
  create.mutable_spec()->mutable_resources()->set_cpu_millis(1000);
  EXPECT_EQ(Call(client(), &Users::CreatePool, create).spec().name(), "cpu");
  v1::PausePoolRequest pause;
  pause.set_pool("cpu");
  const auto paused = Call(client(), &Users::PausePool, pause);
  EXPECT_TRUE(paused.paused());
  EXPECT_EQ(paused.pause_reason(), "by ada");
  const auto pool = Call(client(), &Users::GetPool, OfPool<v1::GetPoolRequest>("cpu"));
  EXPECT_THAT(pool.explanation(), Contains(HasSubstr("paused")));
  EXPECT_FALSE(Call(client(), &Users::ResumePool, OfPool<v1::ResumePoolRequest>("cpu")).paused());
  EXPECT_THAT(Call(client(), &Users::ListPools, v1::ListPoolsRequest()).pools(), SizeIs(1));
  v1::DeletePoolRequest remove;
  remove.set_pool("cpu");
  remove.set_at_once(true);
  Call(client(), &Users::DeletePool, remove);
  EXPECT_THAT(Call(client(), &Users::ListPools, v1::ListPoolsRequest()).pools(), SizeIs(0));
}

TEST_F(MethodsTest, ChangesAreInTheAuditLogNewestFirst) {
  const std::string id = Submit(Spec("a", 1));
  Call(client(), &Users::PauseSweep, OfSweep<v1::PauseSweepRequest>(id));
  Call(client(), &Users::ResumeSweep, OfSweep<v1::ResumeSweepRequest>(id));
  v1::ListAuditEntriesRequest list;
  list.set_page_size(1);
  list.set_target(id);
  std::vector<std::string> methods;
  do {
    const auto page = Call(client(), &Users::ListAuditEntries, list);
    for (const v1::AuditEntry& entry : page.entries()) {
      methods.push_back(entry.method());
      EXPECT_EQ(entry.user(), "ada");
      EXPECT_EQ(entry.outcome(), "ok");
      EXPECT_TRUE(entry.has_time());
    }
    list.set_page_token(page.next_page_token());
  } while (!list.page_token().empty());
  EXPECT_THAT(methods, ElementsAre("ResumeSweep", "PauseSweep"));
  for (const auto& [size, token] : {std::pair(-1, ""), std::pair(1, "no-token")}) {
    list.set_page_size(size);
    list.set_page_token(token);
    grpc::ClientContext context;
    v1::ListAuditEntriesResponse response;
    EXPECT_EQ(client().ListAuditEntries(&context, list, &response).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST_F(MethodsTest, TheFleetsHistoryBeginsWithTheServer) {
  const auto history = Call(client(), &Users::GetFleetHistory, v1::GetFleetHistoryRequest());
  ASSERT_EQ(history.times_size(), 1) << "a sample as the server starts, the next one later";
  EXPECT_THAT(history.jobs_ready(), ElementsAre(0));
  EXPECT_THAT(history.workers_live(), ElementsAre(0));
  EXPECT_THAT(history.quarantines(), SizeIs(0));
}

TEST_F(MethodsTest, TheLogOfAnEndedJobIsRead) {
  const std::string log = "epoch 1\nepoch 2\n";
  v1::Artifact& artifact = *result_.add_artifacts();
  artifact.set_kind(v1::Artifact::KIND_LOG);
  artifact.set_digest(Upload(log).ToBytes());
  artifact.set_size_bytes(static_cast<int64_t>(log.size()));
  const std::string id = Submit(Spec("a", 1));
  RunAll(absl::Seconds(1));
  v1::ReadLogRequest request;
  request.set_job(id + "/0");
  request.set_offset(8);
  grpc::ClientContext context;
  const auto reader = client().ReadLog(&context, request);
  EXPECT_EQ(ReadAll<v1::ReadLogResponse>(*reader), "epoch 2\n");
}

TEST_F(MethodsTest, ArtifactsAreFoundAndDownloadedByUsersAndWorkers) {
  const Digest stored = Upload("stored");
  const Digest missing = Sha256Of("missing");
  v1::FindMissingArtifactsRequest find;
  find.add_digests(stored.ToBytes());
  find.add_digests(missing.ToBytes());
  EXPECT_THAT(Call(client(), &Users::FindMissingArtifacts, find).digests(),
              ElementsAre(missing.ToBytes()));
  v1::GetUploadOffsetRequest offset;
  offset.set_digest(stored.ToBytes());
  EXPECT_TRUE(Call(client(), &Users::GetUploadOffset, offset).stored());
  EXPECT_TRUE(Call(gateway(), &v1::WorkerGateway::Stub::GetUploadOffset, offset).stored());
  EXPECT_EQ(Download(client(), stored), "stored");
  EXPECT_EQ(Download(gateway(), stored), "stored");
}

// Methods that no test of this program calls are untested: the run fails.
class EveryMethodIsTested final : public ::testing::Environment {
 public:
  void TearDown() override {
    const ::testing::UnitTest& run = *::testing::UnitTest::GetInstance();
    if (run.test_to_run_count() < run.total_test_count() || run.failed_test_count() > 0) {
      return;  // a filter, or a failure that says more
    }
    for (const google::protobuf::FileDescriptor* file :
         {v1::CreateSweepRequest::descriptor()->file(), v1::SyncRequest::descriptor()->file()}) {
      for (int i = 0; i < file->service_count(); ++i) {
        for (int j = 0; j < file->service(i)->method_count(); ++j) {
          const std::string method =
              absl::StrCat(file->service(i)->full_name(), "/", file->service(i)->method(j)->name());
          EXPECT_TRUE(ServerTest::methods_answered().contains(method))
              << method << ": no test of tests/coordinator/server calls it with success";
        }
      }
    }
  }
};

[[maybe_unused]] const ::testing::Environment* const every_method_is_tested =
    ::testing::AddGlobalTestEnvironment(new EveryMethodIsTested);

}  // namespace
}  // namespace concur::testing
