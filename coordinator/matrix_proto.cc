#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/bootstrap.h"
#include "analysis/correlation.h"
#include "analysis/matrix.h"
#include "analysis/selection.h"
#include "base/status_macros.h"
#include "coordinator/views.h"

namespace concur {
namespace {

constexpr uint32_t kReplicatesDefault = 10'000;
constexpr uint32_t kReplicatesMax = 100'000;

absl::StatusOr<analysis::Select> SelectOf(v1::SweepSpec::Selection select,
                                          analysis::Select standard) {
  switch (select) {
    case v1::SweepSpec::SELECTION_UNSPECIFIED:
      return standard;
    case v1::SweepSpec::SELECTION_BEST:
      return analysis::Select::kBest;
    case v1::SweepSpec::SELECTION_DEFAULT:
      return analysis::Select::kDefault;
    case v1::SweepSpec::SELECTION_MEAN:
      return analysis::Select::kMean;
    case v1::SweepSpec::SELECTION_EACH:
      return analysis::Select::kEach;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("select: unknown rule ", static_cast<int>(select)));
  }
}

absl::StatusOr<analysis::MatrixOptions> OptionsOf(const v1::GetMatrixRequest& request) {
  analysis::MatrixOptions options;
  CONCUR_ASSIGN_OR_RETURN(options.coefficient,
                          analysis::ParseCoefficient(
                              request.coefficient().empty() ? "kendall" : request.coefficient()));
  if (request.interval() != 0) {
    if (request.replicates() > kReplicatesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("replicates: at most ", kReplicatesMax, ", got ", request.replicates()));
    }
    options.bootstrap.emplace();
    options.bootstrap->level = request.interval();
    options.bootstrap->replicates =
        request.replicates() == 0 ? kReplicatesDefault : request.replicates();
    options.bootstrap->seed = request.seed();
  }
  return options;
}

}  // namespace

absl::StatusOr<v1::Matrix> MatrixProto(SweepScores scores, const v1::GetMatrixRequest& request) {
  CONCUR_ASSIGN_OR_RETURN(const analysis::MatrixOptions options, OptionsOf(request));
  CONCUR_ASSIGN_OR_RETURN(scores.options.select, SelectOf(request.select(), scores.options.select));
  CONCUR_ASSIGN_OR_RETURN(analysis::ScoreTable table,
                          analysis::BuildScoreTable(scores.records, scores.options));
  std::vector<std::string> where;
  for (const auto& [tag, value] : request.where()) {
    where.push_back(absl::StrCat(tag, "=", value));
  }
  if (!where.empty()) {
    CONCUR_ASSIGN_OR_RETURN(table, table.Where(where));
  }
  CONCUR_ASSIGN_OR_RETURN(const analysis::ConcurrenceMatrix matrix,
                          analysis::ComputeMatrix(table, options));
  v1::Matrix proto;
  proto.set_coefficient(std::string(analysis::CoefficientName(options.coefficient)));
  for (const std::string& benchmark : matrix.benchmarks) {
    proto.add_benchmarks(benchmark);
  }
  for (const std::string& approach : matrix.approaches) {
    proto.add_approaches(approach);
  }
  for (const analysis::MatrixPair& pair : matrix.pairs) {
    v1::MatrixPair& out = *proto.add_pairs();
    out.set_a(matrix.benchmarks[pair.a]);
    out.set_b(matrix.benchmarks[pair.b]);
    out.set_n(static_cast<uint32_t>(pair.correlation.n));
    if (pair.correlation.defined()) {
      out.set_value(pair.correlation.value);
      if (pair.correlation.p_value == pair.correlation.p_value) {
        out.set_p_value(pair.correlation.p_value);
      }
    } else {
      out.set_undefined_reason(std::string(analysis::UndefinedReason(pair.correlation.undefined)));
    }
    if (pair.interval) {
      out.set_low(pair.interval->low);
      out.set_high(pair.interval->high);
    }
    for (size_t approach : pair.missing) {
      out.add_missing(matrix.approaches[approach]);
    }
  }
  return proto;
}

}  // namespace concur
