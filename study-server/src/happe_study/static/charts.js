// SPDX-License-Identifier: GPL-2.0-or-later
// Draws the charts of a page with uPlot, from the values that the server wrote beside its own drawing. The charts of one
// stack share a crosshair: one line of values above them, which is a slider, so that arrow keys read every value.
"use strict";

const REDRAW_MS = 200; // after the last turn of the wheel or key, a part of a run is asked for
const LEAST_SECONDS = 1e-4;
const CLOSER = 2;
const NEAR = 0.006; // of the width: how far the crosshair may be from a press that it names
const AXIS_WIDTH = 58;
const AXIS_HEIGHT = 30;
const ROOM = 0.01; // of the height, above and below

// Where a value lies between an axis's ends, 0 to 1; as happe_study.base.charts.axes has it.
function share(axis, value) {
    const {low, high, steps} = axis;
    if (!steps.length) {
        return (value - low) / (high - low);
    }
    const places = [low, ...steps, high];
    const at = [0, ...steps.map((_step, number) => number + 0.5), steps.length];
    const found = places.findIndex((place) => place > value);
    const above = found < 0 ? places.length - 1 : Math.max(found, 1);
    const part = (value - places[above - 1]) / (places[above] - places[above - 1]);
    return (at[above - 1] + Math.min(Math.max(part, 0), 1) * (at[above] - at[above - 1])) / steps.length;
}

function inWords(axis, value) {
    if (axis.kind === "categories") {
        const number = Math.min(Math.max(Math.floor(value), 0), axis.ticks.length - 1);
        return `${axis.title.split(":")[0]} ${axis.ticks[number][2]}`;
    }
    if (axis.kind !== "seconds") {
        return String(Number(value.toPrecision(5)));
    }
    const digits = Math.min(Math.max(Math.ceil(2 - Math.log10((axis.high - axis.low) / 10)), 1), 6);
    const minutes = Math.floor(value / 60);
    return `${minutes}:${(value - 60 * minutes).toFixed(digits).padStart(3 + digits, "0")}`;
}

// What a layer has at a value of x, in words; "" for nothing.
function valueAt(layer, x, unit) {
    let low = 0;
    let high = layer.points.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (layer.at[middle] <= x) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let found = layer.points[low - 1];
    const next = layer.points[low];
    if (layer.kind !== "step" && found && next && layer.at[low] - x < x - layer.at[low - 1]) {
        found = next;
    }
    if (!found) {
        return "";
    }
    const figures = found.slice(1).map((value) => Number(value.toPrecision(4)));
    return `${figures.join(" to ")}${unit ? " " : ""}${unit}`;
}

// Colours and dashes are the style sheet's: read from shapes of these classes that nobody sees.
function look(kind, classes, host) {
    const probe = document.createElement("div");
    probe.className = "probe";
    const space = "http://www.w3.org/2000/svg";
    const box = document.createElementNS(space, "svg");
    const outer = document.createElementNS(space, kind === "mark" ? "svg" : "g");
    const path = document.createElementNS(space, kind === "span" ? "rect" : "path");
    (kind === "mark" ? outer : path).setAttribute("class", `${kind} ${classes}`);
    outer.append(path);
    box.append(outer);
    probe.append(box);
    host.append(probe);
    const {stroke, fill, fillOpacity, strokeWidth, strokeDasharray} = getComputedStyle(path);
    probe.remove();
    const dash = strokeDasharray === "none" ? [] : strokeDasharray.split(/[ ,]+/).map(parseFloat);
    return {stroke, fill, fillOpacity: Number(fillOpacity), width: parseFloat(strokeWidth), dash};
}

// Charts that share a crosshair, and a part of a run where they are of one.
class Stack {
    constructor(element) {
        this.element = element;
        this.figure = element.closest("#figure");
        this.charts = [];
        this.at = null;
        this.waiting = 0;
        this.line = document.createElement("div");
        this.line.className = "crosshair";
        this.line.tabIndex = 0;
        this.line.setAttribute("role", "slider");
        element.prepend(this.line);
        this.line.addEventListener("keydown", (event) => this.key(event));
        this.line.addEventListener("wheel", (event) => this.wheel(event), {passive: false});
    }

