// SPDX-License-Identifier: Apache-2.0
// A small neural reader similar to DrQA (Chen et al., 2017): learned word embeddings,
// passage words aligned to the question by attention, matching features, two convolutions instead
// of recurrent layers, and bilinear scores of the answer's start and end. Start and end are
// normalized together, over candidate spans.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "studies/approaches/approach.h"
#include "studies/approaches/candidates.h"
#include "studies/approaches/matching.h"
#include "studies/approaches/neural_layers.h"
#include "studies/approaches/training.h"

namespace concur::approaches {
namespace {

constexpr int64_t kFeatures = 27;           // features of a passage token
constexpr int64_t kQuestionFeatures = 5;    // features of a question token
constexpr int64_t kKinds = 12;              // kinds of questions
constexpr int64_t kWidth = 5;               // width of the first convolution
constexpr int64_t kInnerWidth = 3;          // width of the others
constexpr int32_t kQuestionTokensMax = 80;  // further ones are not read

struct Options {
  double lr = 0.002;
  int64_t epochs = 2;
  int32_t embedding = 16;
  int32_t hidden = 32;
  double dropout = 0.2;
  int32_t batch = 8;
  int32_t tokens_max = 8;
  int32_t embedding_bits = 14;
  bool features = true;  // matches, rarity and stop words as input; false: embeddings only
};

// One question with its passage, as input of the network.
struct Input {
  std::vector<size_t> words;     // embedding rows of the passage's tokens
  std::vector<size_t> suffixes;  // the same tokens' suffix rows
  Matrix features;               // kFeatures × passage tokens
  std::vector<size_t> question_words;
  std::vector<size_t> question_suffixes;
  Matrix question_features;  // kQuestionFeatures × question tokens
  int64_t kind = 0;
  std::vector<TokenSpan> candidates;
};

// Intermediate values of the forward pass, for the backward pass.
struct State {
  Matrix passage;         // embeddings
  Matrix question;        // embeddings
  Matrix aligned_source;  // relu(A * passage)
  Matrix aligned_target;  // relu(A * question)
  Matrix attention;       // question tokens × passage tokens
  Matrix mask;            // dropout, or empty
  Matrix padded_input;
  Matrix first;
  Matrix padded_first;
  Matrix both;  // outputs of the first and second convolution, stacked
  Matrix padded_question;
  Matrix question_hidden;
  Matrix question_attention;
  Vector summary;  // the question's
  Vector start;
  Vector end;
  std::vector<double> scores;  // one for each candidate
};

class Network {
 public:
  explicit Network(const Options& options)
      : o_(options), embeddings_(options.embedding, options.embedding_bits) {
    const int64_t d = o_.embedding;
    const int64_t h = o_.hidden;
    align_ = w_.Add(d, d);
    conv1_ = w_.Add(h, kWidth * (2 * d + kFeatures));
    bias1_ = w_.Add(h, 1);
    conv2_ = w_.Add(h, kInnerWidth * h);
    bias2_ = w_.Add(h, 1);
    question_conv_ = w_.Add(h, kInnerWidth * (d + kQuestionFeatures));
    question_bias_ = w_.Add(h, 1);
    question_weight_ = w_.Add(h, 1);
    kinds_ = w_.Add(h, kKinds);
    start_ = w_.Add(2 * h, h);
    start_bias_ = w_.Add(2 * h, 1);
    end_ = w_.Add(2 * h, h);
    end_bias_ = w_.Add(2 * h, 1);
    lengths_ = w_.Add(32, kKinds);
  }

  void Randomize(uint64_t seed) {
    Random random(seed, "weights");
    for (const Tensor& tensor : {align_, conv1_, conv2_, question_conv_, question_weight_, kinds_,
                                 start_, start_bias_, end_, end_bias_}) {
      w_.Randomize(tensor, random);
    }
    embeddings_.Randomize(random);
  }

