// SPDX-License-Identifier: GPL-2.0-or-later
// Tables of every page for staff: sorted by their headers, filtered in one line, saved as CSV, read on a phone row by row.
// The address has their state, so that it can be shared. Without scripts a table is as the server wrote it.
"use strict";

const FEW = 6; // rows that need no filter
const NONE = "\u2013"; // what pages write where there is nothing

const words = (cell) => cell.innerText.replace(/\s+/g, " ").trim();

// What a cell is sorted by: a moment, else its number, else its words.
function order(cell) {
    const moment = cell.querySelector("time");
    const text = moment ? moment.dateTime : words(cell);
    if (text === NONE || text === "") {
        return null;
    }
    const number = text.replace(/[\u202f,]/g, "").replace("\u2212", "-").match(/^[-+]?[0-9]+(\.[0-9]+)?/);
    const minutes = text.match(/^([0-9]+):([0-9]{2})(?:\.[0-9]+)?$/);
    if (minutes) {
        return 60 * Number(minutes[1]) + Number(minutes[2]);
    }
    return !moment && number && cell.classList.contains("number") ? Number(number[0]) : text.toLowerCase();
}

function compare(one, other) {
    if (one === null || other === null) {
        return (one === null) - (other === null);
    }
    return typeof one === typeof other && typeof one === "number" ? one - other : String(one).localeCompare(String(other));
}

class Rows {
    constructor(region, number) {
        this.region = region;
        this.table = region.querySelector("table");
        this.body = this.table.tBodies[0];
        this.heads = [...this.table.tHead.rows[0].cells];
        this.rows = [...this.body.rows];
        this.name = (region.id || region.getAttribute("aria-label") || `table ${number}`).toLowerCase().replace(/[^a-z0-9]+/g, "-");
        this.sorted = "";
        this.label();
        this.bar();
        this.heads.forEach((head, column) => this.head(head, column));
        this.recall();
        new ResizeObserver(() => this.fit()).observe(region);
    }

    // Roles survive where the style sheet turns rows into blocks, and each cell knows its column.
    label() {
        this.table.setAttribute("role", "table");
        for (const part of [this.table.tHead, this.body]) {
            part.setAttribute("role", "rowgroup");
        }
        for (const row of this.table.rows) {
            row.setAttribute("role", "row");
            [...row.cells].forEach((cell, column) => {
                const scope = cell.getAttribute("scope");
                cell.setAttribute("role", scope === "col" ? "columnheader" : scope === "row" ? "rowheader" : "cell");
                if (row.parentElement === this.body) {
                    cell.dataset.of = words(this.heads[column] ?? cell);
                }
            });
        }
    }

    bar() {
        const bar = document.createElement("div");
        bar.className = "table-bar";
        const name = this.region.getAttribute("aria-label");
        if (this.rows.length > FEW) {
            this.find = document.createElement("input");
            this.find.type = "search";
            this.find.placeholder = this.region.dataset.part === undefined ? "Filter" : "Filter these rows";
            this.find.setAttribute("aria-label", `${this.find.placeholder}: ${name}`);
            this.find.addEventListener("input", () => this.changed());
            bar.append(this.find);
        }
        this.count = document.createElement("span");
        this.count.className = "quiet";
        this.count.setAttribute("aria-live", "polite");
        const save = document.createElement("button");
        save.type = "button";
        save.className = "plain small";
        save.textContent = "Save as CSV";
        save.setAttribute("aria-label", `Save as CSV: ${name}`);
        save.addEventListener("click", () => this.save(name));
        bar.append(this.count, save);
        const both = document.createElement("div");
        both.className = "with-bar";
        this.region.replaceWith(both);
        both.append(bar, this.region);
    }

    head(head, column) {
        const link = head.querySelector("a");
        const drawn = this.rows[0]?.cells[column]?.querySelector("[role=img]");
        if (this.rows.length < 2 || link || drawn || !words(head) || this.rows.every((row) => !row.cells[column] || order(row.cells[column]) === null)) {
            return;
        }
        const button = document.createElement("button");
        button.type = "button";
        button.className = "sorter";
        button.append(...head.childNodes);
        button.addEventListener("click", () => {
            this.sorted = this.sorted === String(column) ? `-${column}` : String(column);
            this.changed();
        });
        head.append(button);
    }