    get x() {
        return this.charts[0].content.x;
    }

    get zooms() {
        return this.figure !== null;
    }

    add(chart) {
        this.charts.push(chart);
        this.line.id ||= `values-${chart.content.key}`;
    }

    // Values of x at which something is drawn within the part in sight, ascending.
    places() {
        const found = new Set();
        for (const {content} of this.charts) {
            for (const layer of content.layers) {
                if (layer.at) {
                    layer.points.forEach((point, number) => point && found.add(layer.at[number]));
                }
                for (const mark of layer.marks ?? []) {
                    found.add(mark[0]);
                }
            }
        }
        const {low, high} = this.x;
        return [...found].filter((at) => at >= low && at <= high).sort((one, other) => one - other);
    }

    presses() {
        const marks = this.charts.flatMap(({content}) => content.layers.flatMap((each) => each.marks ?? []));
        return marks.filter((mark) => mark[2]).map((mark) => mark[0]).sort((one, other) => one - other);
    }

    said() {
        const {low, high} = this.x;
        const found = [];
        for (const {content} of this.charts) {
            let chart = this.charts.length > 1 ? `${content.title}: ` : ""; // before its first value
            for (const layer of content.layers) {
                if (layer.at) {
                    const value = valueAt(layer, this.at, content.y.title.split(",").pop().trim());
                    found.push([layer.name ? chart + layer.name : content.title, value || "nothing"]);
                    chart = "";
                }
                for (const mark of layer.marks ?? []) {
                    if (mark[2] && Math.abs(mark[0] - this.at) <= NEAR * (high - low)) {
                        found.push(["", mark[2]]);
                    }
                }
            }
        }
        return found;
    }

    // Put the crosshair somewhere; null: nowhere.
    move(at) {
        const {low, high} = this.x;
        this.at = at === null ? null : Math.min(Math.max(at, low), high);
        for (const chart of this.charts) {
            chart.cross(this.at);
        }
        this.show();
    }

    show() {
        const {low, high} = this.x;
        const words = this.at === null ? "" : inWords(this.x, this.at);
        const said = this.at === null ? [] : this.said();
        const whole = [words, ...said.map(([name, value]) => `${name} ${value}`.trim())].filter(Boolean).join(", ");
        const keys = this.zooms ? "arrow keys read values, P and Shift+P go to presses, + and − zoom, 0 shows all" : "arrow keys read values";
        const names = this.charts.map(({content}) => content.title).join(", ");
        this.line.setAttribute("aria-label", `Values of ${names}`);
        this.line.setAttribute("aria-valuemin", low);
        this.line.setAttribute("aria-valuemax", high);
        this.line.setAttribute("aria-valuenow", this.at ?? low);
        this.line.setAttribute("aria-valuetext", whole || `nothing chosen: ${keys}`);
        this.line.replaceChildren();
        const add = (kind, name, value) => {
            const span = document.createElement("span");
            span.className = kind;
            const strong = document.createElement("b");
            strong.textContent = value;
            span.append(name ? `${name} ` : "", strong);
            this.line.append(span);
        };
        if (this.at === null) {
            const help = document.createElement("span");
            help.className = "help";
            help.textContent = this.zooms ? `Point at a chart for values, drag to zoom. Here, ${keys}.` : "For values, point at the chart or press arrow keys here.";
            this.line.append(help);
            return;
        }
        add("value", "", words);
        for (const [name, value] of said) {
            add("value", name, value);
        }
    }