  Input Read(const PassageText& passage, const qa::Question& question,
             const DocumentFrequency& frequency, int32_t tokens_max) const;
  // `dropout` is null except during training.
  void Forward(const Input& input, Random* dropout, State& state) const;
  // Adds the gradients, given those with respect to the candidates' scores.
  void Backward(const Input& input, const State& state, const std::vector<double>& gradient);

  void StartTraining() {
    w_.StartTraining();
    embeddings_.StartTraining();
  }
  void Step(int64_t step, int64_t examples) {
    constexpr double kNormMax = 5;
    const double count = static_cast<double>(examples);
    const double norm = std::sqrt(w_.GradientSquare() + embeddings_.GradientSquare()) / count;
    const auto scale = static_cast<float>((norm > kNormMax ? kNormMax / norm : 1) / count);
    w_.Step(static_cast<float>(o_.lr), scale, step);
    embeddings_.Step(static_cast<float>(o_.lr), scale, step);
  }
  void EndTraining() {
    w_.EndTraining();
    embeddings_.EndTraining();
  }

  void Save(ModelWriter& writer) const {
    w_.Save(writer);
    embeddings_.Save(writer);
  }
  void Load(ModelReader& reader) {
    w_.Load(reader);
    embeddings_.Load(reader);
  }

 private:
  Matrix Embed(const std::vector<size_t>& words, const std::vector<size_t>& suffixes) const {
    Matrix result = Matrix::Zero(o_.embedding, static_cast<int64_t>(words.size()));
    for (size_t i = 0; i < words.size(); ++i) {
      embeddings_.AddRow(words[i], result.col(static_cast<int64_t>(i)).data());
      embeddings_.AddRow(suffixes[i], result.col(static_cast<int64_t>(i)).data());
    }
    return result;
  }
  void EmbedBack(const std::vector<size_t>& words, const std::vector<size_t>& suffixes,
                 const Matrix& gradient) {
    for (size_t i = 0; i < words.size(); ++i) {
      embeddings_.AddGradient(words[i], gradient.col(static_cast<int64_t>(i)).data());
      embeddings_.AddGradient(suffixes[i], gradient.col(static_cast<int64_t>(i)).data());
    }
  }
  void ReadQuestion(const Input& input, State& state) const;
  // Returns the gradient with respect to the question's embeddings.
  Matrix QuestionBack(const Input& input, const State& state, const Vector& gradient);

