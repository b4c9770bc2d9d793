// Where a coordinator's data lies: a directory, and object storage for the artifacts when the
// options say so.
#ifndef CONCUR_COORDINATOR_DATA_PLACE_H_
#define CONCUR_COORDINATOR_DATA_PLACE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "store/artifact_store.h"
#include "store/s3_client.h"

namespace concur {

struct DataPlace {
  std::string directory;
  std::optional<s3::Options> s3;
};

// The artifacts of a data directory, which is made if needed. They are in one place only, and
// DIRECTORY/object-storage says which object storage that is: FailedPrecondition when the options
// say something else than what was done before, or when the storage's prefix is another
// coordinator's. Errors of the storage say what is to be mended. Outlived by `clock`.
absl::StatusOr<std::unique_ptr<ArtifactStore>> OpenArtifacts(Clock& clock, const DataPlace& place);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_DATA_PLACE_H_
