// SPDX-License-Identifier: Apache-2.0
// The directory where a coordinator keeps its data, and clients on its machine find its address.
//
// Thread-safe while nobody changes the environment.
#ifndef CONCUR_BASE_DATA_DIRECTORY_H_
#define CONCUR_BASE_DATA_DIRECTORY_H_

#include <string>

namespace concur {

// $XDG_DATA_HOME/concur, else ~/.local/share/concur; where HOME is unset or empty, from the current
// directory. A relative XDG_DATA_HOME is ignored, as its specification says.
std::string DefaultDataDirectory();

}  // namespace concur

#endif  // CONCUR_BASE_DATA_DIRECTORY_H_
