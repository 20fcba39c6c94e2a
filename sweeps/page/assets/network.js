// The network's graph: a row for each layer, a lane for each value that is still needed.

const ROW = 27;
const STEP = 18;

function networkChart(data, report, names) {
  const { layers } = report;
  const place = (row) => ROW * (row + 1.5);
  const side = (lane) => 14 + STEP * lane;
  const text = side(data.lanes) + 12;
  const most = Math.max(...layers.map((layer) => layer.cycles), 1);
  const edges = data.edges.map(([from, to, lane]) => draw("path", { class: "edge", d: edge(from, to, lane) }));

  function edge(from, to, lane) {
    const [x1, x2] = [side(from < 0 ? lane : data.lane[from]), side(to < layers.length ? data.lane[to] : lane)];
    const [y1, y2] = [place(from), place(to)];
    return x1 === x2 ? `M${x1} ${y1}V${y2}` : `M${x1} ${y1}V${y2 - ROW}C${x1} ${y2 - ROW * 0.3} ${x2} ${y2 - ROW * 0.7} ${x2} ${y2}`;
  }

  function mark(row, layer) {
    const [x, y] = [side(data.lane[row]), place(row)];
    const settings = { fill: colorOf(kindOf(layer)), class: "mark" };
    return layer.unit === "dla" ? draw("circle", { cx: x, cy: y, r: 7, ...settings }) : draw("rect", { x: x - 7, y: y - 7, width: 14, height: 14, ...settings });
  }

  const rows = layers.map((layer, row) => draw("g", {
    class: "row", tabindex: 0, role: "button", data: { layer: row },
    "aria-label": `${layer.name}, ${layer.operator}, on the ${layer.unit === "dla" ? "DLA" : "CPU"}, ${exact(layer.cycles)} cycles`,
    on: {
      ...tipEvents(`${layer.name}\n${layer.operator} → ${data.shape[row]}\non the ${layer.unit === "dla" ? "DLA" : "CPU"}, ${exact(layer.cycles)} cycles`),
      click: () => chooseLayer(row),
      keydown: (event) => {
        if (event.key === "Enter") chooseLayer(row);
        const next = { ArrowDown: row + 1, ArrowUp: row - 1 }[event.key];
        if (next !== undefined && rows[next]) { event.preventDefault(); rows[next].focus(); }
      },
    },
  }, draw("rect", { class: "back", x: 2, y: place(row) - ROW / 2, width: 956, height: ROW, rx: 4 }), mark(row, layer),
  draw("text", { x: text, y: place(row) + 4 }, clipped(names[row], 46)),
  draw("text", { class: "muted", x: text + 330, y: place(row) + 4 }, clipped(layer.operator, 22)),
  draw("text", { class: "muted", x: text + 490, y: place(row) + 4 }, clipped(data.shape[row], 20)),
  draw("rect", { x: 790, y: place(row) - 5, width: Math.max(100 * layer.cycles / most, layer.cycles ? 1 : 0), height: 10, rx: 2, fill: colorOf(kindOf(layer)) }),
  draw("text", { class: "muted", x: 952, y: place(row) + 4, "text-anchor": "end" }, threeDigits(layer.cycles))));
  listen("layer", (number) => rows.forEach((row, which) => row.classList.toggle("chosen", which === number)));
  const height = place(layers.length) + ROW;
  const end = (y, words) => draw("text", { class: "muted", x: text, y: y + 4 }, words);
  return make("div", { class: "scroll chart", id: "network-chart" }, draw("svg", { viewBox: `0 0 960 ${height}`, role: "group", "aria-label": "Graph of the network" },
    edges, draw("circle", { cx: side(0), cy: place(-1), r: 4, fill: "var(--dot)" }), end(place(-1), "input"), end(place(layers.length), "output"), rows));
}

const clipped = (text, most) => (text.length > most ? `${text.slice(0, Math.ceil(most * 0.4))}…${text.slice(text.length - Math.floor(most * 0.6) + 1)}` : text);
