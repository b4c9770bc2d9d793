// Fits as text, CSV and JSON: the second half of fit.h.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/csv.h"
#include "analysis/fit.h"
#include "analysis/intervals.h"
#include "analysis/text_table.h"

namespace concur::analysis {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::detail::error_handler_t::replace) + "\n";
}

Json OrNull(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json();
}

Json FitJson(const ShiftFit& fit) {
  Json json;
  json["from"] = fit.from;
  json["to"] = fit.to;
  json["scale"] = std::string(FitScaleName(fit.scale));
  json["n"] = fit.n;
  json["slope"] = OrNull(fit.slope);
  json["intercept"] = OrNull(fit.intercept);
  json["r_squared"] = OrNull(fit.r_squared);
  json["mean_gap"] = OrNull(fit.mean_gap);
  if (fit.level > 0) {
    json["level"] = fit.level;
    const auto add = [&](const char* name, const std::optional<Interval>& interval) {
      json[name] = interval.has_value() ? Json::array({interval->low, interval->high}) : Json();
    };
    add("slope_interval", fit.slope_interval);
    add("intercept_interval", fit.intercept_interval);
    add("r_squared_interval", fit.r_squared_interval);
    add("mean_gap_interval", fit.mean_gap_interval);
  }
  json["systems"] = Json::array();
  for (const FittedSystem& system : fit.systems) {
    json["systems"].push_back({{"name", system.name},
                               {"from", system.from},
                               {"to", system.to},
                               {"gap", system.gap},
                               {"rank", system.rank},
                               {"new_rank", system.new_rank},
                               {"delta_rank", system.rank - system.new_rank},
                               {"fitted", system.fitted},
                               {"predicted", OrNull(system.predicted)},
                               {"residual", OrNull(system.residual)}});
    const auto add = [&](const char* name, const std::optional<Interval>& interval) {
      if (interval.has_value()) {
        json["systems"].back()[name] = Json::array({interval->low, interval->high});
      }
    };
    add("predicted_interval", system.predicted_interval);
    add("residual_interval", system.residual_interval);
    add("from_interval", system.from_interval);
    add("to_interval", system.to_interval);
  }
  json["missing"] = fit.missing;
  return json;
}

std::string Figure(const std::optional<double>& value, const std::optional<Interval>& interval) {
  std::string text = value.has_value() ? absl::StrFormat("%.3f", *value) : "undef";
  if (interval.has_value()) {
    absl::StrAppend(&text, absl::StrFormat(" [%.3f, %.3f]", interval->low, interval->high));
  }
  return text;
}

// " [1.20, 3.40]"; "" without an interval.
std::string Bracketed(const std::optional<Interval>& interval) {
  return interval.has_value() ? absl::StrFormat(" [%.2f, %.2f]", interval->low, interval->high)
                              : "";
}

}  // namespace

