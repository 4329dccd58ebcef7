#pragma once
// What a plot says in words: titles, figures beside the curves, the text for screen readers.

#include <cstddef>
#include <string>
#include <string_view>

#include "store/plot_data.hpp"

namespace view {

std::string plot_title(const store::PlotData& data);  // "pi.ipynb · In [4] and In [5] · 9.53 s"
std::string plot_scope(const store::PlotData& data);  // "the kernel's processes · node7 · 2026-…"

// Beside a panel's title: "of 2 cores", "of 23.5 GiB", "the node's".
std::string panel_note(const store::PlotData& data, const store::PlotMetric& metric,
                       const store::PlotPanel& panel);
// "mean 44.1 % · peak 98.7 %"; "" when nothing is known.
std::string track_figures(const store::PlotData& data, const store::PlotMetric& metric,
                          const store::PlotTrack& track);

// Which of the six colours a metric's first track has, here and in the interactive page; the next
// ones follow.
std::size_t plot_colour(std::string_view metric_id) noexcept;
inline constexpr std::size_t kPlotColours = 6;

// Some sentences: what is shown of what, how high it rose and when, what is missing.
std::string plot_description(const store::PlotData& data);

}  // namespace view
