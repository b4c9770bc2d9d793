// What a program says of a command line that it cannot take.
#ifndef CONCUR_BASE_USAGE_H_
#define CONCUR_BASE_USAGE_H_

#include "absl/strings/str_cat.h"

namespace concur {

// Has `app`, a CLI::App, name itself and its help along with the problem. (A template, so that the
// parser's large header stays out of here.)
template <typename App>
void NameUsageErrors(App& app) {
  app.failure_message([](const App* failed, const auto& error) {
    return absl::StrCat(failed->get_name(), ": ", error.what(), "; see ", failed->get_name(),
                        " --help\n");
  });
}

}  // namespace concur

#endif  // CONCUR_BASE_USAGE_H_
