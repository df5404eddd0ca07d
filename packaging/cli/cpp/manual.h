// SPDX-License-Identifier: GPL-2.0-or-later
// Manual pages, as man(7) has them.
#pragma once

#include "packaging/cli/cpp/command_tree.h"

#include <string>
#include <string_view>

namespace happe {

// Any text as troff that prints it as it is. Must be UTF-8; what is not becomes a question mark.
[[nodiscard]] std::string troff(std::string_view text);
[[nodiscard]] std::string bold(std::string_view text);
[[nodiscard]] std::string italic(std::string_view text);

class ManualPage {
public:
    ManualPage(std::string_view name, int section, std::string_view version);

    void section(std::string_view title);
    void subsection(std::string_view title);
    void line(std::string_view troff);
    // Paragraphs, with an empty line between them; indented lines are printed as they are.
    void text(std::string_view text);
    // `term`: troff. The text's lines are filled.
    void item(std::string_view term, std::string_view text);

    [[nodiscard]] const std::string& written() const { return page_; }

private:
    void add_line(std::string_view text);

    std::string page_;
};

// What a program's definition does not say.
struct About {
    int section = 1;
    std::string_view version;
    std::string_view more;  // sections as in the footer of --help: "Files: ...", an empty line, "See also: ..."
};

// A paragraph of the program's footer that begins with "Some words: " or "Some words:" and a line's end begins a
// section SOME WORDS; what stands before is part of the description.
[[nodiscard]] std::string manual_page(const Command& program, const About& about);

}  // namespace happe
