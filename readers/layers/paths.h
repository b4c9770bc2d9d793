// SPDX-License-Identifier: Apache-2.0
// Registers layers under the names that AllenNLP gives them, such as "_phrase_layer._module".
//
// Thread-compatible.
#ifndef CONCUR_READERS_LAYERS_PATHS_H_
#define CONCUR_READERS_LAYERS_PATHS_H_

#include <torch/torch.h>

#include <memory>
#include <string>
#include <utility>

namespace concur::readers {

// `layer` as the descendant of `parent` at a path of names joined by dots; the modules between are
// made where they are missing.
template <typename Layer>
Layer RegisterAt(torch::nn::Module& parent, const std::string& path, Layer layer) {
  const size_t dot = path.find('.');
  if (dot == std::string::npos) {
    return parent.register_module(path, std::move(layer));
  }
  const std::string name = path.substr(0, dot);
  const auto children = parent.named_children();
  const std::shared_ptr<torch::nn::Module>* found = children.find(name);
  const std::shared_ptr<torch::nn::Module> child =
      found != nullptr ? *found
                       : parent.register_module(name, std::make_shared<torch::nn::Module>());
  return RegisterAt(*child, path.substr(dot + 1), std::move(layer));
}

}  // namespace concur::readers

#endif  // CONCUR_READERS_LAYERS_PATHS_H_
