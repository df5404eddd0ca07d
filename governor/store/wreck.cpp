// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/store/wreck.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace happe::sqlite {
namespace {

constexpr unsigned char kInnerIndex = 0x02;
constexpr unsigned char kLeafIndex = 0x0A;
constexpr unsigned char kLeafTable = 0x0D;

constexpr std::size_t kLogHeader = 32;
constexpr std::size_t kFrameHeader = 24;
constexpr std::size_t kSaltsOfLog = 16;
constexpr std::size_t kSaltsOfFrame = 8;
constexpr std::size_t kSalts = 8;

constexpr std::uint64_t kLongestRow = 65'536;  // ours have at most 9,000 bytes

// The bytes of a row that lie on its page if the row does not fit there (section 1.6 of the format).
constexpr std::uint64_t kMostOfTable = Wreck::kPageSize - 35;
constexpr std::uint64_t kMostOfIndex = ((Wreck::kPageSize - 12) * 64 / 255) - 23;
constexpr std::uint64_t kLeast = ((Wreck::kPageSize - 12) * 32 / 255) - 23;
constexpr std::uint64_t kOnOverflowPage = Wreck::kPageSize - 4;

// Numbers are big-endian. Bytes outside the page count as nothing.
class Cursor {
public:
    explicit Cursor(std::string_view bytes, std::size_t at = 0) : bytes_(bytes), at_(at) {}

    [[nodiscard]] std::size_t at() const { return at_; }
    [[nodiscard]] bool sound() const { return sound_; }

    std::uint64_t number(std::size_t size) {
        std::uint64_t value = 0;
        for (const char byte : bytes(size)) {
            value = value << 8U | static_cast<unsigned char>(byte);
        }
        return value;
    }
    std::int64_t integer(std::size_t size) {
        const std::uint64_t value = number(size);
        const std::size_t unused = 64 - (8 * size);
        return static_cast<std::int64_t>(value << unused) >> unused;
    }
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (int n = 0; n < 8; ++n) {
            const std::uint64_t byte = number(1);
            value = value << 7U | (byte & 0x7FU);
            if (byte < 0x80) {
                return value;
            }
        }
        return value << 8U | number(1);
    }
    std::string_view bytes(std::uint64_t size) {
        if (at_ > bytes_.size() || size > bytes_.size() - at_) {
            sound_ = false;
            return {};
        }
        const std::size_t from = std::exchange(at_, at_ + static_cast<std::size_t>(size));
        return bytes_.substr(from, static_cast<std::size_t>(size));
    }

private:
    std::string_view bytes_;
    std::size_t at_;
    bool sound_ = true;
};

// Nothing for a type that our columns do not use.
std::optional<Wreck::Value> value_of(std::uint64_t type, Cursor& body) {
    constexpr std::array<std::size_t, 7> kSizes{0, 1, 2, 3, 4, 6, 8};
    if (type == 0) {
        return Wreck::Value();
    }
    if (type < kSizes.size()) {
        return body.integer(kSizes.at(static_cast<std::size_t>(type)));
    }
    if (type == 8 || type == 9) {
        return std::int64_t(type - 8);
    }
    if (type >= 13 && type % 2 == 1) {
        return std::string(body.bytes((type - 13) / 2));
    }
    return std::nullopt;
}

std::optional<std::vector<Wreck::Value>> values_of(std::string_view record) {
    Cursor head(record);
    const std::uint64_t size = head.varint();
    if (!head.sound() || size > record.size()) {
        return std::nullopt;
    }
    Cursor body(record, static_cast<std::size_t>(size));
    std::vector<Wreck::Value> values;
    while (head.at() < size) {
        auto value = value_of(head.varint(), body);
        if (!value || !head.sound() || !body.sound()) {
            return std::nullopt;
        }
        values.push_back(*std::move(value));
    }
    return values;
}

std::string read(std::istream& stream, std::uint64_t at, std::size_t size) {
    std::string bytes(size, '\0');
    stream.clear();
    stream.seekg(static_cast<std::streamoff>(at));
    stream.read(bytes.data(), static_cast<std::streamsize>(size));
    bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
    return bytes;
}

}  // namespace

