// SPDX-License-Identifier: Apache-2.0
// Registers layers under the names that originals give them, such as "_phrase_layer._module".
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_LAYERS_PATHS_H_
#define CONCUR_STUDIES_READERS_LAYERS_PATHS_H_

#include <torch/torch.h>

#include <memory>
#include <string>
#include <utility>

namespace concur::readers {

// The descendant of `parent` at a path of names joined by dots; modules are made where they are
// missing. `parent` itself for "".
inline torch::nn::Module& ModuleAt(torch::nn::Module& parent, const std::string& path) {
  if (path.empty()) {
    return parent;
  }
  const size_t dot = path.find('.');
  const std::string name = path.substr(0, dot);
  const auto children = parent.named_children();
  const std::shared_ptr<torch::nn::Module>* found = children.find(name);
  const std::shared_ptr<torch::nn::Module> child =
      found != nullptr ? *found
                       : parent.register_module(name, std::make_shared<torch::nn::Module>());
  return ModuleAt(*child, dot == std::string::npos ? "" : path.substr(dot + 1));
}

// `layer` as the descendant of `parent` at a path.
template <typename Layer>
Layer RegisterAt(torch::nn::Module& parent, const std::string& path, Layer layer) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? parent.register_module(path, std::move(layer))
                                  : ModuleAt(parent, path.substr(0, dot))
                                        .register_module(path.substr(dot + 1), std::move(layer));
}

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_LAYERS_PATHS_H_
