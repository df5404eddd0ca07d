// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as a damaged database and its log: reading them ends, and stays within them. The first two bytes say where
// the log begins.
#include "governor/store/wreck.h"

#include <algorithm>
#include <sstream>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const std::string bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
    const std::size_t end = std::min<std::size_t>(bytes.size(), std::size_t{data[0]} << 8U | data[1]);
    std::istringstream database(bytes.substr(0, end));
    std::istringstream log(bytes.substr(end));
    happe::sqlite::Wreck wreck(database, log);
    wreck.each_row([](const happe::sqlite::Wreck::Row&) {});
    return 0;
}