  const Options o_;
  Weights w_;
  Embeddings embeddings_;
  Tensor align_, conv1_, bias1_, conv2_, bias2_, question_conv_, question_bias_, question_weight_,
      kinds_, start_, start_bias_, end_, end_bias_, lengths_;
};

Matrix PassageFeatures(const PassageText& passage, const QuestionText& question,
                       const Matching& matching) {
  const int32_t n = passage.size();
  Matrix features = Matrix::Zero(kFeatures, n);
  const double best = *std::max_element(matching.sentences.begin(), matching.sentences.end());
  const auto blank_neighbour = [&](int32_t i, int32_t offset) {
    const int32_t at = question.blank + offset;
    const int32_t token = i + offset;
    return token >= 0 && token < n && at >= 0 &&
           at < static_cast<int32_t>(question.tokens.size()) &&
           passage.tokens[static_cast<size_t>(token)].stem ==
               question.tokens[static_cast<size_t>(at)].stem;
  };
  for (int32_t i = 0; i < n; ++i) {
    const auto k = static_cast<size_t>(i);
    const Token& token = passage.tokens[k];
    const auto column = features.col(i).data();
    const auto flag = [](bool value) { return value ? 1.0F : 0.0F; };
    const auto near = [](int32_t gap) { return 1.0F / (1.0F + static_cast<float>(gap) / 3.0F); };
    for (const Token& other : question.tokens) {
      column[0] = std::max(column[0], flag(other.word == token.word));
    }
    column[1] = flag(matching.Matched(i));
    column[2] = matching.Matched(i)
                    ? static_cast<float>(
                          matching.terms[static_cast<size_t>(matching.term_of[k])].weight / 8)
                    : 0.0F;
    column[3] = matching.left[k] < 0 ? 0.0F : near(i - matching.left[k]);
    column[4] = matching.right[k] >= n ? 0.0F : near(matching.right[k] - i);
    column[5] = static_cast<float>(matching.Proximity({i, i}, 3));
    column[6] = static_cast<float>(matching.Proximity({i, i}, 15));
    const double share = matching.sentences[static_cast<size_t>(passage.sentence[k])];
    column[7] = static_cast<float>(share);
    column[8] = flag(share >= best);
    column[9] = static_cast<float>(best - share);
    column[10] = static_cast<float>(
                     std::min(matching.bigrams[static_cast<size_t>(passage.sentence[k])], 4)) /
                 4.0F;
    column[11] = flag(token.stop);
    column[12] = flag(token.article);
    for (int32_t d = 1; d <= 2; ++d) {
      column[12 + d] = flag(blank_neighbour(i, -d));
      column[14 + d] = flag(blank_neighbour(i, d));
    }
    column[17] = static_cast<float>(i) / static_cast<float>(n);
    column[18 + static_cast<int>(token.shape)] = 1.0F;
  }
  return features;
}

Input Network::Read(const PassageText& passage, const qa::Question& asked,
                    const DocumentFrequency& frequency, int32_t tokens_max) const {
  Input input;
  input.candidates = Candidates(passage, tokens_max);
  QuestionText question(asked.text);
  if (static_cast<int32_t>(question.tokens.size()) > kQuestionTokensMax) {
    question.tokens.resize(kQuestionTokensMax);
    question.blank = std::min(question.blank, kQuestionTokensMax);
  }
  if (question.tokens.empty()) {
    question.tokens.emplace_back();
  }
  input.kind = static_cast<int64_t>(question.kind);
  const Matching matching(passage, question, frequency);
  input.features = o_.features ? PassageFeatures(passage, question, matching)
                               : Matrix(Matrix::Zero(kFeatures, passage.size()));
  constexpr Hash kSuffix = 0x51ED270B;
  for (const Token& token : passage.tokens) {
    input.words.push_back(embeddings_.RowOf(token.word));
    input.suffixes.push_back(embeddings_.RowOf(Mix(token.suffix, kSuffix)));
  }
  const auto m = static_cast<int64_t>(question.tokens.size());
  input.question_features = Matrix::Zero(kQuestionFeatures, m);
  for (int64_t i = 0; i < m; ++i) {
    const Token& token = question.tokens[static_cast<size_t>(i)];
    input.question_words.push_back(embeddings_.RowOf(token.word));
    input.question_suffixes.push_back(embeddings_.RowOf(Mix(token.suffix, kSuffix)));
    const int64_t offset = i - question.blank;
    input.question_features(0, i) = offset == 0 ? 1.0F : 0.0F;
    input.question_features(1, i) = offset == 1 || offset == 2 ? 1.0F : 0.0F;
    input.question_features(2, i) = offset == -1 || offset == -2 ? 1.0F : 0.0F;
    if (o_.features) {
      input.question_features(3, i) = token.stop ? 1.0F : 0.0F;
      input.question_features(4, i) = static_cast<float>(frequency.Idf(token.stem) / 8);
    }
  }
  return input;
}

void Network::ReadQuestion(const Input& input, State& state) const {
  Matrix read(o_.embedding + kQuestionFeatures, state.question.cols());
  read << state.question, input.question_features;
  state.padded_question = Pad(read, kInnerWidth);
  state.question_hidden =
      Convolve(state.padded_question, kInnerWidth, w_(question_conv_), w_(question_bias_));
  state.question_attention = state.question_hidden.transpose() * w_(question_weight_);
  SoftmaxColumns(state.question_attention);
  state.summary = state.question_hidden * state.question_attention.col(0);
  state.summary += w_(kinds_).col(input.kind);
}

void Network::Forward(const Input& input, Random* dropout, State& state) const {
  state.passage = Embed(input.words, input.suffixes);
  state.question = Embed(input.question_words, input.question_suffixes);
  state.aligned_source = (w_(align_) * state.passage).cwiseMax(0.0F);
  state.aligned_target = (w_(align_) * state.question).cwiseMax(0.0F);
  state.attention = state.aligned_target.transpose() * state.aligned_source;
  SoftmaxColumns(state.attention);
  Matrix read(int64_t{2} * o_.embedding + kFeatures, state.passage.cols());
  read << state.passage, state.question * state.attention, input.features;
  state.mask.resize(0, 0);
  if (dropout != nullptr && o_.dropout > 0) {
    state.mask.resize(read.rows(), read.cols());
    const auto keep = static_cast<float>(1 / (1 - o_.dropout));
    const auto threshold = static_cast<uint64_t>(o_.dropout * 65536);
    uint64_t bits = 0;
    for (int64_t i = 0; i < read.size(); ++i) {
      bits = i % 4 == 0 ? dropout->Next() : bits >> 16U;
      state.mask.data()[i] = (bits & 0xFFFFU) < threshold ? 0.0F : keep;
    }
    read = read.cwiseProduct(state.mask);
  }
  state.padded_input = Pad(read, kWidth);
  state.first = Convolve(state.padded_input, kWidth, w_(conv1_), w_(bias1_));
  state.padded_first = Pad(state.first, kInnerWidth);
  state.both.resize(int64_t{2} * o_.hidden, read.cols());
  state.both << state.first, Convolve(state.padded_first, kInnerWidth, w_(conv2_), w_(bias2_));
  ReadQuestion(input, state);
  const Vector start = w_(start_) * state.summary + w_(start_bias_).col(0);
  const Vector end = w_(end_) * state.summary + w_(end_bias_).col(0);
  state.start = state.both.transpose() * start;
  state.end = state.both.transpose() * end;
  const ConstMatrixMap lengths = w_(lengths_);
  state.scores.clear();
  for (const TokenSpan& span : input.candidates) {
    state.scores.push_back(static_cast<double>(state.start[span.first]) + state.end[span.last] +
                           lengths(span.last - span.first, input.kind));
  }
}

Matrix Network::QuestionBack(const Input& input, const State& state, const Vector& gradient) {
  w_.Gradient(kinds_).col(input.kind) += gradient;
  const Matrix inner =
      SoftmaxColumnsBack(state.question_attention, state.question_hidden.transpose() * gradient);
  w_.Gradient(question_weight_).noalias() += state.question_hidden * inner;
  const Matrix hidden =
      gradient * state.question_attention.transpose() + w_(question_weight_) * inner.transpose();
  const Matrix read =
      ConvolveBack(state.padded_question, kInnerWidth, w_(question_conv_), state.question_hidden,
                   hidden, w_.Gradient(question_conv_), w_.Gradient(question_bias_));
  return read.topRows(o_.embedding);
}

void Network::Backward(const Input& input, const State& state,
                       const std::vector<double>& gradient) {
  const int64_t n = state.passage.cols();
  Vector by_start = Vector::Zero(n);
  Vector by_end = Vector::Zero(n);
  MatrixMap lengths = w_.Gradient(lengths_);
  for (size_t i = 0; i < gradient.size(); ++i) {
    const TokenSpan& span = input.candidates[i];
    const auto g = static_cast<float>(gradient[i]);
    by_start[span.first] += g;
    by_end[span.last] += g;
    lengths(span.last - span.first, input.kind) += g;
  }
  const Vector start = w_(start_) * state.summary + w_(start_bias_).col(0);
  const Vector end = w_(end_) * state.summary + w_(end_bias_).col(0);
  const Vector by_start_vector = state.both * by_start;
  const Vector by_end_vector = state.both * by_end;
  w_.Gradient(start_).noalias() += by_start_vector * state.summary.transpose();
  w_.Gradient(start_bias_).col(0) += by_start_vector;
  w_.Gradient(end_).noalias() += by_end_vector * state.summary.transpose();
  w_.Gradient(end_bias_).col(0) += by_end_vector;
  const Vector by_summary =
      w_(start_).transpose() * by_start_vector + w_(end_).transpose() * by_end_vector;
  Matrix by_question = QuestionBack(input, state, by_summary);

  const Matrix by_both = start * by_start.transpose() + end * by_end.transpose();
  Matrix by_first = by_both.topRows(o_.hidden);
  by_first +=
      ConvolveBack(state.padded_first, kInnerWidth, w_(conv2_), state.both.bottomRows(o_.hidden),
                   by_both.bottomRows(o_.hidden), w_.Gradient(conv2_), w_.Gradient(bias2_));
  Matrix by_read = ConvolveBack(state.padded_input, kWidth, w_(conv1_), state.first, by_first,
                                w_.Gradient(conv1_), w_.Gradient(bias1_));
  if (state.mask.size() > 0) {
    by_read = by_read.cwiseProduct(state.mask);
  }
  Matrix by_passage = by_read.topRows(o_.embedding);
  const Matrix by_aligned = by_read.middleRows(o_.embedding, o_.embedding);
  by_question.noalias() += by_aligned * state.attention.transpose();
  const Matrix by_scores =
      SoftmaxColumnsBack(state.attention, state.question.transpose() * by_aligned);
  const Matrix by_source =
      (state.aligned_source.array() > 0.0F).select(state.aligned_target * by_scores, 0.0F);
  const Matrix by_target = (state.aligned_target.array() > 0.0F)
                               .select(state.aligned_source * by_scores.transpose(), 0.0F);
  w_.Gradient(align_).noalias() += by_source * state.passage.transpose();
  w_.Gradient(align_).noalias() += by_target * state.question.transpose();
  by_passage.noalias() += w_(align_).transpose() * by_source;
  by_question.noalias() += w_(align_).transpose() * by_target;
  EmbedBack(input.words, input.suffixes, by_passage);
  EmbedBack(input.question_words, input.question_suffixes, by_question);
}

class NeuralModel : public Model {
 public:
  explicit NeuralModel(const Options& options) : options_(options), network_(options) {}

