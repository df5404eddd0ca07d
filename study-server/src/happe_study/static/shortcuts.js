// SPDX-License-Identifier: GPL-2.0-or-later
// Keys of a page: each leads to a link, presses a button, or goes to a field that names it in data-shortcut.
"use strict";

const SETTING = "happe-shortcuts";
const box = document.getElementById("shortcuts");

if (box) {
    box.closest(".shortcuts").hidden = false;
    box.checked = localStorage.getItem(SETTING) !== "off";
    box.addEventListener("change", () => localStorage.setItem(SETTING, box.checked ? "on" : "off"));
    document.addEventListener("keydown", (event) => {
        const typing = event.target.closest("input:not([type=checkbox]):not([type=range]), textarea, select, [role=slider]");
        if (!box.checked || typing || event.ctrlKey || event.altKey || event.metaKey || event.key.length !== 1) {
            return;
        }
        const target = document.querySelector(`[data-shortcut="${CSS.escape(event.key.toLowerCase())}"]`);
        if (target) {
            event.preventDefault();
            target.focus();
            if (target.matches("a, button")) {
                target.click();
            }
        }
    });
}
