// SPDX-License-Identifier: Apache-2.0
// The systems that answer annotators on this machine, fetched if need be.
//
// Thread-compatible.
#ifndef CONCUR_CLI_PROGRAMS_CONCUR_ANNOTATE_TRAINED_SYSTEM_H_
#define CONCUR_CLI_PROGRAMS_CONCUR_ANNOTATE_TRAINED_SYSTEM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/app/context.h"
#include "cli/commands/data/annotate.h"
#include "studies/annotation/confinement.h"
#include "studies/annotation/system.h"

namespace concur::cli {

struct TrainedSystem {
  std::string digest;  // SHA-256 of the file, or of the folder's tar
  // `options` refers to it.
  std::unique_ptr<annotation::Confinement> confinement;
  annotation::SystemOptions options;
};

// The systems of flags.systems with the `serve` commands of flags.approaches: one for each, or one
// for all. A job's system is kept in flags.directory, and not fetched again. InvalidArgument for
// options that do not fit together;
// FailedPrecondition for a job that has no system, or one of another approach, and for a sandbox
// that does not work here. REQUIRES: the lock of flags.directory is held.
absl::StatusOr<std::vector<TrainedSystem>> FindTrainedSystems(const AnnotateFlags& flags,
                                                              CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_PROGRAMS_CONCUR_ANNOTATE_TRAINED_SYSTEM_H_
