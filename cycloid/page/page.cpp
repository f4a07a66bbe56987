#include "cycloid/page/page.h"

#include "cycloid/base/check.h"
#include "cycloid/base/error.h"
#include "cycloid/page/html.h"
#include "cycloid/page/page_file.h"

namespace cycloid::inline page {
namespace {

constexpr const char* kFrame = R"(<!doctype html>
<html lang="en-GB">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none';
 style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{{title}}</title>
<style>
{{style}}</style>
</head>
<body>
<header>
<h1>{{title}}</h1>
{{lead}}</header>
<main>
{{body}}</main>
</body>
</html>
)";

std::string paragraph(const std::string& text, const std::string& css = "") {
  return message("<p", css.empty() ? "" : " class=\"" + css + "\"", ">", escape_html(text),
                 "</p>\n");
}

std::string heading_of(const std::string& text) {
  return text.empty() ? "" : message("<h3>", escape_html(text), "</h3>\n");
}

}  // namespace

std::string picture(const Plot& plot) {
  std::string svg = plot.svg();
  const std::string background = "<rect width=\"100%\" height=\"100%\" fill=\"var(--card)\"/>\n";
  svg.insert(svg.find('\n') + 1, message("<style>\n", kStyle, "</style>\n", background));
  return svg.replace(0, 4, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
}

Page::Page(std::string title) : title_(std::move(title)) {}

// Figures that follow each other share a grid; everything else closes it.
void Page::add(const std::string& html, bool beside) {
  if (in_grid_ && !beside) body_ += "</div>\n";
  if (!in_grid_ && beside) body_ += "<div class=\"grid\">\n";
  in_grid_ = beside;
  body_ += html;
}

Page& Page::lead(const std::string& text) {
  lead_ += paragraph(text, "lead");
  return *this;
}

Page& Page::section(const std::string& heading) {
  add(message(in_section_ ? "</section>\n" : "", "<section>\n<h2>", escape_html(heading),
              "</h2>\n"),
      false);
  in_section_ = true;
  return *this;
}

Page& Page::sentence(const std::string& text) {
  add(paragraph(text), false);
  return *this;
}

Page& Page::verdict(const std::string& text) {
  add(message("<blockquote>\n", paragraph(text), "</blockquote>\n"), false);
  return *this;
}

Page& Page::table(const PageTable& table) {
  std::string head, rows;
  for (const std::string& column : table.columns) {
    head += message("<th scope=\"col\">", escape_html(column), "</th>");
  }
  for (const std::vector<std::string>& row : table.rows) {
    CYCLOID_CHECK(row.size() == table.columns.size(), row.size(), table.columns.size());
    rows += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string text = escape_html(row[i]);
      rows +=
          i == 0 ? message("<th scope=\"row\">", text, "</th>") : message("<td>", text, "</td>");
    }
    rows += "</tr>\n";
  }
  add(message("<div class=\"panel full\">\n", heading_of(table.heading),
              "<div class=\"table\"><table>\n<thead><tr>", head, "</tr></thead>\n<tbody>\n", rows,
              "</tbody>\n</table></div>\n", table.note.empty() ? "" : paragraph(table.note),
              "</div>\n"),
      true);
  return *this;
}

Page& Page::plot(const std::string& heading, const Plot& plot, const std::string& caption,
                 const std::vector<LegendEntry>& legend, bool wide) {
  CYCLOID_CHECK(ids_.insert(plot.id()).second, plot.id());
  std::string entries;
  for (const LegendEntry& entry : legend) {
    entries += message("<li><i class=\"", escape_html(entry.css), "\"></i>",
                       escape_html(entry.text), "</li>");
  }
  add(message(
          wide ? "<figure class=\"full\">\n" : "<figure>\n", heading_of(heading), plot.svg(),
          entries.empty() ? "" : message("<ul class=\"legend\">", entries, "</ul>\n"),
          caption.empty() ? "" : message("<figcaption>", escape_html(caption), "</figcaption>\n"),
          "</figure>\n"),
      true);
  return *this;
}

std::string Page::html() const {
  const std::string end = message(in_grid_ ? "</div>\n" : "", in_section_ ? "</section>\n" : "");
  return fill_marks(kFrame, [&](const std::string& mark) {
    if (mark == "title") return escape_html(title_);
    if (mark == "style") return std::string(kStyle);
    if (mark == "lead") return lead_;
    CYCLOID_CHECK(mark == "body", mark);
    return body_ + end;
  });
}

void Page::write(const std::filesystem::path& path) const { PageFile(path).write(html()); }

}  // namespace cycloid::inline page
