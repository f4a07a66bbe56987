// Room page: what people read in a browser, as one file that needs nothing else.
//
//   Plot plot("miss", "Distance from the target after each iteration", 440, 280);
//   plot.x_axis("iteration", 0, 8).y_axis("miss [m]", 1e-7, 100, Scale::logarithmic);
//   plot.line(xs, ys, "c1");
//   Page page("A plan");
//   page.lead("…").section("What was found").plot("The miss", plot, "…").table({…});
//   page.write("plan.html");
//
// A page has a title, sentences, tables and plots in the order in which they are given; plots that
// follow each other stand side by side where there is room. It is light or dark as its reader's
// screen is, fits a phone, and has no script. Texts are texts: they are escaped here.
//
//   page.h         a page                         svg_plot.h    plots, and plot_range.h their axes
//   number_text.h  numbers as people read them    text_plot.h   plots in characters, for terminals
//   html.h         escaping, templates            page_file.h   a file, complete or as it was
//   page.css       the style sheet of every page of the project
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "cycloid/page/svg_plot.h"

namespace cycloid::inline page {

// page.css
extern const char* const kStyle;

// Cells are texts, numbers as number_text.h makes them. The first column stands left, as the rows'
// names; the others right.
struct PageTable {
  std::string heading = {};
  std::vector<std::string> columns;            // their names
  std::vector<std::vector<std::string>> rows;  // each as long as columns
  std::string note = {};                       // a sentence below
};

// What a mark of a plot means: the classes that its line, dots or area was drawn with ("c1",
// "c2 dashed", "dots", "area"), and the words.
struct LegendEntry {
  std::string css, text;
};

// A plot as an SVG file of its own, with the style sheet and a background.
std::string picture(const Plot& plot);

class Page {
 public:
  explicit Page(std::string title);

  // The sentence below the title; what the page is about.
  Page& lead(const std::string& text);
  Page& section(const std::string& heading);
  Page& sentence(const std::string& text);
  // A sentence that is not to be missed: a verdict, a warning.
  Page& verdict(const std::string& text);
  // Throws InternalError where a row has another length than the names of the columns.
  Page& table(const PageTable& table);
  // `wide`: over the whole width. Throws InternalError where the page has a plot of that id.
  Page& plot(const std::string& heading, const Plot& plot, const std::string& caption = "",
             const std::vector<LegendEntry>& legend = {}, bool wide = false);

  std::string html() const;
  // Throws Error where the path cannot be written to.
  void write(const std::filesystem::path& path) const;

 private:
  void add(const std::string& html, bool beside);

  std::string title_, lead_, body_;
  std::set<std::string> ids_;
  bool in_section_ = false, in_grid_ = false;
};

}  // namespace cycloid::inline page
