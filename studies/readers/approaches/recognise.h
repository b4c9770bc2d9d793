// SPDX-License-Identifier: Apache-2.0
// Finds the approach that an original's weights belong to.
//
// Thread-safe (stateless).
#ifndef CONCUR_STUDIES_READERS_APPROACHES_RECOGNISE_H_
#define CONCUR_STUDIES_READERS_APPROACHES_RECOGNISE_H_

#include <nlohmann/json_fwd.hpp>

#include "studies/readers/approaches/approach.h"
#include "studies/readers/files/safetensors.h"

namespace concur::readers {

// The approach all of whose signs are keys of the configuration, an object, or begin the names of
// weights; of several the one with most signs. nullptr when there is none.
const Approach* RecogniseApproach(const nlohmann::json& config, const SafeTensors& weights);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_APPROACHES_RECOGNISE_H_
