// The page of one run.

const at = (object, path) => path.split(".").reduce((part, name) => (part === null || part === undefined ? part : part[name]), object);

// Figures that a report may have, in the order in which a reader wants them: name in the report, text, unit.
const HEADLINES = [
  ["cycles.total", "Cycles", "cycles"], ["time", "Time", "s"], ["bound_cycles", "Lower bound", "cycles"], ["cpu_share", "On the CPU", "share"],
  ["utilization", "PEs used", "share"], ["macs", "MACs on the DLA", "MACs"], ["dma", "DMA traffic", "bytes"],
  ["sram_peak_bytes", "SRAM in use", "bytes"],
];

function headline(report) {
  const { cycles, config, dma_bytes: moved } = report;
  const seconds = cycles.total / (config.clock_mhz * 1e6);
  const special = {
    time: [duration(seconds), `at ${config.clock_mhz} MHz`, seconds],
    cpu_share: [percent(cycles.total ? (cycles.total - Math.min(cycles.dla, cycles.total)) / cycles.total : 0), report.cpu.estimated ? "an estimate" : "measured on the board",
      cycles.total ? (cycles.total - Math.min(cycles.dla, cycles.total)) / cycles.total : 0],
    dma: [bytes(moved.read + moved.write), `read ${bytes(moved.read)}, written ${bytes(moved.write)}`, moved.read + moved.write],
  };
  // Energy and area as a whole; "All figures" has their parts.
  const others = DATA.figures.filter((figure) => /^(energy|area|power)[^.]*(\.total)?$/.test(figure.name) && typeof at(report, figure.name) === "number")
    .map((figure) => [figure.name, capital(figure.label || figure.name.replace("_mm2.total", " with memories")), figure.unit]);
  const cards = [...HEADLINES, ...others].map(([name, text, unit]) => {
    if (special[name]) return [name, text, ...special[name]];
    const value = at(report, name);
    return value === null || value === undefined ? null : [name, text, written(value, unit), note(name, value, unit, report), value];
  }).filter(Boolean);
  return figureCards(cards);
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// Cards in rows of equal length.
function figureCards(cards) {
  const across = Math.ceil(cards.length / Math.ceil(cards.length / 8));
  const columns = `repeat(auto-fit, minmax(max(132px, ${(100 / across).toFixed(3)}% - 12px), 1fr))`;
  return make("dl", { class: "figures", style: { gridTemplateColumns: columns } }, cards.map(([name, text, shown, small, value]) => make("div", { class: "figure" }, make("dt", {}, text),
    make("dd", { data: { figure: name, value } }, shown), make("div", { class: "exact" }, small))));
}

function note(name, value, unit, report) {
  if (/\.total$/.test(name) && typeof at(report, name.replace("total", "uncertainty")) === "number") return `± ${written(at(report, name.replace("total", "uncertainty")), unit)}${/^energy/.test(name) ? `, ${report.config.technology}` : ""}`;
  if (unit === "kGE") return `of logic; memories: ${written(at(report, "sram_kib.total"), "KiB")}`;
  if (name === "sram_peak_bytes") return `of ${bytes(report.config.sram_bytes)}`;
  if (name === "bound_cycles" && value) return `the run takes ${threeDigits(report.cycles.total / value)} times as long`;
  return unit === "share" ? "" : `${exact(value)}${/^(cycles|MACs|bytes)$/.test(unit) ? ` ${unit}` : ""}`;
}

function layerColumns(data, names) {
  const columns = [cell("number", "#", (row) => row.number + 1, { number: true })];
  for (const figure of data.layer_figures) {
    const isNumber = figure.unit !== "text";
    const empty = (layer) => (layer.unit !== "dla" && figure.dla_only) || (!layer.macs && figure.macs_only);
    const value = (row) => (empty(row.layer) ? null : at(row.layer, figure.name));
    const show = {
      name: (row) => [make("span", { class: "swatch", style: { background: colorOf(kindOf(row.layer)) } }), ` ${names[row.number]}`, make("small", {}, row.layer.operator)],
      unit: (row) => (row.layer.unit === "dla" ? "DLA" : "CPU"),
      utilization: (row) => (value(row) === null ? "" : [percent(value(row)), make("span", { class: "meter", "aria-hidden": "true" }, make("i", { style: { width: `${100 * Math.min(value(row), 1)}%` } }))]),
    }[figure.name] || ((row) => (value(row) === null || value(row) === undefined ? "" : isNumber && /^(bytes|nJ)$/.test(figure.unit) ? written(value(row), figure.unit) : exactOrText(value(row))));
    columns.push(cell(figure.name, figure.label || figure.name, value, { number: isNumber, hidden: /^(kind|operator)$/.test(figure.name), show, title: `${figure.text}${isNumber ? ` (${figure.unit})` : ""}`, class: figure.name === "name" ? "name" : null }));
  }
  if (!data.explained) return columns;
  const explained = (name, empty) => (row) => (empty(row) ? null : data.explained[name][row.number]);
  const never = () => false;
  const onCpu = (row) => row.layer.unit !== "dla";
  columns.push(
    cell("lost_cycles", "lost", explained("lost_cycles", onCpu), { number: true, title: "cycles beyond the layer's lower bound, without waits for transfers that every plan makes; and what limits the layer",
      show: (row) => (onCpu(row) ? "" : [exact(explained("lost_cycles", onCpu)(row)), explained("limit", never)(row) ? make("small", {}, explained("limit", never)(row)) : ""]) }),
    cell("bound_cycles", "bound", explained("bound_cycles", onCpu), { number: true, hidden: true }),
    cell("limit", "limit", explained("limit", never), { hidden: true }),
    cell("advice", "advice", explained("advice", never), { hidden: true }),
    cell("tile", "tile", explained("tile", never), { class: "tile" }),
    cell("why", "why it runs there", explained("why", never), { class: "words", show: (row) => [explained("why", never)(row), explained("advice", never)(row) ? `; would help: ${explained("advice", never)(row)}` : ""] }),
  );
  return columns;
}

function layerSection(data, report, names) {
  const rows = report.layers.map((layer, number) => ({ layer, number }));
  const columns = layerColumns(data, names);
  const list = table("layers", columns, rows, { pick: (row) => chooseLayer(row.number), key: (row) => row.number });
  listen("layer", (number) => list.mark(number));
  const search = make("input", { type: "search", id: "layer-filter", placeholder: "Filter by name, operator or reason", "aria-label": "Filter layers", size: 32, on: { input: () => {
    const words = search.value.toLowerCase();
    const chosen = rows.filter((row) => `${row.layer.name} ${row.layer.operator} ${row.layer.kind} ${row.layer.unit} ${data.explained ? data.explained.why[row.number] : ""}`.toLowerCase().includes(words));
    list.show(chosen);
    list.mark(chosenLayer);
    counted.textContent = `${exact(chosen.length)} of ${exact(rows.length)} layers`;
  } } });
  const counted = make("output", { "aria-live": "polite" }, `${exact(rows.length)} layers`);
  const save = button("Export as CSV", () => download("layers.csv", "text/csv", csv([columns.map((column) => column.name), ...rows.map((row) => columns.map((column) => column.value(row)))])), { id: "layers-csv" });
  return section("layer-table", "Layers", null, make("p", { class: "hint screen" }, "Choose a row to mark the layer in all charts. A heading sorts."), make("div", { class: "controls" }, search, counted, make("span", { class: "grow" }), save), list.node);
}

function timeSection(data, report, names) {
  if (!data.timeline) return missing("timeline", "Timeline and SRAM map", "A report has no timeline. `dlasim run MODEL --html page.html` writes a page with both.");
  const { timeline, sram } = data;
  const time = new TimeWindow(timeline.end);
  const go = () => {
    if (chosenLayer === null) return;
    const own = timeline.lanes.flatMap((lane) => lane.start.map((start, number) => [lane.layer[number], start, lane.end[number]])).filter(([layer]) => layer === chosenLayer);
    if (!own.length) return;
    const [from, until] = [Math.min(...ends(own.map((span) => span[1]), 0)), Math.max(...ends(own.map((span) => span[2]), 1))];
    time.set(from - (until - from) * 0.1, until + (until - from) * 0.1);
  };
  const coarse = timeline.resolution ? make("p", { class: "note", id: "resolution" },
    `The run has ${exact(timeline.operations)} operations. To keep this page small, those shorter than ${exact(timeline.resolution)} cycles that start within the same ${exact(timeline.resolution)} cycles are drawn as one span, of the layer of the longest. \`--trace\` has every operation.`) : null;
  const colors = legend([...new Set(report.layers.map(kindOf))].map((kind) => ({ text: kind, color: colorOf(kind) })));
  const map = sram ? [
    make("h3", {}, "SRAM: what lies at which address"),
    make("p", { class: "hint" }, "A rectangle is a buffer, from its first write until its last reader ends, in the colour of the layer that it was written for: full what is computed, paler activations from system memory, palest weights and other constants. Dashed lines stand for stretches that no buffer ever uses."
      + (sram.left_out ? ` The ${exact(sram.left_out)} smallest of ${exact(sram.left_out + sram.address.length)} buffers are left out.` : "")),
    sramChart(sram, report, names, time)] : make("p", { class: "note" }, `The run has too many operations (${exact(timeline.operations)}) to follow every byte of the SRAM; there is no map of it.`);
  return section("timeline", "Timeline and SRAM map", null, make("p", { class: "hint screen" }, HINT_KEYS), coarse, timeControls(time, go, layerSearch(report, go)), make("div", { class: "panel chart" }, timelineChart(timeline, report, names, time), colors, sumsTable(timeline.lanes, names, time), map));
}

const missing = (id, title, text) => section(id, title, null, make("p", { class: "note" }, text));

function figureSection(data, report) {
  const cells = (figure) => at(report, figure.name);
  const simple = data.figures.filter((figure) => ["number", "boolean"].includes(typeof cells(figure)));
  const columns = [
    cell("name", "figure", (row) => row.name, { show: (row) => make("code", {}, row.name) }),
    cell("value", "value", (row) => Number(cells(row)), { number: true, show: (row) => (typeof cells(row) === "boolean" ? String(cells(row)) : exact(cells(row))) }),
    cell("unit", "unit", (row) => row.unit), cell("text", "is", (row) => row.text, { class: "words" })];
  return section("figures", "All figures", null, table("all-figures", columns, simple).node);
}

function configSection(report, defaults) {
  return section("machine", "Machine", "A dot marks what differs from the default machine.", make("dl", { class: "pair", id: "config" },
    Object.entries(report.config).map(([name, value]) => make("div", { class: defaults[name] !== value && name !== "name" ? "changed" : null },
      make("dt", {}, name), make("dd", { data: { config: name, value } }, /_bytes$/.test(name) ? bytes(value) : exactOrText(value))))));
}

function functionSection(report) {
  if (!Array.isArray(report.functions) || !report.functions.length) return null;
  const columns = [cell("name", "function", (row) => row.name, { class: "name" }), ...["entries", "instructions", "cycles"].map((name) => cell(name, name, (row) => row[name], { number: true }))];
  return section("functions", "Firmware functions", "From reset to exit.", table("functions-table", columns, report.functions, { sort: "cycles", descending: true, most: 40 }).node);
}

function commandSection(command, warnings) {
  return [
    Array.isArray(warnings) && warnings.length ? section("warnings", "Warnings", null, make("ul", {}, warnings.map((text) => make("li", {}, text)))) : null,
    command ? section("command", "Reproduce", null, make("pre", { id: "command-text", tabindex: 0 }, command)) : null,
  ];
}

function runPage() {
  const { report, names } = DATA;
  const parts = cycleParts(report);
  const { config } = report;
  return [
    make("h1", {}, report.program || "Program"),
    make("p", { class: "lead" }, `${config.pes} PEs (${config.parallel}), ${bytes(config.sram_bytes)} SRAM, DMA ${config.dma_bandwidth || "unlimited"} B/cycle${report.cpu.model ? `, CPU ${report.cpu.model}` : ""}`),
    section("overview", "Overview", null, headline(report), make("div", { class: "panel" }, make("h3", {}, "Where the cycles went"), stack(parts, report.cycles.total, true), legend(parts, report.cycles.total))),
    layerSection(DATA, report, names),
    timeSection(DATA, report, names),
    section("roofline", "Roofline", "Each layer under the roofs of computing and of memory. Its time is its busy cycles or moving, whichever takes longer; bytes count in the direction that takes longer.", roofline(report, DATA.roofline, names)),
    DATA.network ? section("network", "Network", "A row for each layer as it runs, its data on the left. Circles run on the DLA, squares on the CPU; a bar is the layer's cycles.", networkChart(DATA.network, report, names))
      : missing("network", "Network", "Neither a compiled program nor a report contains the network's graph and the compiler's reasons. `dlasim run MODEL --html page.html` shows both."),
    section("units", "Units", "Where the cycles of each unit went, out of those of the DLA.", make("div", { class: "panel" }, unitBars(report, DATA.unit_figures))),
    functionSection(report), figureSection(DATA, report), configSection(report, DATA.defaults), commandSection(DATA.command, report.warnings),
  ];
}
