// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/neighbour_forest.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/random.h"

namespace concur::qa {
namespace {

constexpr size_t kTrees = 16;
constexpr uint32_t kLeafWords = 64;
constexpr int kDrawsOfPair = 4;
// Below this depth words are halved, so that no vectors make a tree deep.
constexpr int kDepthByPairMax = 64;

}  // namespace

NeighbourForest::NeighbourForest(const WordVectors& vectors) : vectors_(vectors) {
  CONCUR_CHECK(vectors.size() * kTrees < std::numeric_limits<uint32_t>::max());
  for (size_t tree = 0; tree < kTrees; ++tree) {
    Random random(0, absl::StrCat("neighbour tree ", tree));
    AddTree(random);
  }
}

void NeighbourForest::AddTree(Random& random) {
  const auto begin = static_cast<uint32_t>(order_.size());
  order_.resize(order_.size() + vectors_.size());
  std::iota(order_.begin() + begin, order_.end(), 0U);
  roots_.push_back(static_cast<uint32_t>(nodes_.size()));
  std::vector<std::pair<uint32_t, int>> undivided = {{roots_.back(), 0}};  // with their depths
  Node root;
  root.begin = begin;
  root.end = static_cast<uint32_t>(order_.size());
  nodes_.push_back(root);
  while (!undivided.empty()) {
    const auto [index, depth] = undivided.back();
    undivided.pop_back();
    Node node = nodes_[index];
    if (node.end - node.begin <= kLeafWords) {
      continue;
    }
    const uint32_t middle = Divide(node, depth < kDepthByPairMax, random);
    node.is_leaf = false;
    for (const auto& [from, to] : {std::pair(node.begin, middle), std::pair(middle, node.end)}) {
      node.below[from == node.begin ? 0 : 1] = static_cast<uint32_t>(nodes_.size());
      undivided.emplace_back(static_cast<uint32_t>(nodes_.size()), depth + 1);
      Node part;
      part.begin = from;
      part.end = to;
      nodes_.push_back(part);
    }
    nodes_[index] = node;
  }
}

uint32_t NeighbourForest::Divide(Node& node, bool by_pair, Random& random) {
  const uint32_t size = node.end - node.begin;
  for (int draw = 0; by_pair && draw < kDrawsOfPair; ++draw) {
    const uint32_t a = order_[node.begin + random.Below(size)];
    const uint32_t b = order_[node.begin + random.Below(size)];
    const double squared =
        double{1} * vectors_.Product(a, a) + vectors_.Product(b, b) - 2.0 * vectors_.Product(a, b);
    if (!(squared > 0)) {
      continue;
    }
    node.pair = {a, b};
    node.distance = std::sqrt(squared);
    const auto middle =
        std::stable_partition(order_.begin() + node.begin, order_.begin() + node.end,
                              [&](uint32_t word) { return Margin(node, word) > 0; });
    const auto place = static_cast<uint32_t>(middle - order_.begin());
    if (place > node.begin && place < node.end) {
      return place;
    }
  }
  node.pair = {0, 0};
  node.distance = 1;
  return node.begin + size / 2;
}

double NeighbourForest::Margin(const Node& node, uint32_t word) const {
  return (double{1} * vectors_.Product(word, node.pair[0]) - vectors_.Product(word, node.pair[1])) /
         node.distance;
}

std::vector<uint32_t> NeighbourForest::Near(uint32_t word, size_t count) const {
  // The branches not yet taken, by the least margin on the way to each; of equal ones the later
  // node first.
  std::priority_queue<std::pair<double, uint32_t>> branches;
  for (const uint32_t root : roots_) {
    branches.emplace(std::numeric_limits<double>::infinity(), root);
  }
  absl::flat_hash_set<uint32_t> found;
  while (!branches.empty() && found.size() < count) {
    const auto [margin, index] = branches.top();
    branches.pop();
    const Node& node = nodes_[index];
    if (node.is_leaf) {
      found.insert(order_.begin() + node.begin, order_.begin() + node.end);
      found.erase(word);
      continue;
    }
    const double to_first = Margin(node, word);
    branches.emplace(std::min(margin, to_first), node.below[0]);
    branches.emplace(std::min(margin, -to_first), node.below[1]);
  }
  std::vector<uint32_t> near(found.begin(), found.end());
  std::sort(near.begin(), near.end());
  return near;
}

}  // namespace concur::qa
