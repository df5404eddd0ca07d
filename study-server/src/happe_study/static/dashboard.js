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

// Who is signed out meanwhile, or may not see it any more, is told so by the whole page.
document.addEventListener("htmx:beforeSwap", (event) => {
    const {target, serverResponse} = event.detail;
    if (event.detail.shouldSwap && !serverResponse.includes(`id="${target.id}`)) {
        event.detail.shouldSwap = false;
        location.reload();
    }
});

// What changed is said in one sentence, and only if it did.
document.addEventListener("htmx:afterSwap", (event) => {
    const news = event.target.querySelector("[data-said]");
    const said = document.getElementById("progress-said");
    if (news && said && said.textContent !== news.dataset.said) {
        said.textContent = news.dataset.said;
    }
});

// Dragging over a chart chooses a part of the run; a click looks closer there.
const LEAST_PIXELS = 5;
const CLOSER = 4;
const LEAST_SECONDS = 1e-4;
let drag = null;

function share(plot, x) {
    const box = plot.getBoundingClientRect();
    return Math.min(Math.max((x - box.left) / box.width, 0), 1);
}

function showChosen() {
    const plots = document.querySelectorAll("#figure .plot");
    for (const plot of plots) {
        const room = plot.parentElement;
        let chosen = room.querySelector(".chosen");
        if (!chosen) {
            chosen = document.createElement("div");
            chosen.className = "chosen";
            room.append(chosen);
        }
        const width = plot.getBoundingClientRect().width;
        const left = Math.min(drag.from, drag.to) * width;
        chosen.style.left = `${plot.getBoundingClientRect().left - room.getBoundingClientRect().left + left}px`;
        chosen.style.width = `${Math.abs(drag.to - drag.from) * width}px`;
    }
}

function forget() {
    drag = null;
    for (const chosen of document.querySelectorAll(".chosen")) {
        chosen.remove();
    }
}

function draw(begin, end) {
    const figure = document.getElementById("figure");
    const from = Number(figure.dataset.from);
    const span = Number(figure.dataset.to) - from;
    if ((end - begin) * span < LEAST_SECONDS) {
        return;
    }
    const query = new URLSearchParams({from: (from + begin * span).toFixed(6), to: (from + end * span).toFixed(6)});
    const address = `${figure.dataset.address}?${query}`;
    htmx.ajax("GET", address, {target: "#figure", select: "#figure", swap: "outerHTML"}).then(() => {
        history.pushState({htmx: true}, "", address);
    });
}

document.addEventListener("pointerdown", (event) => {
    const plot = event.target.closest("#figure .stack .room")?.querySelector(".plot");
    if (plot && event.button === 0 && event.isPrimary) {
        const at = share(plot, event.clientX);
        drag = {plot, x: event.clientX, from: at, to: at};
        event.preventDefault();
    }
});
document.addEventListener("pointermove", (event) => {
    if (drag) {
        drag.to = share(drag.plot, event.clientX);
        showChosen();
    }
});
document.addEventListener("pointerup", (event) => {
    if (!drag) {
        return;
    }
    const moved = Math.abs(event.clientX - drag.x) >= LEAST_PIXELS;
    const [begin, end] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
    forget();
    if (moved) {
        draw(begin, end);
    } else {
        const left = Math.min(Math.max(begin - 0.5 / CLOSER, 0), 1 - 1 / CLOSER);
        draw(left, left + 1 / CLOSER);
    }
});
document.addEventListener("pointercancel", forget);
document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && drag) {
        forget();
    }
});
