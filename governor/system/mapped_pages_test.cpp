// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/mapped_pages.h"

#include <gtest/gtest.h>
#include <fstream>
#include <regex>
#include <string>

namespace happe {
namespace {

// Resident pages of files, in kB: /proc/self/status, RssFile.
long resident_file_kb() {
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line)) {
        if (line.starts_with("RssFile:")) {
            return std::stol(line.substr(8));
        }
    }
    return -1;
}

TEST(ReleaseMappedPages, WhatIsNotNeededIsNoLongerResidentAndEverythingStillWorks) {
    const std::regex pattern("(a+)b");  // through code of the libraries
    ASSERT_TRUE(std::regex_match("aab", pattern));
    const long before = resident_file_kb();

    release_mapped_pages();

    EXPECT_LT(resident_file_kb(), before);
    EXPECT_TRUE(std::regex_match("aaab", pattern));
}

}  // namespace
}  // namespace happe
