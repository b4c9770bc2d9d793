// SPDX-License-Identifier: Apache-2.0
#include "cli/client/completion.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/client/client.h"
#include "cli/client/server_address.h"
#include "cli/output/render.h"
#include "concur/v1/coordinator.pb.h"

namespace concur::cli {
namespace {

using NamesAndMeanings = std::vector<std::pair<std::string, std::string>>;

constexpr size_t kNamesMax = 200;

// Names, then ids; the newest sweep of a name counts.
NamesAndMeanings SweepNames(Client& client, const std::string& suffix) {
  NamesAndMeanings names;
  NamesAndMeanings ids;
  std::set<std::string> seen;
  for (const v1::Sweep& sweep :
       client.ListSweeps("", kNamesMax).value_or(std::vector<v1::Sweep>())) {
    const std::string state = StateText(sweep.state());
    if (seen.insert(sweep.name()).second) {
      names.emplace_back(sweep.name() + suffix, state);
    }
    ids.emplace_back(sweep.id() + suffix, absl::StrCat(sweep.name(), ", ", state));
  }
  names.insert(names.end(), ids.begin(), ids.end());
  return names;
}

NamesAndMeanings JobNames(Client& client, const std::string& prefix) {
  const size_t slash = prefix.find('/');
  if (slash == std::string::npos) {
    return SweepNames(client, "/");
  }
  v1::ListJobsRequest request;
  request.set_sweep(prefix.substr(0, slash));
  NamesAndMeanings names;
  const auto add = [&](const v1::Job& job) {
    const std::string index = job.id().substr(job.id().find('/') + 1);
    names.emplace_back(absl::StrCat(request.sweep(), "/", index), StateText(job.state()));
    return true;
  };
  // Nothing is completed without a coordinator.
  client.ListJobs(request, kNamesMax, add).IgnoreError();
  return names;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> NamesOf(const CommandContext& context,
                                                         const std::string& type,
                                                         const std::string& prefix) {
  const absl::StatusOr<std::string> address = ServerAddress(context);
  const std::set<std::string> known = {"SWEEP", "JOB", "WORKER", "POOL"};
  if (known.count(type) == 0 || !address.ok()) {
    return {};
  }
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(*address, context.credentials);
  if (!client.ok()) {
    return {};
  }
  (*client)->set_patience(absl::ZeroDuration());
  if (type == "SWEEP") {
    return SweepNames(**client, "");
  }
  if (type == "JOB") {
    return JobNames(**client, prefix);
  }
  NamesAndMeanings names;
  if (type == "WORKER") {
    for (const v1::Worker& worker : (*client)->ListWorkers().value_or(std::vector<v1::Worker>())) {
      names.emplace_back(worker.name(), StateText(worker.state()));
    }
  } else if (type == "POOL") {
    const v1::ListPoolsResponse listed = (*client)->ListPools().value_or(v1::ListPoolsResponse());
    for (const v1::Pool& pool : listed.pools()) {
      names.emplace_back(pool.spec().name(), "");
    }
  }
  return names;
}

}  // namespace concur::cli
