// The lanes of the CPU and the four units over time, with a window that other charts share.

const HINT_KEYS = "The wheel zooms, with Shift it moves. Drag over a stretch to zoom in, double-click to see everything. Keys: + and − zoom, ← and → move, 0 shows everything.";
const LEFT = 74;

class TimeWindow {
  constructor(end) {
    this.full = Math.max(end, 1);
    this.views = [];
    [this.from, this.until] = [0, this.full];
  }

  set(from, until) {
    const length = Math.min(Math.max(until - from, Math.min(20, this.full)), this.full);
    const start = Math.min(Math.max(from, 0), this.full - length);
    [this.from, this.until] = [start, start + length];
    this.views.forEach((view) => view());
  }

  isWhole() {
    return this.until - this.from >= this.full;
  }

  zoom(factor, around = (this.from + this.until) / 2) {
    this.set(around - (around - this.from) * factor, around + (this.until - around) * factor);
  }

  move(share) {
    const step = (this.until - this.from) * share;
    this.set(this.from + step, this.until + step);
  }
}

const KEYS = {
  "+": (time) => time.zoom(0.5), "=": (time) => time.zoom(0.5), "-": (time) => time.zoom(2), "0": (time) => time.set(0, time.full),
  ArrowLeft: (time) => time.move(-0.2), ArrowRight: (time) => time.move(0.2), Home: (time) => time.move(-1e9), End: (time) => time.move(1e9),
};

// Mouse and keyboard on a canvas over time; `hit` says what is at a place.
function overTime(node, time, hit) {
  const at = (event) => time.from + ((event.offsetX - LEFT) / (node.clientWidth - LEFT)) * (time.until - time.from);
  let begun = null;
  node.addEventListener("keydown", (event) => {
    const act = KEYS[event.key];
    if (act && !event.ctrlKey && !event.metaKey) { event.preventDefault(); act(time); }
  });
  node.addEventListener("pointerdown", (event) => { begun = event.button === 0 ? at(event) : null; });
  node.addEventListener("pointermove", (event) => {
    const found = begun === null ? hit(at(event), event.offsetY) : null;
    node.style.cursor = found ? "pointer" : "crosshair";
    if (begun === null) return found ? showTip(found.text, event.clientX, event.clientY) : hideTip();
    time.marked = [begun, at(event)];
    time.views.forEach((view) => view());
  });
  const done = (event) => {
    const marked = time.marked;
    const from = begun;
    begun = time.marked = null;
    if (from === null) return;
    const wide = marked && Math.abs(marked[1] - marked[0]) / (time.until - time.from) > 0.01;
    if (wide) time.set(Math.min(...marked), Math.max(...marked));
    else if (event.type === "pointerup") {
      const found = hit(at(event), event.offsetY);
      if (found && found.layer >= 0) chooseLayer(found.layer);
    }
    time.views.forEach((view) => view());
  };
  node.addEventListener("pointerup", done);
  node.addEventListener("pointerleave", (event) => { hideTip(); done(event); });
  node.addEventListener("dblclick", () => time.set(0, time.full));
  node.addEventListener("wheel", (event) => {
    const across = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    const isAcross = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    // What would change nothing scrolls the page instead.
    if (time.isWhole() && (isAcross || event.deltaY > 0)) return;
    event.preventDefault();
    hideTip();
    if (isAcross) time.move(Math.sign(across) * 0.1);
    else time.zoom(1.0015 ** Math.max(-240, Math.min(event.deltaY * (event.deltaMode ? 30 : 1), 240)), at(event));
  }, { passive: false });
}

function timeAxis(context, time, width, y, height) {
  const x = scale(time.from, time.until, LEFT, width, false);
  context.textAlign = "center";
  for (const value of ticks(time.from, time.until, Math.max(2, width / 130))) {
    const place = x(value);
    context.fillStyle = css("--grid");
    context.fillRect(place, 0, 1, height);
    context.fillStyle = css("--muted");
    if (place > LEFT + 12 && place < width - 24) context.fillText(tickText(value), place, y);
  }
  return x;
}

function markedStretch(context, time, x, height) {
  if (!time.marked) return;
  const [from, until] = time.marked.map(x);
  context.globalAlpha = 0.25;
  context.fillStyle = css("--accent");
  context.fillRect(from, 0, until - from, height);
  context.globalAlpha = 1;
}

