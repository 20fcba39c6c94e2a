// Layers under the roofs of computing and of memory.

const SHAPES = {
  CONV: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0", REQUANT: "M-5 -5h10v10h-10z", DEPTH: "M0 -6L6 0L0 6L-6 0z",
  FC: "M0 -6L6 5H-6z", POOL: "M0 6L6 -5H-6z", ELTWISE: "M-2 -6h4v4h4v4h-4v4h-4v-4h-4v-4h4z", ACT: "M-5 -5h10v10h-10z",
};

function roofline(report, data, names) {
  const { pes, bytes_per_cycle: rate, points } = data;
  const known = points.map((point, number) => point && { number, x: point[0], y: point[1], layer: report.layers[number] }).filter(Boolean);
  if (!known.length) return make("p", { class: "hint" }, "No layer with MACs ran on the DLA.");
  const moving = known.map((point) => point.x).filter((x) => x !== null);
  if (rate) moving.push(pes / rate);
  if (!moving.length) moving.push(1);
  const [left, right] = [Math.min(...ends(moving, 0)) / 2, Math.max(...ends(moving, 1)) * 4];
  const box = { left: 62, right: 940, top: 28, bottom: 390 };
  const x = scale(left, right, box.left, box.right, true);
  const y = scale(Math.min(...ends(known.map((point) => point.y), 0)) / 1.6, pes * 1.6, box.bottom, box.top, true);
  const clip = (value) => Math.max(value, y.low);
  const ridge = rate ? pes / rate : left;
  const start = rate ? Math.max(left, y.low / rate) : left;
  const roof = rate ? `M${x(start)} ${y(clip(start * rate))}L${x(ridge)} ${y(pes)}L${x(right)} ${y(pes)}` : `M${x(left)} ${y(pes)}L${x(right)} ${y(pes)}`;
  const marks = known.sort((one, other) => one.x - other.x).map((point) => draw("path", {
    class: "mark", d: SHAPES[point.layer.kind] || SHAPES.CONV, fill: colorOf(point.layer.kind), tabindex: 0, role: "button",
    "aria-label": `${names[point.number]}: ${threeDigits(point.y)} MACs per cycle`, data: { layer: point.number },
    transform: `translate(${x(point.x === null ? right / 1.3 : point.x)} ${y(point.y)})`,
    on: {
      ...tipEvents(`${point.layer.name}\n${threeDigits(point.y)} MACs per cycle (roof ${threeDigits(point.x === null || !rate ? pes : Math.min(pes, point.x * rate))})\n`
        + `${point.x === null ? "moves nothing" : `${threeDigits(point.x)} MACs per byte`}\n${exact(point.layer.cycles)} cycles`),
      click: () => chooseLayer(point.number),
      keydown: (event) => { if (event.key === "Enter") chooseLayer(point.number); },
    },
  }));
  listen("layer", (number) => marks.forEach((mark) => mark.classList.toggle("chosen", number !== null && Number(mark.dataset.layer) === number)));
  const kinds = [...new Set(known.map((point) => point.layer.kind))];
  const angle = rate ? Math.atan2(y(pes) - y(clip(start * rate)), x(ridge) - x(start)) * 180 / Math.PI : 0;
  const labels = [draw("text", { x: box.right - 4, y: y(pes) - 8, "text-anchor": "end" }, `computing: ${pes} MACs per cycle`)];
  if (rate && x(ridge) - x(start) > 150) {
    const [mx, my] = [(x(start) + x(ridge)) / 2, (y(clip(start * rate)) + y(pes)) / 2];
    labels.push(draw("text", { "text-anchor": "middle", transform: `translate(${mx} ${my}) rotate(${angle}) translate(0 -8)` }, `DMA: ${rate} bytes per cycle`));
  }
  return make("div", { class: "chart panel", id: "roofline-chart" },
    draw("svg", { viewBox: "0 0 960 440", role: "group", "aria-label": "Roofline" },
      frame(box, x, y, "MACs per byte moved", "MACs per cycle"), draw("path", { class: "roof", d: roof }), labels, marks),
    legend(kinds.map((kind) => ({ text: kind, color: colorOf(kind) }))));
}
