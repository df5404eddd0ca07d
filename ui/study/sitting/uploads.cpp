// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/sitting/uploads.h"

#include <nlohmann/json.hpp>

namespace happe::study {
namespace {

using Json = nlohmann::json;

Upload about_run(const std::string& run, const char* method, const std::string& what, std::string body) {
    return {.number = 0, .about = run, .method = method, .path = "runs/" + run + "/" + what, .body = std::move(body)};
}

}  // namespace

Upload end_of(const std::string& run) {
    return about_run(run, "PUT", "end", "");
}

Upload rating_of(const std::string& run, const std::string& id, int rating) {
    return about_run(run, "PUT", "rating", Json({{"id", id}, {"rating", rating}}).dump());
}

Upload guess_of(const std::string& run, const std::string& id, const std::string& choice) {
    return about_run(run, "PUT", "guess", Json({{"id", id}, {"guess", choice}}).dump());
}

Upload record_of(const std::string& run, const std::string& id, const std::string& record) {
    return about_run(run, "PUT", "record/" + id, record);
}

Upload abortion_of(const std::string& run, const std::string& reason) {
    return about_run(run, "POST", "abort", Json({{"reason", reason}}).dump());
}

Upload clock_of(const std::string& id, const std::string& boot, const std::vector<Probe>& probes) {
    return {.number = 0,
            .about = "clock",
            .method = "PUT",
            .path = "device/clocks/" + id,
            .body = Json({{"clock", "monotonic:" + boot}, {"probes", probes}}).dump()};
}

}  // namespace happe::study