std::string ShiftText(const std::vector<ShiftFit>& fits) {
  using Align = TextTable::Align;
  std::string text;
  for (const ShiftFit& fit : fits) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", Printable(fit.from), " → ", Printable(fit.to),
                    ", ", FitScaleName(fit.scale), " scale, ", fit.n, " systems: slope ",
                    Figure(fit.slope, fit.slope_interval), ", intercept ",
                    Figure(fit.intercept, fit.intercept_interval), ", R² ",
                    Figure(fit.r_squared, fit.r_squared_interval), ", mean gap ",
                    fit.mean_gap.has_value() ? absl::StrFormat("%.2f", *fit.mean_gap) : "undef",
                    Bracketed(fit.mean_gap_interval),
                    fit.level > 0 ? absl::StrCat(" (", ShortestDecimal(fit.level * 100),
                                                 " % intervals, bootstrap over systems)")
                                  : "",
                    "\n\n");
    TextTable table({Align::kRight, Align::kLeft, Align::kRight, Align::kRight, Align::kRight,
                     Align::kRight, Align::kRight, Align::kRight});
    table.AddRow({"rank", "system", "from", "to", "gap", "new rank", "Δ rank", "beyond line"});
    bool any_left_out = false;
    for (const FittedSystem& system : fit.systems) {
      any_left_out = any_left_out || !system.fitted;
      constexpr size_t kNameMax = 48;
      table.AddRow(
          {absl::StrCat(system.rank),
           Printable(system.name, kNameMax) + (system.fitted ? "" : " †"),
           absl::StrFormat("%.2f", system.from) + Bracketed(system.from_interval),
           absl::StrFormat("%.2f", system.to) + Bracketed(system.to_interval),
           absl::StrFormat("%.2f", system.gap), absl::StrCat(system.new_rank),
           system.rank == system.new_rank ? "0"
                                          : absl::StrFormat("%+d", system.rank - system.new_rank),
           (system.residual.has_value() ? absl::StrFormat("%+.2f", *system.residual) : "—") +
               Bracketed(system.residual_interval)});
    }
    text += table.ToString();
    if (any_left_out) {
      text += "\n† not part of the fit.\n";
    }
    if (!fit.missing.empty()) {
      std::vector<std::string> names;
      for (const std::string& name : fit.missing) {
        names.push_back(Printable(name, 60));
      }
      absl::StrAppend(&text, "\nWithout both scores: ", names.size(), ": ",
                      absl::StrJoin(names, "; "), "\n");
    }
  }
  return text;
}

std::string ShiftCsv(const std::vector<ShiftFit>& fits) {
  const auto number = [](const std::optional<double>& value) {
    return value.has_value() ? ShortestDecimal(*value) : "";
  };
  std::string text =
      "from,to,scale,n,slope,intercept,r_squared,mean_gap,system,from_score,to_score,gap,rank,"
      "new_rank,delta_rank,fitted,predicted,residual,predicted_low,predicted_high,residual_low,"
      "residual_high,from_low,from_high,to_low,to_high\n";
  const auto ends = [](const std::optional<Interval>& interval) {
    return interval.has_value() ? absl::StrCat(",", ShortestDecimal(interval->low), ",",
                                               ShortestDecimal(interval->high))
                                : ",,";
  };
  for (const ShiftFit& fit : fits) {
    const std::string head =
        absl::StrJoin({CsvField(fit.from), CsvField(fit.to), std::string(FitScaleName(fit.scale)),
                       absl::StrCat(fit.n), number(fit.slope), number(fit.intercept),
                       number(fit.r_squared), number(fit.mean_gap)},
                      ",");
    for (const FittedSystem& system : fit.systems) {
      absl::StrAppend(&text, head, ",", CsvField(system.name), ",", ShortestDecimal(system.from),
                      ",", ShortestDecimal(system.to), ",", ShortestDecimal(system.gap), ",",
                      system.rank, ",", system.new_rank, ",", system.rank - system.new_rank, ",",
                      system.fitted ? "yes" : "no", ",", number(system.predicted), ",");
      absl::StrAppend(&text, number(system.residual), ends(system.predicted_interval),
                      ends(system.residual_interval), ends(system.from_interval),
                      ends(system.to_interval), "\n");
    }
    for (const std::string& name : fit.missing) {
      absl::StrAppend(&text, head, ",", CsvField(name), ",,,,,,,no,,,,,,,,,,\n");
    }
  }
  return text;
}

std::string ShiftJson(const std::vector<ShiftFit>& fits) {
  Json json;
  json["fits"] = Json::array();
  for (const ShiftFit& fit : fits) {
    json["fits"].push_back(FitJson(fit));
  }
  return Dump(json);
}

std::string ShiftJsonLines(const std::vector<ShiftFit>& fits) {
  std::string text;
  for (const ShiftFit& fit : fits) {
    text += Dump(FitJson(fit));
  }
  return text;
}

}  // namespace concur::analysis