    key(event) {
        if (event.ctrlKey || event.altKey || event.metaKey) {
            return;
        }
        const {low, high} = this.x;
        const at = this.at ?? low;
        const next = (places, back) => back ? places.filter((place) => place < at - 1e-9).pop() : places.find((place) => place > at + 1e-9);
        const step = (back) => {
            const places = this.places();
            const far = back ? places.findLastIndex((place) => place < at - 1e-9) : places.findIndex((place) => place > at + 1e-9);
            const many = (event.shiftKey ? 9 : 0) * (back ? -1 : 1);
            this.move(far < 0 ? (back ? low : high) : places[Math.min(Math.max(far + many, 0), places.length - 1)]);
        };
        const moves = {
            ArrowRight: () => step(false),
            ArrowUp: () => step(false),
            ArrowLeft: () => step(true),
            ArrowDown: () => step(true),
            Home: () => this.move(low),
            End: () => this.move(high),
            Escape: () => this.move(null),
            p: () => this.move(next(this.presses(), false) ?? at),
            P: () => this.move(next(this.presses(), true) ?? at),
        };
        const zooms = {
            "+": () => this.zoom(1 / CLOSER, at),
            "=": () => this.zoom(1 / CLOSER, at),
            "-": () => this.zoom(CLOSER, at),
            "0": () => this.draw(0, Infinity),
            PageUp: () => this.draw(low - (high - low) / 2, high - (high - low) / 2),
            PageDown: () => this.draw(low + (high - low) / 2, high + (high - low) / 2),
        };
        const does = moves[event.key] ?? (this.zooms ? zooms[event.key] : undefined);
        if (does) {
            event.preventDefault();
            does();
        }
    }

    // The wheel zooms while the line of values has the focus, or with Ctrl; else the page scrolls.
    wheel(event, at) {
        if (this.zooms && event.deltaY && (event.ctrlKey || document.activeElement === this.line)) {
            event.preventDefault();
            this.zoom(event.deltaY < 0 ? 1 / CLOSER : CLOSER, at ?? this.at ?? this.x.low);
        }
    }

    zoom(times, at) {
        const {low, high} = this.x;
        this.draw(at - (at - low) * times, at + (high - at) * times);
    }

    // Show a part of the run at once from what is known, and ask for the rest.
    draw(from, to) {
        const length = Number(this.figure.dataset.length);
        const width = Math.min(Math.max(to - from, LEAST_SECONDS), length);
        const begin = Math.min(Math.max(from, 0), length - width);
        for (const chart of this.charts) {
            chart.content.x.low = begin;
            chart.content.x.high = begin + width;
            chart.plot.setScale("x", {min: begin, max: begin + width});
        }
        clearTimeout(this.waiting);
        this.waiting = setTimeout(() => this.ask(begin, begin + width, width >= length), REDRAW_MS);
    }

    ask(begin, end, whole) {
        const query = new URLSearchParams({from: begin.toFixed(6), to: end.toFixed(6)});
        const address = `${this.figure.dataset.address}${whole ? "" : `?${query}`}`;
        htmx.trigger(this.figure, "htmx:abort");
        const source = this.figure;
        htmx.ajax("GET", address, {source, target: "#figure", select: "#figure", swap: "outerHTML"}).then(() => {
            history.pushState({htmx: true}, "", address);
        });
    }
}

class Drawn {
    constructor(stack, room) {
        this.stack = stack;
        this.room = room;
        this.content = JSON.parse(room.dataset.values);
        for (const layer of this.content.layers) {
            if (layer.points) {
                layer.at = layer.points.map((point, number) => point ? point[0] : (layer.points[number - 1]?.[0] ?? 0) + 1e-7);
            }
        }
        stack.add(this);
        this.build();
        new ResizeObserver(() => this.fit()).observe(room);
    }

