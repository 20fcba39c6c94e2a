// Layers under the roofs of computing and of memory.

const SHAPES = {
  CONV: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0", REQUANT: "M-5 -5h10v10h-10z", DEPTH: "M0 -6L6 0L0 6L-6 0z",
  FC: "M0 -6L6 5H-6z", POOL: "M0 6L6 -5H-6z", ELTWISE: "M-2 -6h4v4h4v4h-4v4h-4v-4h-4v-4h4z", ACT: "M-5 -5h10v10h-10z",
};

function roofline(report, data, names) {
  const { pes, bytes_per_cycle: rate, points } = data;
  const known = points.map((point, number) => point && { number, x: point[0], y: point[1], layer: report.layers[number] }).filter(Boolean);
  if (!known.length) return make("p", { class: "hint" }, "No layer with MACs ran on the DLA.");
  known.sort((one, other) => one.x - other.x);
  const moving = known.map((point) => point.x).filter((x) => x !== null);
  if (rate) moving.push(pes / rate);
  if (!moving.length) moving.push(1);
  const [left, right] = [Math.min(...ends(moving, 0)) / 2, Math.max(...ends(moving, 1)) * 4];
  const lowest = Math.min(...ends(known.map((point) => point.y), 0)) / 1.6;
  let marks = [];
  const choose = (number) => marks.forEach((mark) => mark.classList.toggle("chosen", number !== null && Number(mark.dataset.layer) === number));
  listen("layer", choose);
  const kinds = [...new Set(known.map((point) => point.layer.kind))];
  return fluid({ class: "chart panel", id: "roofline-chart" }, (width) => {
    const height = width < 600 ? 340 : 440;
    const box = { left: 62, right: width - 20, top: 28, bottom: height - 50 };
    const x = scale(left, right, box.left, box.right, true);
    const y = scale(lowest, pes * 1.6, box.bottom, box.top, true);
    const places = known.map((point) => ({ ...point, px: x(point.x === null ? right / 1.3 : point.x), py: y(point.y) }));
    marks = places.map((point) => roofMark(point, names[point.number], !rate || point.x === null ? pes : Math.min(pes, point.x * rate)));
    choose(chosenLayer);
    return draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Roofline" },
      frame(box, x, y, "MACs per byte moved", "MACs per cycle"), roofs(box, x, y, pes, rate), roofNames(places, names, box, roofLine(box, x, y, pes, rate)), marks);
  }, legend(kinds.map((kind) => ({ text: kind, color: colorOf(kind) }))));
}

function roofMark(point, name, roof) {
  return draw("path", {
    class: "mark", d: SHAPES[point.layer.kind] || SHAPES.CONV, fill: colorOf(point.layer.kind), tabindex: 0, role: "button",
    "aria-label": `${name}: ${threeDigits(point.y)} MACs per cycle`, data: { layer: point.number }, transform: `translate(${point.px} ${point.py})`,
    on: {
      ...tipEvents(`${point.layer.name}\n${threeDigits(point.y)} MACs per cycle (roof ${threeDigits(roof)})\n`
        + `${point.x === null ? "moves nothing" : `${threeDigits(point.x)} MACs per byte`}\n${exact(point.layer.cycles)} cycles, busy for ${exact(point.layer.busy_cycles)}`),
      click: () => chooseLayer(point.number),
      keydown: (event) => { if (event.key === "Enter") chooseLayer(point.number); },
    },
  });
}

// The roofs with what they are.
function roofs(box, x, y, pes, rate) {
  const clip = (value) => Math.max(value, y.low);
  const ridge = rate ? pes / rate : x.low;
  const start = rate ? Math.max(x.low, y.low / rate) : x.low;
  const from = [x(start), rate ? y(clip(start * rate)) : y(pes)];
  const parts = [draw("path", { class: "roof", d: `M${from}L${x(ridge)} ${y(pes)}L${box.right} ${y(pes)}` }),
    draw("text", { x: box.right - 4, y: y(pes) - 8, "text-anchor": "end" }, `computing: ${pes} MACs per cycle`)];
  if (rate && x(ridge) - from[0] > 150) {
    const angle = Math.atan2(y(pes) - from[1], x(ridge) - from[0]) * 180 / Math.PI;
    const middle = [(from[0] + x(ridge)) / 2, (from[1] + y(pes)) / 2];
    parts.push(draw("text", { "text-anchor": "middle", transform: `translate(${middle}) rotate(${angle}) translate(0 -8)` }, `DMA: ${rate} bytes per cycle`));
  }
  return parts;
}

const LETTER = 6.6; // about the width of one, in pixels
const MAX_NAMED = 10;

// The names of the layers with the most cycles, beside their marks, where nothing else is. Of marks that lie on each
// other one is named, with the number of the others.
function roofNames(places, names, box, line) {
  const taken = [...places.map(({ px, py }) => [px - 6, py - 6, px + 6, py + 6]), ...line];
  const groups = [];
  for (const place of [...places].sort((one, other) => other.layer.cycles - one.layer.cycles)) {
    const near = groups.find(({ px, py }) => Math.hypot(px - place.px, py - place.py) < 4);
    if (near) near.others += 1;
    else groups.push({ ...place, others: 0 });
  }
  return groups.slice(0, MAX_NAMED).map(({ px, py, number, others }) => {
    const text = others ? `${names[number]} +${others}` : names[number];
    const long = text.length * LETTER;
    const spots = [[px + 9, py], [px - 9 - long, py], [px - long / 2, py + 15], [px - long / 2, py - 15], [px + 9, py + 12], [px - 9 - long, py + 12]];
    const found = spots.map(([x, y]) => [x, y - 7, x + long, y + 7]).find((area) => area[0] > box.left && area[2] < box.right && area[1] > box.top && area[3] < box.bottom
      && taken.every((other) => area[0] >= other[2] || other[0] >= area[2] || area[1] >= other[3] || other[1] >= area[3]));
    if (!found) return null;
    taken.push(found);
    return draw("text", { class: "muted", x: (found[0] + found[2]) / 2, y: found[1] + 11, "text-anchor": "middle" }, text);
  });
}

// Small boxes along the roofs and around the text of one, which names keep clear of.
function roofLine(box, x, y, pes, rate) {
  const boxes = [[box.right - 190, y(pes) - 20, box.right, y(pes) - 4]];
  for (let px = box.left; px < box.right; px += 6) {
    const py = y(Math.max(rate ? Math.min(pes, x.back(px) * rate) : pes, y.low));
    boxes.push([px - 4, py - 4, px + 4, py + 4]);
  }
  return boxes;
}
