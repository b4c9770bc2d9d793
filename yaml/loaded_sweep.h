// SPDX-License-Identifier: Apache-2.0
// A sweep as it was read from YAML: its specification, and where each part of it stands in the
// files.
//
// A value.
#ifndef CONCUR_YAML_LOADED_SWEEP_H_
#define CONCUR_YAML_LOADED_SWEEP_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/sweep/sweep.h"
#include "yaml/benchmark_yaml.h"
#include "yaml/code_files.h"

namespace concur::spec {

struct LoadedSweep {
  // Data files without digest and size until ResolveDataFiles, files of environments until
  // ResolveEnvironments, code without files until ResolveCode.
  SweepSpec spec;
  // Warnings about valid but probably unintended settings, each with its position.
  std::vector<std::string> warnings;
  // The benchmarks that are left out since their optional test file is not there, each a message
  // with its position.
  std::vector<std::string> left_out;
  Places places;  // core's path of a field ("approaches[2].version") → "FILE:LINE:COL: FIELD: "

  struct FileUse {
    uint32_t benchmark = 0;
    bool is_train = false;
    DataFileUse use;
  };
  std::vector<FileUse> files;

  // A validation set that is cut from a train file once the data are read
  // (cli/sweep/made_files.h): until then neither has a FileUse of its own but the uncut train file.
  struct HeldOut {
    uint32_t benchmark = 0;   // whose train file is cut
    uint32_t validation = 0;  // the benchmark that is its validation set
    double share = 0;
    uint64_t seed = 0;
    std::string place;
  };
  std::vector<HeldOut> held_out;

  // Benchmarks whose test files are made of their parameters; until then they have no FileUse.
  std::vector<uint32_t> made_of_parameters;

  // A benchmark whose train and test set a builder makes once the data are read; until then it has
  // no FileUse.
  struct Built {
    uint32_t benchmark = 0;
    std::string builder;
    uint64_t seed = 1;
    std::map<std::string, std::string> parameters = {};
    std::string place = {};
  };
  std::vector<Built> built;

  struct CodeOf {
    uint32_t approach = 0;
    CodeUse use;
    std::vector<std::string> files = {};  // below use.root; set by ResolveCode
    bool of_predict = false;              // ApproachSpec::predict_code
  };
  std::vector<CodeOf> codes;

  // Folder of the file that describes each approach.
  std::vector<std::string> approach_folders;
};

}  // namespace concur::spec

#endif  // CONCUR_YAML_LOADED_SWEEP_H_