    // (Re)draw, as after a change of the colour scheme.
    build() {
        const {content, room} = this;
        this.plot?.destroy();
        room.classList.add("live");
        room.replaceChildren();
        const ink = look("line", "look-1", room.parentElement);
        const style = getComputedStyle(room);
        const quiet = style.getPropertyValue("--quiet").trim() || ink.stroke;
        const grid = {stroke: style.getPropertyValue("--grid").trim(), width: 1};
        const font = `12.8px ${style.fontFamily}`;
        const tables = [];
        const series = [{}];
        const bands = [];
        for (const layer of content.layers.filter((each) => each.points)) {
            const place = (value) => share(content.y, value) + (layer.aside ?? 0);
            const {stroke, fill, fillOpacity, width, dash} = look(layer.kind === "band" ? "band" : "line", layer.look, room.parentElement);
            const columns = layer.kind === "band" ? [2, 1] : [1];
            tables.push([layer.at, ...columns.map((column) => layer.points.map((point) => point ? place(point[column]) : null))]);
            if (layer.kind === "band") {
                bands.push({series: [series.length, series.length + 1], fill: this.faint(fill, fillOpacity)});
            }
            const paths = layer.kind === "step" ? uPlot.paths.stepped({align: 1}) : undefined;
            const line = layer.kind === "band" ? {stroke: this.faint(stroke, 0.5), width: 1} : {stroke, width, dash};
            for (const _column of columns) {
                series.push({...line, paths, points: {show: false}, spanGaps: false});
            }
        }
        const ticks = (axis) => (_plot, _index, low, high) => axis.ticks.map((tick) => axis === content.y ? tick[1] : tick[0]).filter((at) => axis === content.y || (at >= low && at <= high));
        const words = (axis) => (_plot, at) => at.map((value) => axis.ticks.find((tick) => (axis === content.y ? tick[1] : tick[0]) === value)?.[2] ?? "");
        const across = {stroke: quiet, font, grid, ticks: {show: false}, splits: ticks(content.x), size: content.showsX ? AXIS_HEIGHT : 6, gap: 6};
        const data = tables.length ? uPlot.join(tables) : [[content.x.low, content.x.high]];
        this.plot = new uPlot({
            width: Math.max(room.clientWidth, 50),
            height: content.height + (content.showsX ? AXIS_HEIGHT : 6) + 8,
            padding: [8, 24, 0, 0],
            legend: {show: false},
            scales: {
                x: {time: false, range: () => [content.x.low, content.x.high]},
                y: {range: () => [-ROOM, 1 + ROOM]},
            },
            axes: [
                {...across, values: (_plot, at) => content.showsX ? this.sparse(words(content.x)(null, at)) : at.map(() => "")},
                {stroke: quiet, font, grid, ticks: {show: false}, splits: ticks(content.y), values: words(content.y), size: AXIS_WIDTH, gap: 6},
            ],
            series,
            bands,
            cursor: {y: false, points: {show: false}, drag: {x: this.stack.zooms, y: false, setScale: false, dist: 5}},
            hooks: {
                drawClear: [(plot) => this.spans(plot)],
                draw: [(plot) => this.marks(plot)],
                setScale: [() => this.cross(this.stack.at)],
                setSelect: [(plot) => this.chosen(plot)],
            },
        }, data, room);
        this.plot.root.setAttribute("role", "img");
        this.plot.root.setAttribute("aria-label", [content.title, content.about].filter(Boolean).join(": "));
        this.plot.root.id = `plot-${content.key}`;
        this.plot.over.addEventListener("wheel", (event) => {
            const box = this.plot.over.getBoundingClientRect();
            this.stack.wheel(event, this.plot.posToVal(event.clientX - box.left, "x"));
        }, {passive: false});
        this.plot.over.addEventListener("mousemove", (event) => {
            const box = this.plot.over.getBoundingClientRect();
            this.stack.move(this.plot.posToVal(event.clientX - box.left, "x"));
        });
        this.plot.over.addEventListener("mouseleave", () => this.cross(this.stack.at));
        this.plot.over.addEventListener("mousedown", () => this.stack.line.focus({preventScroll: true}));
        this.cross(this.stack.at);
    }

    // Words of every other tick where there is little room.
    sparse(words) {
        const narrow = this.room.clientWidth < 544;
        const minor = new Map(this.content.x.ticks.map((tick) => [tick[2], tick[3]]));
        return words.map((word) => narrow && minor.get(word) ? "" : word);
    }

