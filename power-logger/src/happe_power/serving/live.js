// SPDX-License-Identifier: GPL-2.0-or-later
// Renews the page once a second. The server writes every text; the curve's last five minutes are kept here.
"use strict";
const MOST = 300, WIDTH = 600, HEIGHT = 120;
const watts = [];
const at = (id) => document.getElementById(id);

function draw() {
  const known = watts.filter((each) => each !== null);
  const top = 1.1 * Math.max(1, ...known), low = Math.min(0, ...known);
  const x = (index) => WIDTH * (1 - (watts.length - 1 - index) / (MOST - 1));
  const y = (value) => HEIGHT - HEIGHT * (value - low) / (top - low);
  const points = watts.map((value, index) => value === null ? "" : `${x(index).toFixed(1)},${y(value).toFixed(1)}`);
  document.querySelector("polyline").setAttribute("points", points.join(" "));
  at("scale").textContent = known.length ? `0 to ${top.toPrecision(3)} W, five minutes` : "";
}

async function renew() {
  try {
    const said = await (await fetch("live.json", { cache: "no-store" })).json();
    for (const [id, text] of Object.entries(said.texts)) at(id).textContent = text;
    at("gaps").replaceChildren(...said.gaps.map((gap) => {
      const row = document.createElement("tr");
      row.append(...gap.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
      return row;
    }));
    watts.push(said.watts);
    if (watts.length > MOST) watts.shift();
    draw();
  } catch {
    at("state").textContent = "happe-power live does not answer.";
  }
}

setInterval(renew, 1000);
renew();
