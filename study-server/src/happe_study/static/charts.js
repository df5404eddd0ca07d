// SPDX-License-Identifier: GPL-2.0-or-later
// Draws the charts of a page with uPlot, from the values that the page has beside their tables (base/charts.py).
"use strict";

const DASHES = {2: [6, 3], 3: [14, 4], 4: [2, 3]};
const SECONDS = [1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200];
const LEAST_LABEL = 14; // pixels between two labels of the y axis
const THIN = 1.5;

let drawn = []; // {room, chart, plot}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Seconds as M:SS, with the decimals that a step needs.
function time(value, step) {
    const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
    const rest = (value % 60).toFixed(digits).padStart(digits ? 3 + digits : 2, "0");
    return `${Math.floor(value / 60)}:${rest}`;
}

const rounded = (unit) => (_plot, value) => value == null ? "–" : `${Number(value.toPrecision(4))} ${unit}`;

// The columns of numbers and the looks of a series: a line, or the two edges of an area.
function lines(chart) {
    const columns = [chart.at.length ? chart.at : chart.span];
    const series = [{label: chart.levels ? "level" : "time", value: (_plot, at) => at == null ? "–" : chart.levels ? Math.min(Math.floor(at), 9) : time(at, (chart.span[1] - chart.span[0]) / 1000)}];
    const bands = [];
    chart.series.forEach((each, number) => {
        const stroke = colour(`look-${each.look}`);
        const edges = each.high ? [[each.high, `${each.name}: highest`], [each.values, "lowest"]] : [[each.values, each.name]];
        if (each.high) {
            bands.push({series: [columns.length, columns.length + 1], fill: `${stroke}40`});
        }
        for (const [values, label] of edges) {
            columns.push(values);
            series.push({
                label,
                stroke: each.high ? `${stroke}80` : stroke,
                // Lines below others are wider, so that equal ones stay in sight.
                width: each.high ? 1 : THIN + (chart.levels ? 2.5 * (chart.series.length - 1 - number) : 0),
                dash: chart.levels || chart.series.some(({high}) => high) ? undefined : DASHES[each.look],
                paths: each.step ? uPlot.paths.stepped({align: 1}) : undefined,
                points: {show: false},
                value: rounded(chart.unit),
            });
        }
    });
    return {columns, series, bands};
}

function gaps(chart, plot) {
    const {ctx, bbox} = plot;
    ctx.fillStyle = colour("gap");
    for (const [begin, end] of chart.gaps) {
        const left = Math.max(plot.valToPos(begin, "x", true), bbox.left);
        const right = Math.min(plot.valToPos(end, "x", true), bbox.left + bbox.width);
        if (right > bbox.left && left < bbox.left + bbox.width) {
            ctx.fillRect(left, bbox.top, Math.max(right - left, 1), bbox.height);
        }
    }
}

function marks(chart, plot) {
    const {ctx} = plot;
    ctx.save();
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.font = `${14 * devicePixelRatio}px sans-serif`;
    for (const {sign, look, points} of chart.marks) {
        ctx.fillStyle = colour(`look-${look}`);
        for (const [x, y] of points.filter(([at]) => at >= chart.span[0] && at <= chart.span[1])) {
            ctx.fillText(sign, plot.valToPos(x, "x", true), plot.valToPos(y, "y", true));
        }
    }
    ctx.restore();
}

// The part of a run that somebody dragged over, which all charts of a stack hear of: the page's form asks for it.
function zoom(plot) {
    const form = document.getElementById("part");
    const {left, width} = plot.select;
    if (form && width > 0 && plot.over.matches(":hover")) {
        [form.elements.from.value, form.elements.to.value] = [left, left + width].map((at) => Math.max(plot.posToVal(at, "x"), 0).toFixed(6));
        form.requestSubmit();
    }
}

function draw(room) {
    const chart = JSON.parse(room.dataset.chart);
    const {columns, series, bands} = lines(chart);
    const axis = {stroke: colour("quiet"), grid: {stroke: colour("grid"), width: 1}, ticks: {show: false}, font: "13px sans-serif"};
    const labels = (plot) => chart.ticks.filter((tick, number) => number === 0 || plot.valToPos(tick, "y") <= plot.valToPos(chart.ticks[number - 1], "y") - LEAST_LABEL);
    room.replaceChildren();
    const plot = new uPlot({
        width: Math.max(room.clientWidth, 50),
        height: chart.height,
        series,
        bands,
        scales: {x: {time: false, range: () => chart.span}, y: chart.ends ? {range: () => chart.ends} : {}},
        axes: [
            chart.levels
                ? {...axis, splits: () => [...Array(10).keys()].map((level) => level + 0.5), values: (_plot, at) => at.map(Math.floor), size: 30, label: "level", labelFont: axis.font, labelSize: 18}
                : {...axis, size: 30, incrs: SECONDS, values: (_plot, at, _axis, _space, step) => at.map((each) => time(each, step))},
            {...axis, size: 58, ...(chart.ticks.length ? {splits: () => chart.ticks, values: (shown) => chart.ticks.map((tick) => labels(shown).includes(tick) ? Number(tick.toPrecision(4)) : "")} : {})},
        ],
        cursor: {
            y: false,
            sync: {key: room.closest(".stack")?.id ?? chart.key},
            drag: {x: Boolean(room.closest(".stack")), y: false, setScale: false, dist: 5},
            // What lasts until the next value is that of its begin.
            dataIdx: (shown, number, index, x) => chart.series.some((each) => each.step) && index > 0 && shown.data[0][index] > x ? index - 1 : index,
        },
        hooks: {drawClear: [(shown) => gaps(chart, shown)], draw: [(shown) => marks(chart, shown)], setSelect: [zoom]},
    }, columns, room);
    plot.over.setAttribute("role", "img");
    plot.over.setAttribute("aria-label", `${chart.title}: ${chart.about}`);
    new ResizeObserver(() => room.clientWidth && room.clientWidth !== plot.width && plot.setSize({width: room.clientWidth, height: chart.height})).observe(room);
    drawn.push({room, plot});
}

// Draw what is not drawn yet; with `again`, everything in the colours of now.
function drawAll(again) {
    for (const {plot} of drawn.filter(({room}) => again || !room.isConnected)) {
        plot.destroy();
    }
    drawn = again ? [] : drawn.filter(({room}) => room.isConnected);
    const there = new Set(drawn.map(({room}) => room));
    [...document.querySelectorAll("[data-chart]")].filter((room) => !there.has(room)).forEach(draw);
}

// The tables below charts are open where no script runs, and in print.
function fold(element) {
    element.querySelectorAll("details.as-table").forEach((each) => each.removeAttribute("open"));
}

document.addEventListener("htmx:afterSwap", (event) => {
    fold(event.target);
    drawAll(false);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(true));
addEventListener("beforeprint", () => document.querySelectorAll("details.as-table").forEach((each) => each.setAttribute("open", "")));
fold(document);
drawAll(false);
