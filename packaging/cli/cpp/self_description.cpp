// SPDX-License-Identifier: GPL-2.0-or-later
#include "packaging/cli/cpp/self_description.h"

#include "packaging/cli/cpp/completion.h"

#include <string>

namespace happe {
namespace {

// CLI11 ends it with a newline of its own.
[[noreturn]] void print(std::string text) {
    text.pop_back();
    throw CLI::CallForVersion(text, EXIT_SUCCESS);
}

}  // namespace

void add_self_description(CLI::App& program, const About& about) {
    const Command tree = command_tree(program);
    program.add_flag_callback("--manual", [tree, about] { print(manual_page(tree, about)); })->group("");
    const CLI::callback_t complete = [tree](const CLI::results_t& shell) -> bool {
        print(shell.front() == "bash" ? bash_completion(tree) : zsh_completion(tree));
    };
    program.add_option("--completion", complete)->check(CLI::IsMember({"bash", "zsh"}))->group("");
}

}  // namespace happe