Wreck::Wreck(std::istream& database, std::istream& log) : database_(database), log_(log) {
    database_.seekg(0, std::ios::end);
    const auto size = static_cast<std::int64_t>(database_.tellg());
    pages_ = static_cast<std::uint32_t>(std::max<std::int64_t>(size, 0) / static_cast<std::int64_t>(kPageSize));
    read_log();
}

// Reads the frames up to the last one that ends a transaction.
void Wreck::read_log() {
    const std::string salts = read(log_, kSaltsOfLog, kSalts);
    std::map<std::uint32_t, std::uint64_t> open;
    for (std::uint64_t at = kLogHeader;; at += kFrameHeader + kPageSize) {
        const std::string frame = read(log_, at, kFrameHeader);
        if (frame.size() < kFrameHeader || frame.compare(kSaltsOfFrame, kSalts, salts) != 0) {
            return;
        }
        Cursor header(frame);
        const auto number = static_cast<std::uint32_t>(header.number(4));
        open.insert_or_assign(number, at + kFrameHeader);
        if (header.number(4) != 0) {
            open.merge(logged_);
            logged_ = std::exchange(open, {});
        }
    }
}

bool Wreck::has(std::uint32_t number) const {
    return number != 0 && (number <= pages_ || logged_.contains(number));
}

std::string Wreck::page(std::uint32_t number) {
    const auto logged = logged_.find(number);
    std::string found = logged != logged_.end() ? read(log_, logged->second, kPageSize)
                                                : read(database_, (std::uint64_t{number} - 1) * kPageSize, kPageSize);
    found.resize(kPageSize);
    return found;
}

// The rest of a row that does not fit on its page is in a chain of other pages.
std::string Wreck::payload(std::string_view page_of_row, std::size_t at, std::uint64_t size, bool indexed) {
    const std::uint64_t most = indexed ? kMostOfIndex : kMostOfTable;
    if (size > kLongestRow) {
        return {};
    }
    const std::uint64_t wished = kLeast + ((size - kLeast) % kOnOverflowPage);
    const std::uint64_t local = size <= most ? size : (wished <= most ? wished : kLeast);
    Cursor cell(page_of_row, at);
    std::string whole(cell.bytes(local));
    auto next = static_cast<std::uint32_t>(whole.size() < size ? cell.number(4) : 0);
    while (cell.sound() && whole.size() < size && has(next)) {
        const std::string more = page(next);
        Cursor chain(more);
        next = static_cast<std::uint32_t>(chain.number(4));
        whole += chain.bytes(std::min(size - whole.size(), kOnOverflowPage));
    }
    return whole.size() == size ? whole : std::string();
}

// The first page has the file's own header, and the tables' definitions.
void Wreck::each_row(const std::function<void(const Row&)>& take) {
    for (std::uint32_t number = 2; number <= pages_; ++number) {
        each_row_of(page(number), take);
    }
    for (auto added = logged_.upper_bound(std::max(pages_, 1U)); added != logged_.end(); ++added) {
        each_row_of(page(added->first), take);
    }
}

void Wreck::each_row_of(std::string_view bytes, const std::function<void(const Row&)>& take) {
    const auto type = static_cast<unsigned char>(bytes.front());
    if (type != kInnerIndex && type != kLeafIndex && type != kLeafTable) {
        return;
    }
    const std::size_t first = type == kInnerIndex ? 12 : 8;
    const std::size_t cells = std::min<std::size_t>(Cursor(bytes, 3).number(2), (kPageSize - first) / 2);
    for (std::size_t n = 0; n < cells; ++n) {
        const auto at = static_cast<std::size_t>(Cursor(bytes, first + (2 * n)).number(2));
        Cursor cell(bytes, type == kInnerIndex ? at + 4 : at);
        const std::uint64_t size = cell.varint();
        const bool indexed = type != kLeafTable;
        const auto rowid = static_cast<std::int64_t>(indexed ? 0 : cell.varint());
        if (auto values = cell.sound() ? values_of(payload(bytes, cell.at(), size, indexed)) : std::nullopt) {
            take({indexed, rowid, *std::move(values)});
        }
    }
}

}  // namespace happe::sqlite
