// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as what was sealed: the one error, or a plan that a run can be, whose every field stands in the document.
// Shorter input is filled up to the one length with the document's own padding, or mutation would hardly ever meet it.
#include "governor/documents/sealed_condition.h"

#include <cstdlib>

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

bool stands_in(const std::string& document, const std::string& value) {
    return document.find('"' + value + '"') != std::string::npos;
}

// {"a":1,"pad":"..."}: as many dots as it takes.
std::string filled_up(std::string document) {
    const auto end = document.rfind("\"}");
    if (end != std::string::npos && document.size() < happe::kSealedDocumentBytes) {
        document.insert(end, happe::kSealedDocumentBytes - document.size(), '.');
    }
    return document;
}

void check(const std::string& document) {
    const auto read = happe::read_sealed_condition(document);
    if (!read) {
        require(read.error().message == "holds no document that this version knows");
        return;
    }
    const happe::RunPlan& plan = read->plan;
    require(document.size() == happe::kSealedDocumentBytes);
    for (const std::string& value : {read->study, read->run, plan.condition, plan.subject}) {
        require(stands_in(document, value));
    }
    require(stands_in(document, plan.application));
    require(plan.condition == "ondemand" || (!plan.sampling_rate_us && !plan.up_threshold));
    require(plan.condition.ends_with("-HAPPE") || plan.sham);
    require(plan.condition != "B-HAPPE" || plan.indicator);
    require(!plan.up_threshold || (*plan.up_threshold >= 1 && *plan.up_threshold <= 100));
    require(!plan.sampling_rate_us || (*plan.sampling_rate_us >= 1 && *plan.sampling_rate_us <= 10'000'000));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string document(reinterpret_cast<const char*>(data), size);
    check(document);
    check(filled_up(document));
    return 0;
}