  void Save(ModelWriter& writer) const override {
    writer.Number(options_.embedding);
    writer.Number(options_.hidden);
    writer.Number(options_.tokens_max);
    writer.Number(options_.embedding_bits);
    writer.Number<int32_t>(options_.features ? 1 : 0);
    frequency_.Save(writer);
    network_.Save(writer);
  }
  void Load(ModelReader& reader) {
    frequency_.Load(reader);
    network_.Load(reader);
  }

  TokenSpan Answer(const PassageText& passage, const qa::Question& question) const override {
    const Input input = network_.Read(passage, question, frequency_, options_.tokens_max);
    State state;
    network_.Forward(input, nullptr, state);
    const auto best = std::max_element(state.scores.begin(), state.scores.end());
    return best == state.scores.end()
               ? TokenSpan{}
               : input.candidates[static_cast<size_t>(best - state.scores.begin())];
  }

  absl::Status Train(const qa::Dataset& data, uint64_t seed);

 private:
  // Adds the gradients of one question. False when it has no right candidate.
  bool Learn(const PassageText& passage, const qa::Question& question, Random& dropout);

  Options options_;
  DocumentFrequency frequency_;
  Network network_;
};

bool NeuralModel::Learn(const PassageText& passage, const qa::Question& question, Random& dropout) {
  const Input input = network_.Read(passage, question, frequency_, options_.tokens_max);
  const std::vector<int32_t> gold = GoldCandidates(passage, question, input.candidates);
  if (gold.empty()) {
    return false;
  }
  State state;
  network_.Forward(input, &dropout, state);
  LikelihoodGradient(gold, state.scores);
  network_.Backward(input, state, state.scores);
  return true;
}

absl::Status NeuralModel::Train(const qa::Dataset& data, uint64_t seed) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<PassageText> passages,
                          ReadTrainingPassages(data, frequency_, options_.tokens_max));
  std::vector<std::pair<size_t, size_t>> order = QuestionIndexes(data);
  network_.Randomize(seed);
  network_.StartTraining();
  Random dropout(seed, "dropout");
  int64_t steps = 0;
  for (int64_t epoch = 0; epoch < options_.epochs; ++epoch) {
    Random(seed, absl::StrCat("epoch ", epoch)).Shuffle(order);
    int64_t pending = 0;
    for (const auto& [p, q] : order) {
      pending += Learn(passages[p], data.passages[p].questions[q], dropout) ? 1 : 0;
      if (pending == options_.batch) {
        network_.Step(++steps, pending);
        pending = 0;
      }
    }
    if (pending > 0) {
      network_.Step(++steps, pending);
    }
  }
  network_.EndTraining();
  return absl::OkStatus();
}

