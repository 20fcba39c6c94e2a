// The page of two runs: what differs, layer by layer.

const change = (before, after) => (typeof before === "number" && typeof after === "number" ? after - before : null);

function changeText(before, after, show = exact) {
  const difference = change(before, after);
  if (difference === null) return "";
  const sign = difference > 0 ? "+" : "−";
  if (difference === 0) return "=";
  const share = before > 0 && after >= 10 * before ? ` (× ${threeDigits(after / before)})` : before ? ` (${sign}${percent(Math.abs(difference / before))})` : "";
  return `${sign}${show(Math.abs(difference))}${share}`;
}

// What a share gained or lost, in points of a hundred: a percentage of a percentage misleads.
const pointsText = (before, after) => (after === before ? "=" : `${after > before ? "+" : "−"}${(100 * Math.abs(after - before)).toFixed(1)} points`);

const judged = (before, after, more) => (!change(before, after) ? null : (after > before) === !!more ? "better" : "worse");

function comparedFigures(runs) {
  const rows = [["cycles.total", "cycles"], ["cycles.dla", "DLA cycles"], ["cycles.cpu", "CPU cycles"], ["cycles.stall", "memory stalls"], ["utilization", "PEs used", true], ["macs", "MACs on the DLA", true],
    ["dma_bytes.read", "read"], ["dma_bytes.write", "written"], ["sram_peak_bytes", "SRAM in use"], ["memory.arena_peak_bytes", "arena"], ["memory.artifact_bytes", "artefact"], ["bound_cycles", "lower bound"], ["sram_kib.total", "all memories"]];
  const known = new Set(rows.map(([name]) => name));
  for (const figure of runs[0].figures) {
    if (/^(energy|area)/.test(figure.name) && !known.has(figure.name)) rows.push([figure.name, figure.label || figure.name.replace(/^(energy|area)\w*\./, "$1: ")]);
  }
  const units = Object.fromEntries(runs[0].figures.map((figure) => [figure.name, figure.unit]));
  return rows.map(([name, text, more]) => ({ name, text, more, unit: units[name], values: runs.map((run) => at(run.report, name)) })).filter((row) => row.values.every((value) => typeof value === "number"));
}

function pairColumns(runs) {
  const value = (which, path) => (row) => (row.pair[which] === null ? null : at(runs[which].report.layers[row.pair[which]], path));
  const layer = (row) => (row.pair[1] === null ? runs[0].report.layers[row.pair[0]] : runs[1].report.layers[row.pair[1]]);
  const name = (row) => (row.pair[1] === null ? runs[0].names[row.pair[0]] : runs[1].names[row.pair[1]]);
  const place = (which) => (row) => (row.pair[which] === null ? "" : runs[which].report.layers[row.pair[which]].unit === "dla" ? "DLA" : "CPU");
  // What a run on the DLA did; the CPU has neither tiles nor transfers of its own.
  const fromTo = (row, shown) => (place(0)(row) === "DLA" || place(1)(row) === "DLA" ? [0, 1].map((which) => (place(which)(row) === "DLA" ? shown(which) : "–")).join(" → ") : "");
  const [a, b] = [value(0, "cycles"), value(1, "cycles")];
  const difference = (row) => (b(row) ?? 0) - (a(row) ?? 0);
  return {
    difference,
    columns: (most) => [
      cell("number", "#", (row) => row.number + 1, { number: true }),
      cell("name", "layer", name, { class: "name", show: (row) => [make("span", { class: "swatch", style: { background: colorOf(kindOf(layer(row))) } }), ` ${name(row)}`, make("small", {}, layer(row).operator)] }),
      cell("operator", "operator", (row) => layer(row).operator, { hidden: true }),
      cell("unit", "runs on", (row) => [...new Set([place(0)(row), place(1)(row)].filter(Boolean))].join(" → ")),
      cell("before", "cycles A", a, { number: true }), cell("after", "cycles B", b, { number: true }),
      cell("change", "change", difference, { number: true, show: (row) => make("span", { class: judged(a(row) ?? 0, b(row) ?? 0) }, row.pair[0] === null ? "only in B" : row.pair[1] === null ? "only in A" : changeText(a(row), b(row))) }),
      cell("bar", "", difference, { show: (row) => deltaBar(difference(row), most) }),
      cell("busy", "busy A → B", (row) => change(value(0, "busy_cycles")(row), value(1, "busy_cycles")(row)), { number: true, show: (row) => fromTo(row, (which) => exact(value(which, "busy_cycles")(row))) }),
      cell("tiles", "tiles A → B", (row) => change(value(0, "tiles")(row), value(1, "tiles")(row)), { number: true, show: (row) => fromTo(row, (which) => exactOrText(value(which, "tiles")(row))) }),
      cell("moved", "moved A → B", (row) => change(moved(value, 0)(row), moved(value, 1)(row)), { number: true, show: (row) => fromTo(row, (which) => bytes(moved(value, which)(row))) }),
      cell("used", "used A → B", (row) => change(value(0, "utilization")(row), value(1, "utilization")(row)), { number: true, show: (row) => (layer(row).macs ? fromTo(row, (which) => percent(value(which, "utilization")(row))) : "") }),
    ],
  };
}

