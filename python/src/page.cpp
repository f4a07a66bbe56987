// Pages and plots (room page), for the reports that the Python package writes.
#include "cycloid/page/page.h"

#include "module.h"

namespace cycloid::python {
namespace {

using Row = std::vector<double>;

Scale scale_of(bool logarithmic) { return logarithmic ? Scale::logarithmic : Scale::linear; }

void bind_plot(nb::module_& m) {
  const auto self = nb::rv_policy::reference;
  nb::class_<Plot>(m, "Plot", "A plot as SVG: axes first, then what is drawn, in its order.")
      .def(nb::init<std::string, std::string, double, double>(), nb::arg("id"),
           nb::arg("description"), nb::arg("width") = 440.0, nb::arg("height") = 280.0)
      .def(
          "x_axis",
          [](Plot& plot, std::string label, double low, double high, bool logarithmic) -> Plot& {
            return plot.x_axis(std::move(label), low, high, scale_of(logarithmic));
          },
          nb::arg("label"), nb::arg("low"), nb::arg("high"), nb::arg("logarithmic") = false, self)
      .def(
          "y_axis",
          [](Plot& plot, std::string label, double low, double high, bool logarithmic) -> Plot& {
            return plot.y_axis(std::move(label), low, high, scale_of(logarithmic));
          },
          nb::arg("label"), nb::arg("low"), nb::arg("high"), nb::arg("logarithmic") = false, self)
      .def(
          "line",
          [](Plot& plot, const Row& x, const Row& y, const std::string& css) -> Plot& {
            return plot.line(x, y, css);
          },
          nb::arg("x"), nb::arg("y"), nb::arg("css") = "c1", self, "Broken where a number is NaN.")
      .def(
          "area",
          [](Plot& plot, const Row& x, const Row& y, const std::string& css) -> Plot& {
            return plot.area(x, y, css);
          },
          nb::arg("x"), nb::arg("y"), nb::arg("css") = "", self, "Closed and filled.")
      .def(
          "dots",
          [](Plot& plot, const Row& x, const Row& y, double radius,
             const std::string& css) -> Plot& { return plot.dots(x, y, radius, css); },
          nb::arg("x"), nb::arg("y"), nb::arg("radius") = 2.0, nb::arg("css") = "sample", self)
      .def(
          "bar",
          [](Plot& plot, double x, double low, double high, const std::string& css) -> Plot& {
            return plot.bar(x, low, high, css);
          },
          nb::arg("x"), nb::arg("low"), nb::arg("high"), nb::arg("css") = "c1", self)
      .def(
          "vertical",
          [](Plot& plot, double x, const std::string& label, const std::string& css) -> Plot& {
            return plot.vertical(x, label, css);
          },
          nb::arg("x"), nb::arg("label") = "", nb::arg("css") = "muted", self)
      .def(
          "horizontal",
          [](Plot& plot, double y, const std::string& label, const std::string& css) -> Plot& {
            return plot.horizontal(y, label, css);
          },
          nb::arg("y"), nb::arg("label") = "", nb::arg("css") = "muted", self)
      .def(
          "note",
          [](Plot& plot, double x, double y, const std::string& text, const std::string& anchor,
             double dx, double dy) -> Plot& { return plot.note(x, y, text, anchor, dx, dy); },
          nb::arg("x"), nb::arg("y"), nb::arg("text"), nb::arg("anchor") = "start",
          nb::arg("dx") = 0.0, nb::arg("dy") = 0.0, self)
      .def("without_x_ticks", &Plot::without_x_ticks, self)
      .def(
          "y_names",
          [](Plot& plot, std::vector<std::string> names) -> Plot& {
            return plot.y_names(std::move(names));
          },
          nb::arg("names"), self, "A row for each name in place of numbers, the first at the top.")
      .def("svg", &Plot::svg)
      .def(
          "picture", [](const Plot& plot) { return picture(plot); },
          "An SVG file of its own, with the style sheet and a background.");
  m.def(
      "plot_range",
      [](const Row& values, double margin) {
        const PlotRange range = range_over({values}, margin);
        return std::pair(range.low, range.high);
      },
      nb::arg("values"), nb::arg("margin") = 0.05,
      "Low and high end of an axis over the finite values, with a margin.");
}

}  // namespace

void bind_page(nb::module_& m) {
  bind_plot(m);
  using Legend = std::vector<std::pair<std::string, std::string>>;
  const auto self = nb::rv_policy::reference;
  nb::class_<Page>(m, "Page",
                   "A web page of sentences, tables and plots that needs nothing else: no script, "
                   "light and dark, phones too.")
      .def(nb::init<std::string>(), nb::arg("title"))
      .def("lead", &Page::lead, nb::arg("text"), self, "The sentence below the title.")
      .def("section", &Page::section, nb::arg("heading"), self)
      .def("sentence", &Page::sentence, nb::arg("text"), self)
      .def("verdict", &Page::verdict, nb::arg("text"), self, "A sentence that is not to be missed.")
      .def(
          "table",
          [](Page& page, std::vector<std::string> columns,
             std::vector<std::vector<std::string>> rows, std::string heading,
             std::string note) -> Page& {
            return page.table(
                {std::move(heading), std::move(columns), std::move(rows), std::move(note)});
          },
          nb::arg("columns"), nb::arg("rows"), nb::arg("heading") = "", nb::arg("note") = "", self)
      .def(
          "plot",
          [](Page& page, const std::string& heading, const Plot& plot, const std::string& caption,
             const Legend& legend, bool wide) -> Page& {
            std::vector<LegendEntry> entries;
            for (const auto& [css, text] : legend) entries.push_back({css, text});
            return page.plot(heading, plot, caption, entries, wide);
          },
          nb::arg("heading"), nb::arg("plot"), nb::arg("caption") = "",
          nb::arg("legend") = Legend(), nb::arg("wide") = false, self,
          "legend: pairs of the classes that a mark was drawn with and the words.")
      .def("html", &Page::html)
      .def(
          "write", [](const Page& page, const std::string& path) { page.write(path); },
          nb::arg("path"));
}

}  // namespace cycloid::python