class NeuralReader : public Approach {
 public:
  std::string name() const override { return "neural-reader"; }
  std::string summary() const override {
    return "embeddings, attention to the question, convolutions; start and end of the answer";
  }
  uint32_t version() const override { return 2; }
  std::vector<ParameterSpec> parameters() const override;
  absl::StatusOr<std::unique_ptr<Model>> Train(const qa::Dataset& data,
                                               const Parameters& parameters,
                                               uint64_t seed) const override {
    Options options;
    options.lr = parameters.Real("lr");
    options.epochs = parameters.Integer("epochs");
    options.embedding = static_cast<int32_t>(parameters.Integer("embedding"));
    options.hidden = static_cast<int32_t>(parameters.Integer("hidden"));
    options.dropout = parameters.Real("dropout");
    options.batch = static_cast<int32_t>(parameters.Integer("batch"));
    options.tokens_max = static_cast<int32_t>(parameters.Integer("max_span_tokens"));
    options.features = parameters.Choice("features") == 0;
    auto model = std::make_unique<NeuralModel>(options);
    CONCUR_RETURN_IF_ERROR(model->Train(data, seed));
    return model;
  }
  absl::StatusOr<std::unique_ptr<Model>> Load(ModelReader& reader) const override {
    Options options;
    options.embedding = reader.Number<int32_t>();
    options.hidden = reader.Number<int32_t>();
    options.tokens_max = reader.Number<int32_t>();
    options.embedding_bits = reader.Number<int32_t>();
    const auto features = reader.Number<int32_t>();
    options.features = features == 1;
    if (features < 0 || features > 1 || options.embedding < 4 || options.embedding > 256 ||
        options.hidden < 4 || options.hidden > 512 || options.tokens_max < 1 ||
        options.tokens_max > kSpanTokensMax || options.embedding_bits != Options().embedding_bits) {
      return absl::DataLossError("model: its contents do not fit the approach; train it again");
    }
    auto model = std::make_unique<NeuralModel>(options);
    model->Load(reader);
    return model;
  }
};