const moved = (value, which) => (row) => (row.pair[which] === null ? null : value(which, "dma_bytes.read")(row) + value(which, "dma_bytes.write")(row));

function deltaBar(difference, most) {
  const share = 50 * Math.abs(difference) / most;
  return make("span", { class: "delta", "aria-hidden": "true" }, make("i", { class: difference < 0 ? "less" : "more", style: { width: `${share}%`, [difference < 0 ? "right" : "left"]: "50%" } }));
}

function comparisonPage() {
  const { runs, pairs } = DATA;
  const [before, after] = runs.map((run) => run.report);
  const rows = pairs.map((pair, number) => ({ pair, number }));
  const { columns, difference } = pairColumns(runs);
  const most = Math.max(...ends(rows.map((row) => Math.abs(difference(row))), 1), 1);
  const list = table("layer-changes", columns(most), rows);
  const figures = comparedFigures(runs);
  const shown = (row) => ({ share: percent, nJ: energy, kGE: (value) => written(value, "kGE"), KiB: (value) => written(value, "KiB") })[row.unit] || exact;
  const whole = Math.max(before.cycles.total, after.cycles.total, 1);
  const bars = runs.map((run, which) => {
    const parts = cycleParts(run.report);
    const bar = stack(parts, run.report.cycles.total);
    bar.style.width = `${100 * run.report.cycles.total / whole}%`;
    return [make("span", {}, which ? "B" : "A"), bar, make("span", { class: "amount" }, `${exact(run.report.cycles.total)} cycles`)];
  });
  const settings = Object.keys(after.config).map((name) => ({ name, values: [before.config[name], after.config[name]] }));
  const changed = settings.filter((row) => row.values[0] !== row.values[1] && row.name !== "name");
  const parts = [...cycleParts(before), ...cycleParts(after)].filter((part) => part.value > 0);
  const kinds = [...new Map(parts.map((part) => [part.text, { text: part.text, color: part.color }])).values()];
  const faster = before.cycles.total && after.cycles.total ? before.cycles.total / after.cycles.total : 1;
  return [
    make("h1", {}, before.program === after.program ? `${before.program}: two runs` : `${before.program} and ${after.program}`),
    make("p", { class: "lead" }, runs.map((run, which) => [which ? "B: " : "A: ", make("code", {}, run.label), which ? "" : " · "])),
    section("overview", "Overview", null,
      make("p", { id: "verdict" }, "B takes ", make("strong", { class: judged(before.cycles.total, after.cycles.total) }, before.cycles.total === after.cycles.total ? "as many cycles as A" : `${threeDigits(faster >= 1 ? faster : 1 / faster)} times ${faster >= 1 ? "fewer" : "more"} cycles than A`), "."),
      make("div", { class: "panel" }, make("div", { class: "bars" }, bars), legend(kinds)),
      make("p"), table("figure-changes", [cell("text", "figure", (row) => row.text), ...[0, 1].map((which) => cell(`value-${which}`, which ? "B" : "A", (row) => row.values[which], { number: true, show: (row) => shown(row)(row.values[which]) })),
        cell("unit", "unit", (row) => (/^(share|nJ|kGE|KiB)$/.test(row.unit) ? "" : row.unit)), cell("change", "change", (row) => change(...row.values), { number: true, show: (row) => make("span", { class: judged(...row.values, row.more) }, row.unit === "share" ? pointsText(...row.values) : changeText(...row.values, shown(row))) })], figures).node),
    section("machine", "Machines", null, changed.length ? table("config-changes", [cell("name", "parameter", (row) => row.name), ...[0, 1].map((which) => cell(`value-${which}`, which ? "B" : "A", (row) => row.values[which], { show: (row) => (/_bytes$/.test(row.name) ? bytes(row.values[which]) : exactOrText(row.values[which])) }))], changed).node
      : make("p", { class: "note" }, "Both runs have the same machine.")),
    section("layer-table", "Layers", "Layers of the same name are compared.", make("div", { class: "controls" }, button("Largest changes first", () => { list.show([...rows].sort((one, other) => Math.abs(difference(other)) - Math.abs(difference(one)))); }, { id: "largest" }), button("In the network's order", () => list.show(rows)),
      make("span", { class: "grow" }), button("Export as CSV", () => download("changes.csv", "text/csv", csv([columns(1).map((column) => column.name), ...rows.map((row) => columns(1).map((column) => column.value(row)))])), { id: "changes-csv" })), list.node),
    section("units", "Units", "Where the cycles of each unit went, out of those of the DLA.", make("div", { class: "two" }, runs.map((run, which) => make("div", { class: "panel" }, make("h3", {}, which ? "B" : "A"), unitBars(run.report, run.unit_figures))))),
    runs.some((run) => run.command) ? section("command", "Reproduce", null, runs.map((run, which) => (run.command ? make("pre", { tabindex: 0 }, `${which ? "B" : "A"}: ${run.command}`) : null))) : null,
  ];
}
