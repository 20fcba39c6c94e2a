// The network's graph: a row for each layer, a lane for each value that is still needed.

const ROW = 27;
const STEP = 18;

function networkChart(data, report, names) {
  let rows = [];
  const choose = (number) => rows.forEach((row, which) => row.classList.toggle("chosen", which === number));
  listen("layer", choose);
  return fluid({ class: "scroll chart", id: "network-chart" }, (width) => {
    const picture = networkPicture(data, report, names, width);
    rows = picture.rows;
    choose(chosenLayer);
    return picture.svg;
  });
}

// Where there is no room for operators and shapes, only the note of a row has them.
function networkPicture(data, report, names, width) {
  const { layers } = report;
  const isNarrow = width < 700;
  const place = (row) => ROW * (row + 1.5);
  const step = Math.min(STEP, (width * (isNarrow ? 0.25 : 0.4)) / Math.max(data.lanes, 1));
  const side = (lane) => 14 + step * lane;
  const text = side(data.lanes) + 12;
  const bars = { from: width - (isNarrow ? 100 : 170), long: isNarrow ? 48 : 100 };
  const columns = [[text + 330, 22], [text + 490, 20]].filter(([from, letters]) => from + 6.5 * letters < bars.from);
  const letters = Math.max(Math.floor(((columns.length ? 320 : bars.from - 8 - text)) / 7), 8);
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
  }, draw("rect", { class: "back", x: 2, y: place(row) - ROW / 2, width: width - 4, height: ROW, rx: 4 }), mark(row, layer),
  draw("text", { x: text, y: place(row) + 4 }, clipped(names[row], letters)),
  columns.map(([from, most], which) => draw("text", { class: "muted", x: from, y: place(row) + 4 }, clipped(which ? data.shape[row] : layer.operator, most))),
  draw("rect", { x: bars.from, y: place(row) - 5, width: Math.max(bars.long * layer.cycles / most, layer.cycles ? 1 : 0), height: 10, rx: 2, fill: colorOf(kindOf(layer)) }),
  draw("text", { class: "muted", x: width - 8, y: place(row) + 4, "text-anchor": "end" }, threeDigits(layer.cycles))));
  const height = place(layers.length) + ROW;
  const end = (y, words) => draw("text", { class: "muted", x: text, y: y + 4 }, words);
  return { rows, svg: draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Graph of the network" },
    edges, draw("circle", { cx: side(0), cy: place(-1), r: 4, fill: "var(--dot)" }), end(place(-1), "input"), end(place(layers.length), "output"), rows) };
}

const clipped = (text, most) => (text.length > most ? `${text.slice(0, Math.ceil(most * 0.4))}…${text.slice(text.length - Math.floor(most * 0.6) + 1)}` : text);