const LANE = 34;

function timelineChart(data, report, names, time) {
  const { lanes } = data;
  lanes.forEach((lane) => { lane.end = lane.start.map((start, number) => start + lane.length[number]); });
  const height = lanes.length * LANE + 30;
  const color = (lane, layer) => (lane.name === "CPU" ? colorOf("CPU") : layer >= 0 ? colorOf(kindOf(report.layers[layer])) : colorOf("memory stalls"));
  const node = canvas(height, `Timeline of ${lanes.map((lane) => lane.name).join(", ")}`, (context, width) => {
    const x = timeAxis(context, time, width, height - 8, height - 24);
    lanes.forEach((lane, row) => paintLane(context, lane, row * LANE + 5, x, width, color, names));
    markedStretch(context, time, x, height - 24);
    context.textAlign = "left";
    context.fillStyle = css("--ink");
    lanes.forEach((lane, row) => context.fillText(lane.name, 2, row * LANE + LANE / 2 + 4));
  }, { id: "timeline-chart", tabindex: 0 });
  overTime(node, time, (cycle, y) => {
    const lane = lanes[Math.floor(y / LANE)];
    const number = lane && spanAt(lane, cycle, (time.until - time.from) / 400);
    if (number === null || number === undefined) return null;
    const layer = lane.layer[number];
    const count = lane.count[number];
    return { layer, text: `${lane.name}: ${layer >= 0 ? report.layers[layer].name : "no layer"}\n${exact(lane.start[number])} to ${exact(lane.end[number])}, `
      + `${exact(lane.length[number])} cycles${count > 1 ? `\n${exact(count)} operations` : ""}` };
  });
  const view = soon(node.redraw);
  time.views.push(view);
  listen("layer", view);
  return node;
}

// Whether a layer is neither faded by a chosen one nor by a search.
const stands = (layer) => (chosenLayer === null || chosenLayer === layer) && (foundLayers === null || foundLayers.has(layer));

// Spans of a lane, each with its layer's name if it has room; what is less than half a pixel joins its neighbour of the
// same colour.
function paintLane(context, lane, y, x, width, color, names) {
  let number = Math.max(firstAfter(lane.end, x.low), 0);
  while (number < lane.start.length && lane.start[number] <= x.high) {
    const layer = lane.layer[number];
    const from = Math.max(x(lane.start[number]), LEFT);
    let until = x(lane.end[number]);
    while (number + 1 < lane.start.length && lane.layer[number + 1] === layer && x(lane.start[number + 1]) - until < 0.5) {
      number += 1;
      until = Math.max(until, x(lane.end[number]));
    }
    context.globalAlpha = stands(layer) ? 1 : 0.22;
    context.fillStyle = color(lane, layer);
    const length = Math.max(Math.min(until, width) - from, 0.6);
    context.fillRect(from, y, length > 3 ? length - 1 : length, LANE - 10);
    if (layer >= 0 && length > LEAST_NAMED) nameSpan(context, names[layer], from, y + LANE / 2 - 1, length - 8, context.fillStyle);
    number += 1;
  }
  context.globalAlpha = 1;
}

const LEAST_NAMED = 26; // pixels

// A name in the middle of a span: whole, or as much of its end as fits, at least its last part.
function nameSpan(context, name, from, y, room, color) {
  const least = Math.min(name.length - name.lastIndexOf("/"), name.length);
  let text = name;
  for (let kept = name.length - 1; context.measureText(text).width > room; kept -= 1) {
    if (kept < least) return;
    text = `…${name.slice(-kept)}`;
  }
  context.fillStyle = onColor(color);
  context.textAlign = "center";
  context.fillText(text, from + 4 + room / 2, y);
}

// The first place of ascending numbers whose number is larger than a value.
function firstAfter(numbers, value) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

function spanAt(lane, cycle, slack) {
  const number = Math.min(firstAfter(lane.end, cycle - slack), lane.start.length - 1);
  return number >= 0 && lane.start[number] <= cycle + slack && lane.end[number] >= cycle - slack ? number : null;
}

