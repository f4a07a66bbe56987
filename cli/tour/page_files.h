// The page's files as text; the build makes page_files.cpp of them.
#pragma once

namespace cycloid::tour {

extern const char* const kPageHtml;
extern const char* const kPageJs;
extern const char* const kSceneJs;

}  // namespace cycloid::tour
