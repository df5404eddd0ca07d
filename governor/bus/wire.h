// SPDX-License-Identifier: GPL-2.0-or-later
// Reads and appends C++ values in D-Bus messages. Each C++ type has a D-Bus type: std::vector is an array, a struct is
// a structure of its members, std::map is a dictionary. daemon_types.h adds the governor's types.
#pragma once

#include "governor/system/file_descriptor.h"

#include <fcntl.h>
#include <systemd/sd-bus.h>
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace happe::wire {

// Each Type<T> has signature(), read() and append(). read() returns nothing if the message has another type or a value
// that is not a T. append() returns false if the message does not accept the value.
template <typename T>
struct Type;

// A basic type that sd-bus reads and appends as it is.
template <typename T, char Code>
struct Basic {
    static std::string signature() { return {Code}; }
    static std::optional<T> read(sd_bus_message* message) {
        T value{};
        return sd_bus_message_read_basic(message, Code, &value) > 0 ? std::optional(value) : std::nullopt;
    }
    static bool append(sd_bus_message* message, T value) {
        return sd_bus_message_append_basic(message, Code, &value) >= 0;
    }
};
template <>
struct Type<std::uint8_t> : Basic<std::uint8_t, SD_BUS_TYPE_BYTE> {};
template <>
struct Type<std::uint16_t> : Basic<std::uint16_t, SD_BUS_TYPE_UINT16> {};
template <>
struct Type<std::uint32_t> : Basic<std::uint32_t, SD_BUS_TYPE_UINT32> {};
template <>
struct Type<std::int64_t> : Basic<std::int64_t, SD_BUS_TYPE_INT64> {};
template <>
struct Type<std::uint64_t> : Basic<std::uint64_t, SD_BUS_TYPE_UINT64> {};

template <>
struct Type<bool> {
    static std::string signature() { return "b"; }
    static std::optional<bool> read(sd_bus_message* message) {
        int value = 0;
        const bool good = sd_bus_message_read_basic(message, SD_BUS_TYPE_BOOLEAN, &value) > 0;
        return good ? std::optional(value != 0) : std::nullopt;
    }
    static bool append(sd_bus_message* message, bool value) {
        const int number = value ? 1 : 0;
        return sd_bus_message_append_basic(message, SD_BUS_TYPE_BOOLEAN, &number) >= 0;
    }
};

template <char Code>
struct Text {
    static std::string signature() { return {Code}; }
    static std::optional<std::string> read(sd_bus_message* message) {
        const char* text = nullptr;
        const bool good = sd_bus_message_read_basic(message, Code, static_cast<void*>(&text)) > 0;
        return good ? std::optional<std::string>(text) : std::nullopt;
    }
    static bool append(sd_bus_message* message, const std::string& text) {
        return sd_bus_message_append_basic(message, Code, text.c_str()) >= 0;
    }
};
template <>
struct Type<std::string> : Text<SD_BUS_TYPE_STRING> {};

// An object's path, which is not a string on the bus.
struct ObjectPath {
    std::string value;
};
template <>
struct Type<ObjectPath> {
    static std::string signature() { return "o"; }
    static std::optional<ObjectPath> read(sd_bus_message* message) {
        auto text = Text<SD_BUS_TYPE_OBJECT_PATH>::read(message);
        return text ? std::optional(ObjectPath{*std::move(text)}) : std::nullopt;
    }
};

// A message closes its descriptor at its end, so reading makes a duplicate.
template <>
struct Type<FileDescriptor> {
    static std::string signature() { return "h"; }
    static std::optional<FileDescriptor> read(sd_bus_message* message) {
        const auto file = Basic<int, SD_BUS_TYPE_UNIX_FD>::read(message);
        FileDescriptor own(file ? ::fcntl(*file, F_DUPFD_CLOEXEC, 3) : -1);
        return own ? std::optional(std::move(own)) : std::nullopt;
    }
    static bool append(sd_bus_message* message, const FileDescriptor& file) {
        return Basic<int, SD_BUS_TYPE_UNIX_FD>::append(message, file.get());
    }
};

// A type that travels as another one. Convert has the type `Wire`, of(T) -> Wire, and from(Wire) -> std::optional<T>.
template <typename T, typename Convert>
struct Converted {
    using Wire = typename Convert::Wire;
    static std::string signature() { return Type<Wire>::signature(); }
    static std::optional<T> read(sd_bus_message* message) {
        auto wire = Type<Wire>::read(message);
        return wire ? Convert::from(*std::move(wire)) : std::nullopt;
    }
    static bool append(sd_bus_message* message, const T& value) {
        return Type<Wire>::append(message, Convert::of(value));
    }
};

// A struct with one member, such as Khz, travels as that member.
template <typename T, auto Member>
struct Wrapped {
    using Inner = std::remove_reference_t<decltype(std::declval<T&>().*Member)>;
    static std::string signature() { return Type<Inner>::signature(); }
    static std::optional<T> read(sd_bus_message* message) {
        auto inner = Type<Inner>::read(message);
        return inner ? std::optional(T{*std::move(inner)}) : std::nullopt;
    }
    static bool append(sd_bus_message* message, const T& value) { return Type<Inner>::append(message, value.*Member); }
};

// Enters a container with these element types, and reads or appends its elements.
template <char Kind, typename... T>
struct Container {
    static std::string inside() { return (Type<T>::signature() + ...); }
    template <typename Read>
    static auto read(sd_bus_message* message, const Read& elements) -> decltype(elements()) {
        if (sd_bus_message_enter_container(message, Kind, inside().c_str()) <= 0) {
            return std::nullopt;
        }
        auto value = elements();
        return value && sd_bus_message_exit_container(message) >= 0 ? std::move(value) : std::nullopt;
    }
    template <typename Append>
    static bool append(sd_bus_message* message, const Append& elements) {
        return sd_bus_message_open_container(message, Kind, inside().c_str()) >= 0 && elements() &&
               sd_bus_message_close_container(message) >= 0;
    }
};

template <typename T>
struct Type<std::vector<T>> {
    using Array = Container<SD_BUS_TYPE_ARRAY, T>;
    static std::string signature() { return "a" + Type<T>::signature(); }
    static std::optional<std::vector<T>> read(sd_bus_message* message) {
        return Array::read(message, [&]() -> std::optional<std::vector<T>> {
            std::vector<T> values;
            while (sd_bus_message_at_end(message, 0) == 0) {
                auto value = Type<T>::read(message);
                if (!value) {
                    return std::nullopt;
                }
                values.push_back(*std::move(value));
            }
            return values;
        });
    }
    static bool append(sd_bus_message* message, const std::vector<T>& values) {
        return Array::append(message, [&] {
            return std::ranges::all_of(values, [&](const T& value) { return Type<T>::append(message, value); });
        });
    }
};

// A structure of several values, the arguments of T's constructor.
template <typename T, typename... Part>
struct Parts {
    using All = Container<SD_BUS_TYPE_STRUCT, Part...>;
    static std::optional<T> read(sd_bus_message* message) {
        return All::read(message, [&] { return after(message); });
    }
    static bool append(sd_bus_message* message, const Part&... parts) {
        return All::append(message, [&] { return (Type<Part>::append(message, parts) && ...); });
    }

private:
    // Reads the remaining parts.
    template <typename... Read>
    static std::optional<T> after(sd_bus_message* message, Read&&... read) {
        if constexpr (sizeof...(Read) == sizeof...(Part)) {
            return T{std::forward<Read>(read)...};
        } else {
            using Next = std::tuple_element_t<sizeof...(Read), std::tuple<Part...>>;
            auto next = Type<Next>::read(message);
            return next ? after(message, std::forward<Read>(read)..., *std::move(next)) : std::nullopt;
        }
    }
};

// A struct T as a structure of all its members, in their order.
template <typename T, auto... Member>
struct Structure {
    using All = Parts<T, std::remove_reference_t<decltype(std::declval<T&>().*Member)>...>;
    static std::string signature() { return "(" + All::All::inside() + ")"; }
    static std::optional<T> read(sd_bus_message* message) { return All::read(message); }
    static bool append(sd_bus_message* message, const T& value) { return All::append(message, value.*Member...); }
};

template <typename... T>
struct Type<std::tuple<T...>> {
    using All = Parts<std::tuple<T...>, T...>;
    static std::string signature() { return "(" + All::All::inside() + ")"; }
    static std::optional<std::tuple<T...>> read(sd_bus_message* message) { return All::read(message); }
    static bool append(sd_bus_message* message, const std::tuple<T...>& value) {
        return std::apply([&](const T&... part) { return All::append(message, part...); }, value);
    }
};

template <typename K, typename V>
struct Type<std::map<K, V>> {
    using Entry = Container<SD_BUS_TYPE_DICT_ENTRY, K, V>;
    static std::string in_braces() { return "{" + Entry::inside() + "}"; }
    static std::string signature() { return "a" + in_braces(); }
    static std::optional<std::map<K, V>> read(sd_bus_message* message) {
        std::map<K, V> values;
        const auto read_entry = [&]() -> std::optional<bool> {
            auto key = Type<K>::read(message);
            auto value = key ? Type<V>::read(message) : std::nullopt;
            return value ? std::optional(values.emplace(*std::move(key), *std::move(value)).second) : std::nullopt;
        };
        bool good = sd_bus_message_enter_container(message, SD_BUS_TYPE_ARRAY, in_braces().c_str()) > 0;
        while (good && sd_bus_message_at_end(message, 0) == 0) {
            good = Entry::read(message, read_entry).has_value();
        }
        good = good && sd_bus_message_exit_container(message) >= 0;
        return good ? std::optional(std::move(values)) : std::nullopt;
    }
    static bool append(sd_bus_message* message, const std::map<K, V>& values) {
        bool good = sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, in_braces().c_str()) >= 0;
        for (auto it = values.begin(); good && it != values.end(); ++it) {
            good = Entry::append(
                message, [&] { return Type<K>::append(message, it->first) && Type<V>::append(message, it->second); });
        }
        return good && sd_bus_message_close_container(message) >= 0;
    }
};

