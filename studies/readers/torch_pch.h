// SPDX-License-Identifier: Apache-2.0
// torch's header takes 10 to 20 seconds: compiled once for every file of this folder.
#ifndef CONCUR_STUDIES_READERS_TORCH_PCH_H_
#define CONCUR_STUDIES_READERS_TORCH_PCH_H_

#include <torch/torch.h>

#include "base/pch.h"

#endif  // CONCUR_STUDIES_READERS_TORCH_PCH_H_
