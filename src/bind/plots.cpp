#include "bind/plots.hpp"

#include "store/plot_plan.hpp"
#include "view/plot.hpp"
#include "view/plot_svg.hpp"

namespace bind {

Plot plot_of(const store::Recording& recording, const std::vector<store::Cell>& cells,
             const std::vector<std::string>& sources, const store::PlotRequest& request) {
  const store::PlotData data = store::plot_data(recording, cells, sources, request);
  if (request.window) return {{}, {}, view::plot_json(data)};
  return {view::plot_text(data), view::plot_svg(data), view::plot_json(data)};
}

std::vector<std::string> plot_metrics() {
  std::vector<std::string> ids;
  for (const std::string_view id : store::plot_metric_ids()) ids.emplace_back(id);
  return ids;
}

}  // namespace bind
