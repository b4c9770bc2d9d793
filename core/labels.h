// SPDX-License-Identifier: Apache-2.0
// Labels: what a worker says of itself beside its resources, {"gpu": "a100", "site": "basement"},
// and what jobs ask of it.
//
// Pure functions.
#ifndef CONCUR_CORE_LABELS_H_
#define CONCUR_CORE_LABELS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "core/resources.h"

namespace concur {

inline constexpr size_t kTagsMax = 100;  // tags or labels of one thing
// A worker with this label, a number, takes only jobs that ask for so many GPUs or more. Pools with
// `accept: {gpus_min: N}` give it to their workers.
inline constexpr char kGpusMinLabel[] = "gpus_min";

using Labels = std::map<std::string, std::string>;

// Labels with this prefix say which environments (core/sweep/environment.h) a worker can build and
// run. A worker sets them itself, and approaches with an environment ask for them.
inline constexpr char kEnvironmentLabelPrefix[] = "environment.";
inline constexpr char kEnvironmentLabelValue[] = "yes";
// Runs roots and images, and gets images from registries.
inline constexpr char kRootLabel[] = "environment.root";
inline constexpr char kRegistryLabel[] = "environment.registry";
// Program that runs roots and images on a worker: "bubblewrap".
inline constexpr char kSandboxLabel[] = "environment.sandbox";
// Image of a job whose environment is an image of a registry. Workers that run in a container
// of it have the label, too, and take no other jobs; others that can get and run images do without.
inline constexpr char kImageLabel[] = "environment.image";
// In place of an image, of workers that a pool may start: of whatever image a job asks for, and of
// none that a job can ask for.
inline constexpr char kAnyImage[] = "any";
inline constexpr char kNoImage[] = "none";
// Marks workers that a pool may start: what they can run is known once they come. Stands for all.
inline constexpr char kAnyEnvironmentLabel[] = "environment.any";

// True if something that has `has` satisfies all of `wants`, and takes jobs that want no more.
bool LabelsMatch(const Labels& wants, const Labels& has);

// The number of kGpusMinLabel; 0 when it is absent or no number.
int32_t GpusMin(const Labels& has);
// True if a worker that has `has` takes jobs that ask for this, if they fit.
bool TakesRequest(const Labels& has, const Resources& resources, const Labels& wants);

// "gpu=a100 site=basement".
std::string LabelsText(const Labels& labels);
// "cpus 1, memory 1GiB, labels gpu=a100 site=basement": all that a job asks of a worker.
std::string RequestText(const Resources& resources, const Labels& labels);

}  // namespace concur

#endif  // CONCUR_CORE_LABELS_H_
