// SPDX-License-Identifier: Apache-2.0
// concur-reader-check: compares readers with what their originals computed.
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "base/command/command.h"
#include "studies/readers/machine.h"
#include "studies/readers/training/commands.h"
#include "tests/studies/readers/check/check.h"

namespace concur::readers {
namespace {

constexpr int kExitConfiguration = 78;

void PrintError(const std::string& message) {
  std::fprintf(stderr, "concur-reader-check: %s\n", message.c_str());
}

int Check(const std::vector<std::string>& directories, const std::string& vocabularies,
          const Machine& machine, bool as_json) {
  const absl::StatusOr<torch::Device> device = Prepare(machine);
  const absl::StatusOr<Comparisons> comparisons =
      device.ok() ? CheckDirectories(directories, vocabularies, *device) : device.status();
  if (!comparisons.ok()) {
    PrintError(std::string(comparisons.status().message()));
    return ExitCodeOf(comparisons.status());
  }
  for (const std::string& message : comparisons->left_out) {
    PrintError("left out: " + message);
  }
  std::fputs((as_json ? CheckJson(*comparisons) : CheckText(*comparisons)).c_str(), stdout);
  return comparisons->ok() ? 0 : 1;
}

int Run(int argc, char** argv) {
  Command app(
      "Compares networks, tokenizers and windows with what their originals computed; exit code 1 "
      "when one is off.",
      "concur-reader-check");
  app.AddVersion();
  std::vector<std::string> directories;
  app.AddOption("DIR", directories, "Fixtures, or folders of them")->Required();
  std::string output = "table";
  app.AddOption("-o,--output", output, "Output: table or json")
      ->OneOf({"table", "json"})
      ->ShowDefault();
  Machine machine;
  machine.device = "cpu";
  app.AddOption("--device", machine.device, "auto, cpu or cuda:N")->ShowDefault();
  std::string vocabularies;
  app.AddOption("--vocabularies", vocabularies, "Folder of the tokenizers' files")
      ->TypeName("DIR")
      ->DefaultText("the fixture's, or tokenizers beside it");
  if (const std::optional<int> exit_status = app.Parse(argc, argv, kExitConfiguration)) {
    return *exit_status;
  }
  return Check(directories, vocabularies, machine, output == "json");
}

}  // namespace
}  // namespace concur::readers

int main(int argc, char** argv) {
  try {
    return concur::readers::Run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("concur-reader-check: out of memory\n", stderr);
    return 75;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "concur-reader-check: %s\n", error.what());
    return 1;
  }
}
