// SPDX-License-Identifier: GPL-2.0-or-later
// C++ values out of D-Bus messages. A type is a D-Bus type: std::vector is an array, std::tuple a structure.
#pragma once

#include <systemd/sd-bus.h>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace happe::ctl::wire {

template <typename T>
struct Type;

// A basic type that sd-bus reads into T.
template <typename T, char Code>
struct Basic {
    static std::string signature() { return {Code}; }
    static bool read(sd_bus_message* message, T& value) { return sd_bus_message_read_basic(message, Code, &value) > 0; }
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
struct Type<bool> {
    static std::string signature() { return "b"; }
    static bool read(sd_bus_message* message, bool& value) {
        int read = 0;
        const bool good = sd_bus_message_read_basic(message, SD_BUS_TYPE_BOOLEAN, &read) > 0;
        value = read != 0;
        return good;
    }
};

template <char Code>
struct TextType {
    static std::string signature() { return {Code}; }
    static bool read(sd_bus_message* message, std::string& value) {
        const char* text = nullptr;
        const bool good = sd_bus_message_read_basic(message, Code, static_cast<void*>(&text)) > 0;
        value = good ? text : "";
        return good;
    }
};

template <>
struct Type<std::string> : TextType<SD_BUS_TYPE_STRING> {};

// No value at all.
struct Nothing {};
template <>
struct Type<Nothing> {
    static std::string signature() { return ""; }
    static bool read(sd_bus_message* message, Nothing& /*value*/) { return sd_bus_message_at_end(message, 1) > 0; }
};

// An object's path, where a string would be another type.
struct ObjectPath {
    std::string value;
};
template <>
struct Type<ObjectPath> {
    static std::string signature() { return "o"; }
    static bool read(sd_bus_message* message, ObjectPath& path) {
        return TextType<SD_BUS_TYPE_OBJECT_PATH>::read(message, path.value);
    }
};

template <typename T>
struct Type<std::vector<T>> {
    static std::string signature() { return "a" + Type<T>::signature(); }
    static bool read(sd_bus_message* message, std::vector<T>& values) {
        if (sd_bus_message_enter_container(message, SD_BUS_TYPE_ARRAY, Type<T>::signature().c_str()) <= 0) {
            return false;
        }
        values.clear();
        while (sd_bus_message_at_end(message, 0) == 0) {
            if (T value{}; Type<T>::read(message, value)) {
                values.push_back(std::move(value));
            } else {
                return false;
            }
        }
        return sd_bus_message_exit_container(message) >= 0;
    }
};

template <typename... T>
struct Type<std::tuple<T...>> {
    static std::string inside() { return (Type<T>::signature() + ...); }
    static std::string signature() { return "(" + inside() + ")"; }
    static bool read(sd_bus_message* message, std::tuple<T...>& values) {
        return sd_bus_message_enter_container(message, SD_BUS_TYPE_STRUCT, inside().c_str()) > 0 &&
               std::apply([&](auto&... value) { return (Type<T>::read(message, value) && ...); }, values) &&
               sd_bus_message_exit_container(message) >= 0;
    }
};

// False if the message holds something else.
template <typename T>
bool read(sd_bus_message* message, T& value) {
    return Type<T>::read(message, value);
}

template <typename T>
bool read_variant(sd_bus_message* message, T& value) {
    return sd_bus_message_enter_container(message, SD_BUS_TYPE_VARIANT, Type<T>::signature().c_str()) > 0 &&
           read(message, value) && sd_bus_message_exit_container(message) >= 0;
}

// Calls take(name) at the value of each entry of an a{sv}; it reads the variant or says false.
template <typename Take>
bool read_dictionary(sd_bus_message* message, Take take) {
    if (sd_bus_message_enter_container(message, SD_BUS_TYPE_ARRAY, "{sv}") <= 0) {
        return false;
    }
    int entered = 0;
    while ((entered = sd_bus_message_enter_container(message, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
        std::string name;
        if (!read(message, name) || !take(name) || sd_bus_message_exit_container(message) < 0) {
            return false;
        }
    }
    return entered == 0 && sd_bus_message_exit_container(message) >= 0;
}

}  // namespace happe::ctl::wire