    changed() {
        this.show();
        const address = new URL(location.href);
        for (const [key, value] of [["sort", this.sorted], ["find", this.find?.value ?? ""]]) {
            address.searchParams.delete(`${this.name}.${key}`);
            if (value) {
                address.searchParams.set(`${this.name}.${key}`, value);
            }
        }
        history.replaceState(history.state, "", address);
    }

    recall() {
        const asked = new URLSearchParams(location.search);
        const sorted = asked.get(`${this.name}.sort`) ?? "";
        this.sorted = /^-?[0-9]{1,2}$/.test(sorted) && Math.abs(Number(sorted)) < this.heads.length ? sorted : "";
        if (this.find) {
            this.find.value = asked.get(`${this.name}.find`) ?? "";
        }
        this.show();
    }

    show() {
        const back = this.sorted.startsWith("-");
        const column = this.sorted === "" ? null : Number(this.sorted.replace("-", ""));
        const rows = [...this.rows];
        if (column !== null) {
            const keys = new Map(rows.map((row) => [row, row.cells[column] ? order(row.cells[column]) : null]));
            rows.sort((one, other) => {
                const [left, right] = [keys.get(one), keys.get(other)];
                return left === null || right === null || !back ? compare(left, right) : -compare(left, right);
            });
        }
        const wanted = (this.find?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
        this.body.append(...rows);
        for (const row of rows) {
            const text = row.textContent.toLowerCase();
            row.hidden = !wanted.every((each) => text.includes(each));
        }
        this.heads.forEach((head, number) => {
            if (head.querySelector(".sorter")) {
                head.setAttribute("aria-sort", number === column ? (back ? "descending" : "ascending") : "none");
            }
        });
        const left = rows.filter((row) => !row.hidden).length;
        const of = left === rows.length ? `${left}` : `${left} of ${rows.length}`;
        const part = this.region.dataset.part === undefined ? "" : " of this page";
        this.count.textContent = this.find ? `${of} ${rows.length === 1 ? "row" : "rows"}${part}` : "";
    }

    // A table that fits needs no box that scrolls: its header then stays in view of the window.
    fit() {
        this.region.classList.remove("fits");
        this.region.classList.toggle("fits", this.table.scrollWidth <= this.region.clientWidth + 1);
    }

    save(name) {
        const quoted = (text) => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
        // A spreadsheet would run what begins like a formula.
        const safe = (text) => quoted(/^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text);
        const cell = (each) => {
            const moment = each.querySelector("time");
            const text = each.querySelector("[role=img][aria-label]")?.getAttribute("aria-label") ?? words(each);
            return safe(moment && words(moment) === text ? moment.dateTime : text === NONE ? "" : text);
        };
        const ticked = this.heads.map((_head, column) => Boolean(this.rows[0]?.cells[column]?.querySelector("input")));
        const lines = [this.table.tHead.rows[0], ...[...this.body.rows].filter((row) => !row.hidden)];
        const text = lines.map((row) => [...row.cells].filter((_cell, column) => !ticked[column]).map(cell).join(",")).join("\r\n");
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob([`${text}\r\n`], {type: "text/csv"}));
        link.download = `${document.title.split(" \u00b7 ")[0]} ${name}`.toLowerCase().replace(/[^a-z0-9]+/g, "-") + ".csv";
        link.click();
        URL.revokeObjectURL(link.href);
    }
}

function tablesOf(element) {
    const regions = [...element.querySelectorAll(".scroll[role=region]")].filter((region) => region.querySelector("table")?.tHead && !region.closest(".with-bar") && !region.closest(".listing"));
    regions.forEach((region, number) => new Rows(region, number));
}

document.addEventListener("htmx:afterSwap", () => tablesOf(document));
tablesOf(document);
