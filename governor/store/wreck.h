// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the rows of a damaged database page by page, without the tree that leads to them. So a damaged page loses only
// its own rows. https://www.sqlite.org/fileformat2.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace happe::sqlite {

class Wreck {
public:
    static constexpr std::size_t kPageSize = 4096;  // SQLite's since 2016

    using Value = std::variant<std::monostate, std::int64_t, std::string>;
    struct Row {
        bool indexed = false;    // a row of an index, which has no number
        std::int64_t rowid = 0;  // of a table's row: the INTEGER PRIMARY KEY, which is NULL in `values`
        std::vector<Value> values;
    };

    // The contents of the files; both streams must outlive the object. `log`: the write-ahead log, or empty. No content
    // makes it throw.
    Wreck(std::istream& database, std::istream& log);

    // Calls `take` with each readable row, page by page. A row may come twice.
    void each_row(const std::function<void(const Row&)>& take);

private:
    // True if one of the files holds this page. A damaged frame of the log may name any page.
    [[nodiscard]] bool has(std::uint32_t number) const;
    [[nodiscard]] std::string page(std::uint32_t number);
    [[nodiscard]] std::string payload(std::string_view page, std::size_t at, std::uint64_t size, bool indexed);
    void each_row_of(std::string_view page, const std::function<void(const Row&)>& take);
    void read_log();

    std::istream& database_;
    std::istream& log_;
    std::map<std::uint32_t, std::uint64_t> logged_;  // by page: where its newest content is in the log
    std::uint32_t pages_ = 0;                        // pages of the database itself
};

}  // namespace happe::sqlite
