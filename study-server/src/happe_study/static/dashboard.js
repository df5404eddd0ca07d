// SPDX-License-Identifier: GPL-2.0-or-later
// What htmx does not do by itself. Everything here can also be done by links and forms.
"use strict";

document.documentElement.classList.add("js");

// The study's progress asks for news while somebody can see it.
const EVERY_MS = 5000;

function askForNews() {
    const progress = document.getElementById("progress");
    if (progress && !document.hidden) {
        htmx.trigger(progress, "news");
    }
}
setInterval(askForNews, EVERY_MS);
document.addEventListener("visibilitychange", askForNews);

// If somebody is signed out meanwhile, or may no longer see it, the whole page says so.
document.addEventListener("htmx:beforeSwap", (event) => {
    const {target, serverResponse} = event.detail;
    if (event.detail.shouldSwap && !serverResponse.includes(`id="${target.id}`)) {
        event.detail.shouldSwap = false;
        location.reload();
    }
});

// One sentence says what changed, and only if it did.
document.addEventListener("htmx:afterSwap", (event) => {
    const news = event.target.querySelector("[data-said]");
    const said = document.getElementById("progress-said");
    if (news && said && said.textContent !== news.dataset.said) {
        said.textContent = news.dataset.said;
    }
});