// What a lane does in a stretch of time: its busy cycles, the operations that begin there, and its longest layer.
function laneSums(lane, from, until) {
  const layers = new Map();
  let [busy, operations] = [0, 0];
  for (let number = Math.max(firstAfter(lane.end, from), 0); number < lane.start.length && lane.start[number] < until; number += 1) {
    const cycles = Math.min(lane.end[number], until) - Math.max(lane.start[number], from);
    busy += cycles;
    if (lane.start[number] >= from) operations += lane.count[number];
    layers.set(lane.layer[number], (layers.get(lane.layer[number]) || 0) + cycles);
  }
  const [layer, cycles] = [...layers].reduce((most, one) => (one[1] > most[1] ? one : most), [-1, 0]);
  return { busy, operations, layer, cycles };
}

// The sums of the stretch that is shown or, while one is dragged over, of that one.
function sumsTable(lanes, names, time) {
  const caption = make("caption", {});
  const body = make("tbody", {});
  const show = () => {
    const marked = time.marked ? [...time.marked].sort((one, other) => one - other) : [time.from, time.until];
    const [from, until] = marked.map((cycle) => Math.round(Math.min(Math.max(cycle, time.from), time.until)));
    caption.textContent = `Busy in the ${exact(until - from)} cycles from ${exact(from)} to ${exact(until)}`;
    body.replaceChildren(...lanes.map((lane) => {
      const { busy, operations, layer, cycles } = laneSums(lane, from, until);
      const most = layer >= 0 ? `${names[layer]} (${percent(cycles / busy)})` : "";
      return make("tr", {}, make("th", { scope: "row" }, lane.name), make("td", { class: "number", data: { lane: lane.name, value: busy } }, exact(busy)),
        make("td", { class: "number" }, percent((until - from) && busy / (until - from))), make("td", { class: "number" }, exact(operations)), make("td", { class: "name" }, most));
    }));
  };
  time.views.push(soon(show));
  show();
  const heads = ["unit", "busy", "share", "operations", "longest layer"].map((text, place) => make("th", { scope: "col", class: place && place < 4 ? "number" : null }, text));
  return make("div", { class: "scroll free" }, make("table", { id: "sums" }, caption, make("thead", {}, make("tr", {}, heads)), body));
}

// A field that finds layers: others fade, and Enter goes from one to the next.
function layerSearch(report, show) {
  const count = make("output", { id: "found", "aria-live": "polite" });
  const field = make("input", { type: "search", id: "find-layer", list: "layer-names", placeholder: "Find a layer", "aria-label": "Find a layer", size: 22 });
  const search = () => {
    const words = field.value.trim().toLowerCase();
    foundLayers = words ? new Set([...report.layers.keys()].filter((number) => `${report.layers[number].name} ${report.layers[number].operator}`.toLowerCase().includes(words))) : null;
    count.textContent = foundLayers ? `${exact(foundLayers.size)} layer${foundLayers.size === 1 ? "" : "s"}` : "";
    if (chosenLayer !== null && foundLayers && !foundLayers.has(chosenLayer)) chooseLayer(chosenLayer);
    else tell("layer", chosenLayer);
  };
  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !foundLayers || !foundLayers.size) return;
    const all = [...foundLayers];
    const next = event.shiftKey ? [...all].reverse().find((number) => number < (chosenLayer ?? Infinity)) ?? all[all.length - 1]
      : all.find((number) => number > (chosenLayer ?? -1)) ?? all[0];
    if (next !== chosenLayer) chooseLayer(next);
    show();
  });
  const names = make("datalist", { id: "layer-names" }, report.layers.map((layer) => make("option", { value: layer.name })));
  return [field, names, count];
}

function timeControls(time, goChosen, search) {
  const zoomed = make("output", { id: "window", "aria-live": "polite" });
  const show = () => { zoomed.textContent = `cycles ${exact(Math.round(time.from))} to ${exact(Math.round(time.until))}`; };
  time.views.push(show);
  show();
  return make("div", { class: "controls" }, button("Zoom in", () => time.zoom(0.5), { id: "zoom-in" }), button("Zoom out", () => time.zoom(2), { id: "zoom-out" }),
    button("Show everything", () => time.set(0, time.full), { id: "zoom-all" }), button("Show the chosen layer", goChosen, { id: "zoom-layer" }), search, zoomed);
}
