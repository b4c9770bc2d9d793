// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/method_table.h"

#include <algorithm>
#include <iterator>

namespace concur {
namespace {

constexpr bool kAudited = true;
constexpr bool kNotAudited = false;
constexpr StreamLimit kNoStream = StreamLimit::kNoStream;

constexpr MethodRule kMethodRules[] = {
    {"/concur.v1.Coordinator/CreateSweep", Role::kSubmitter, kAudited},
    {"/concur.v1.Coordinator/ImportSweep", Role::kSubmitter, kAudited},
    {"/concur.v1.Coordinator/GetSweep", Role::kViewer, kNotAudited, kNoStream, PageUse::kGet},
    {"/concur.v1.Coordinator/ListSweeps", Role::kViewer, kNotAudited, kNoStream, PageUse::kGet},
    {"/concur.v1.Coordinator/PauseSweep", Role::kSubmitter, kAudited, kNoStream, PageUse::kPost},
    {"/concur.v1.Coordinator/ResumeSweep", Role::kSubmitter, kAudited, kNoStream, PageUse::kPost},
    {"/concur.v1.Coordinator/SetPriority", Role::kSubmitter, kAudited, kNoStream, PageUse::kPost},
    {"/concur.v1.Coordinator/SetBudget", Role::kSubmitter, kAudited, kNoStream, PageUse::kPost},
    {"/concur.v1.Coordinator/CancelSweep", Role::kSubmitter, kAudited, kNoStream, PageUse::kPost},
    {"/concur.v1.Coordinator/CancelJob", Role::kSubmitter, kAudited, kNoStream, PageUse::kPost},
    {"/concur.v1.Coordinator/DeleteSweep", Role::kSubmitter, kAudited, kNoStream, PageUse::kPost},
    {"/concur.v1.Coordinator/RetryJobs", Role::kSubmitter, kAudited, kNoStream, PageUse::kPost},
    {"/concur.v1.Coordinator/ListJobs", Role::kViewer, kNotAudited, kNoStream, PageUse::kGet},
    {"/concur.v1.Coordinator/GetJob", Role::kViewer, kNotAudited, kNoStream, PageUse::kGet},
    {"/concur.v1.Coordinator/WatchSweep", Role::kViewer, kNotAudited, StreamLimit::kPerPeer,
     PageUse::kUpdates},
    {"/concur.v1.Coordinator/ListWorkers", Role::kViewer, kNotAudited, kNoStream, PageUse::kGet},
    {"/concur.v1.Coordinator/GetFleetHistory", Role::kViewer, kNotAudited, kNoStream,
     PageUse::kGet},
    {"/concur.v1.Coordinator/ListDurations", Role::kViewer, kNotAudited, kNoStream, PageUse::kGet},
    {"/concur.v1.Coordinator/DrainWorker", Role::kAdmin, kAudited, kNoStream, PageUse::kPost},
    {"/concur.v1.Coordinator/ListResources", Role::kViewer, kNotAudited, kNoStream, PageUse::kGet},
    {"/concur.v1.Coordinator/SetResource", Role::kAdmin, kAudited, kNoStream, PageUse::kPost},
    {"/concur.v1.Coordinator/DeleteResource", Role::kAdmin, kAudited, kNoStream, PageUse::kPost},
    {"/concur.v1.Coordinator/ListPools", Role::kViewer, kNotAudited, kNoStream, PageUse::kGet},
    {"/concur.v1.Coordinator/GetPool", Role::kViewer, kNotAudited, kNoStream, PageUse::kGet},
    {"/concur.v1.Coordinator/CreatePool", Role::kAdmin, kAudited, kNoStream, PageUse::kPost},
    {"/concur.v1.Coordinator/PausePool", Role::kAdmin, kAudited, kNoStream, PageUse::kPost},
    {"/concur.v1.Coordinator/ResumePool", Role::kAdmin, kAudited, kNoStream, PageUse::kPost},
    {"/concur.v1.Coordinator/DeletePool", Role::kAdmin, kAudited, kNoStream, PageUse::kPost},
    {"/concur.v1.Coordinator/ListScores", Role::kViewer, kNotAudited, kNoStream, PageUse::kGet},
    {"/concur.v1.Coordinator/ReadLog", Role::kViewer, kNotAudited, StreamLimit::kPerPeer,
     PageUse::kEvents},
    {"/concur.v1.Coordinator/ListAuditEntries", Role::kAdmin, kNotAudited, kNoStream,
     PageUse::kGet},
    // For submitters: both keep the artifacts that they find from garbage collection.
    {"/concur.v1.Coordinator/FindMissingArtifacts", Role::kSubmitter},
    {"/concur.v1.Coordinator/GetUploadOffset", Role::kSubmitter},
    {"/concur.v1.Coordinator/UploadArtifact", Role::kSubmitter, kAudited, StreamLimit::kPerPeer},
    {"/concur.v1.Coordinator/DownloadArtifact", Role::kViewer, kNotAudited, StreamLimit::kPerPeer},
    {"/concur.v1.Coordinator/SetSecret", Role::kSubmitter, kAudited},
    {"/concur.v1.Coordinator/ListSecrets", Role::kSubmitter},
    {"/concur.v1.Coordinator/DeleteSecret", Role::kSubmitter, kAudited},
    // Audits only the first and the last call of each worker: coordinator/access/audit_target.h.
    {"/concur.v1.WorkerGateway/Sync", Role::kWorker, kAudited},
    {"/concur.v1.WorkerGateway/GetUploadOffset", Role::kWorker},
    // Not audited: workers upload results of jobs, which the database records.
    {"/concur.v1.WorkerGateway/UploadArtifact", Role::kWorker, kNotAudited,
     StreamLimit::kUnlimited},
    {"/concur.v1.WorkerGateway/DownloadArtifact", Role::kWorker, kNotAudited,
     StreamLimit::kUnlimited},
};

}  // namespace

absl::Span<const MethodRule> MethodRules() { return kMethodRules; }

const MethodRule* FindMethodRule(absl::string_view path) {
  const auto* found = std::find_if(std::begin(kMethodRules), std::end(kMethodRules),
                                   [path](const MethodRule& rule) { return rule.path == path; });
  return found == std::end(kMethodRules) ? nullptr : found;
}

}  // namespace concur
