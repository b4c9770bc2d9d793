// SPDX-License-Identifier: Apache-2.0
// An approximate index of word vectors: random projection trees. A tree divides the words by which
// of two of them, drawn at random, each is nearer to, again and again until few are together. A
// search descends all trees at once, the most promising branch first, and returns the words of the
// leaves that it comes to. Products are integers, and other numbers come from divisions and square
// roots alone, which IEEE 754 rounds in one way: the same words on every machine.
//
// Immutable and thread-safe.
#ifndef CONCUR_QA_BUILDERS_NEIGHBOUR_FOREST_H_
#define CONCUR_QA_BUILDERS_NEIGHBOUR_FOREST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "qa/builders/word_vectors.h"

namespace concur::qa {

class NeighbourForest {
 public:
  // `vectors` outlives the forest.
  explicit NeighbourForest(const WordVectors& vectors);

  // At least `count` other words that are probably near `word`, all others if there are fewer; in
  // increasing order.
  std::vector<uint32_t> Near(uint32_t word, size_t count) const;

 private:
  // An inner node has the words that are nearer to the first of `pair` below the first of `below`,
  // the others below the second. A leaf has the words from `begin` to `end` of `order_`.
  struct Node {
    std::array<uint32_t, 2> pair = {0, 0};
    std::array<uint32_t, 2> below = {0, 0};
    double distance = 0;  // the pair's
    uint32_t begin = 0;
    uint32_t end = 0;
    bool is_leaf = true;
  };

  void AddTree(Random& random);
  // Divides the words of a leaf; returns the place in `order_` where the second part begins. Sets
  // the node's pair unless no two different words were drawn, when it halves the words.
  uint32_t Divide(Node& node, bool by_pair, Random& random);
  // Margin by which `word` is nearer the first of the pair: distance from the plane between them.
  double Margin(const Node& node, uint32_t word) const;

  const WordVectors& vectors_;
  std::vector<uint32_t> order_;  // all words of each tree, one tree after the other
  std::vector<Node> nodes_;
  std::vector<uint32_t> roots_;
};

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_NEIGHBOUR_FOREST_H_