std::vector<ParameterSpec> NeuralReader::parameters() const {
  constexpr auto kInteger = ParameterSpec::Kind::kInteger;
  const Options standard;
  return {
      {.name = "lr", .default_value = standard.lr, .low = 1e-7, .high = 1, .help = "Adam's step"},
      EpochsParameter(standard.epochs),
      {.name = "embedding",
       .kind = kInteger,
       .default_value = static_cast<double>(standard.embedding),
       .low = 4,
       .high = 256,
       .help = "size of a word's vector"},
      {.name = "hidden",
       .kind = kInteger,
       .default_value = static_cast<double>(standard.hidden),
       .low = 4,
       .high = 512,
       .help = "channels of a convolution"},
      {.name = "dropout",
       .default_value = standard.dropout,
       .low = 0,
       .high = 0.9,
       .help = "share of the inputs that training leaves out"},
      {.name = "batch",
       .kind = kInteger,
       .default_value = static_cast<double>(standard.batch),
       .low = 1,
       .high = 1024,
       .help = "questions an update"},
      SpanTokensParameter(standard.tokens_max),
      {.name = "features",
       .kind = ParameterSpec::Kind::kChoice,
       .choices = {"all", "none"},
       .help = "what it sees beside word embeddings: matches with the question, shapes, rarity"}};
}

}  // namespace

std::unique_ptr<Approach> MakeNeuralReader() { return std::make_unique<NeuralReader>(); }

}  // namespace concur::approaches
