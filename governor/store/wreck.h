// SPDX-License-Identifier: GPL-2.0-or-later
// The rows in what is left of a damaged database. Pages are read one by one, without the tree that leads to them: a
// page that is damaged costs its own rows. https://www.sqlite.org/fileformat2.html
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
        bool indexed = false;    // it is of an index, and has no number
        std::int64_t rowid = 0;  // of a table's: its INTEGER PRIMARY KEY, which is NULL among the values
        std::vector<Value> values;
    };

    // The files' bytes, which must outlive this; `log` is the write-ahead log, or empty. Throws nothing for what they
    // hold.
    Wreck(std::istream& database, std::istream& log);

    // All that can be read, by page. A row may come twice.
    void each_row(const std::function<void(const Row&)>& take);

private:
    // A damaged frame of the log may name any page: only those that one of the files holds are there.
    [[nodiscard]] bool has(std::uint32_t number) const;
    [[nodiscard]] std::string page(std::uint32_t number);
    [[nodiscard]] std::string payload(std::string_view page, std::size_t at, std::uint64_t size, bool indexed);
    void each_row_of(std::string_view page, const std::function<void(const Row&)>& take);
    void read_log();

    std::istream& database_;
    std::istream& log_;
    std::map<std::uint32_t, std::uint64_t> logged_;  // where the log has a page's newest content
    std::uint32_t pages_ = 0;                        // of the database itself
};

}  // namespace happe::sqlite