// A variant that holds this type.
template <typename T>
std::optional<T> read_variant(sd_bus_message* message) {
    return Container<SD_BUS_TYPE_VARIANT, T>::read(message, [&] { return Type<T>::read(message); });
}
template <typename T>
bool append_variant(sd_bus_message* message, const T& value) {
    return Container<SD_BUS_TYPE_VARIANT, T>::append(message, [&] { return Type<T>::append(message, value); });
}

// The signature of the value in the next variant; empty if the next value is not a variant.
inline std::string_view type_in_variant(sd_bus_message* message) {
    char type = 0;
    const char* contents = nullptr;
    return sd_bus_message_peek_type(message, &type, &contents) > 0 && type == SD_BUS_TYPE_VARIANT ? contents : "";
}

// A variant with one of these types. Any other type reads as nothing.
template <typename... T>
struct Type<std::variant<T...>> {
    using Value = std::variant<T...>;
    static std::string signature() { return "v"; }
    static std::optional<Value> read(sd_bus_message* message) {
        const std::string_view type = type_in_variant(message);
        std::optional<Value> value;
        const auto take = [&]<typename One>() {
            if (type == Type<One>::signature()) {
                value = read_variant<One>(message);
            }
            return value.has_value();
        };
        static_cast<void>((take.template operator()<T>() || ...));
        return value;
    }
    static bool append(sd_bus_message* message, const Value& value) {
        return std::visit([&](const auto& one) { return append_variant(message, one); }, value);
    }
};

// Calls take(name) before the value of each entry of an a{sv}. take() reads or skips the variant, or returns false to
// stop.
template <typename Take>
bool read_dictionary(sd_bus_message* message, Take take) {
    if (sd_bus_message_enter_container(message, SD_BUS_TYPE_ARRAY, "{sv}") <= 0) {
        return false;
    }
    int entered = 0;
    while ((entered = sd_bus_message_enter_container(message, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
        const auto name = Type<std::string>::read(message);
        if (!name || !take(*name) || sd_bus_message_exit_container(message) < 0) {
            return false;
        }
    }
    return entered == 0 && sd_bus_message_exit_container(message) >= 0;
}
template <typename T>
bool append_entry(sd_bus_message* message, const std::string& name, const T& value) {
    return sd_bus_message_open_container(message, SD_BUS_TYPE_DICT_ENTRY, "sv") >= 0 &&
           Type<std::string>::append(message, name) && append_variant(message, value) &&
           sd_bus_message_close_container(message) >= 0;
}

}  // namespace happe::wire