    faint(colour, opacity) {
        const [red, green, blue] = colour.match(/[0-9.]+/g) ?? [0, 0, 0];
        return `rgba(${red}, ${green}, ${blue}, ${opacity})`;
    }

    fit() {
        const width = this.room.clientWidth;
        if (width && this.plot.width !== width) {
            this.plot.setSize({width, height: this.plot.height});
            this.cross(this.stack.at);
        }
    }

    cross(at) {
        if (this.plot) {
            const left = at === null ? -10 : this.plot.valToPos(at, "x");
            this.plot.setCursor({left, top: at === null ? -10 : 1});
        }
    }

    chosen(plot) {
        const {left, width} = plot.select;
        if (width > 0) {
            plot.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
            this.stack.draw(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
        }
    }

    spans(plot) {
        const {ctx, bbox} = plot;
        for (const layer of this.content.layers.filter((each) => each.spans)) {
            const {fill, fillOpacity} = look("span", layer.look, this.room.parentElement);
            ctx.fillStyle = this.faint(fill, fillOpacity);
            for (const [begin, end] of layer.spans) {
                const left = Math.max(plot.valToPos(begin, "x", true), bbox.left);
                const right = Math.min(plot.valToPos(end, "x", true), bbox.left + bbox.width);
                if (right > bbox.left && left < bbox.left + bbox.width) {
                    ctx.fillRect(left, bbox.top, Math.max(right - left, 1), bbox.height);
                }
            }
        }
    }

    marks(plot) {
        const {ctx, bbox} = plot;
        const {low, high} = this.content.x;
        for (const layer of this.content.layers.filter((each) => each.marks)) {
            const {stroke, fill, width} = look("mark", `${layer.look} ${layer.shape}`, this.room.parentElement);
            const shape = new Path2D(layer.path);
            const scale = bbox.width / plot.over.clientWidth;
            for (const [x, y] of layer.marks.filter((mark) => mark[0] >= low && mark[0] <= high)) {
                ctx.save();
                ctx.translate(plot.valToPos(x, "x", true), plot.valToPos(share(this.content.y, y), "y", true));
                ctx.scale(scale, scale);
                ctx.fillStyle = fill;
                ctx.fill(shape);
                if (stroke !== "none") {
                    ctx.strokeStyle = stroke;
                    ctx.lineWidth = width;
                    ctx.stroke(shape);
                }
                ctx.restore();
            }
        }
    }
}

let stacks = [];
let before = null; // the crosshair of the figure that is being exchanged

function drawAll() {
    stacks = stacks.filter((stack) => stack.element.isConnected);
    const mine = new Map(stacks.map((stack) => [stack.element, stack]));
    for (const room of document.querySelectorAll(".room[data-values]:not(.live)")) {
        if (room.clientWidth === 0) {
            continue; // in what is folded up
        }
        const element = room.closest(".stack") ?? room.closest("figure.chart");
        if (!mine.has(element)) {
            mine.set(element, new Stack(element));
            stacks.push(mine.get(element));
        }
        new Drawn(mine.get(element), room);
    }
    for (const stack of stacks) {
        stack.show();
    }
}

document.addEventListener("htmx:beforeSwap", () => {
    const stack = stacks.find((each) => each.zooms);
    before = stack ? {at: stack.at, focused: document.activeElement === stack.line} : null;
});
document.addEventListener("htmx:afterSwap", () => {
    drawAll();
    const stack = stacks.find((each) => each.zooms);
    if (stack && before) {
        stack.move(before.at);
        if (before.focused) {
            stack.line.focus({preventScroll: true});
        }
    }
    before = null;
});
for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)", "print"]) {
    matchMedia(query).addEventListener("change", () => stacks.forEach((stack) => stack.charts.forEach((chart) => chart.build())));
}
document.addEventListener("toggle", drawAll, true);
drawAll();
