// Stacked bars of parts, each with its legend.

function stack(parts, whole, tall) {
  return make("div", { class: tall ? "stack tall" : "stack", role: "img", "aria-label": parts.map((part) =>
    `${part.text} ${percent(part.value / whole)}`).join(", ") },
  parts.filter((part) => part.value > 0).map((part) => make("span", {
    style: { flex: `${part.value} 0 0`, background: part.color },
    on: tipEvents(`${part.text}\n${exact(part.value)} cycles, ${percent(part.value / whole)}`),
  })));
}

function legend(parts, whole) {
  return make("ul", { class: "legend" }, parts.filter((part) => part.value !== 0).map((part) => make("li", {},
    make("span", { class: "swatch", style: { background: part.color } }), part.text,
    part.value === undefined ? null : make("span", { class: "value", data: { part: part.name || part.text, value: part.value } },
      `${exact(part.value)}${whole ? ` (${percent(part.value / whole)})` : ""}`))));
}

// The cycles of a run: kinds of layers and stalls of the DLA, and what the CPU adds beyond them.
function cycleParts(report) {
  const { cycles } = report;
  const parts = Object.entries(cycles.by_kind).map(([kind, value]) => ({ text: kind, value, color: colorOf(kind) }));
  parts.push({ text: "memory stalls", value: cycles.stall, color: colorOf("memory stalls") });
  parts.push({ text: "CPU", value: Math.max(cycles.total - cycles.dla, 0), color: colorOf("CPU") });
  return parts;
}

// Where the cycles of each unit went.
const TERM_COLORS = {
  work: "#0072B2", fill: "#56B4E9", drain: "#9AD0F5", latency: "#E69F00", output: "#009E73", sram: "#D55E00", contention: "#CC79A7",
  idle_issue: "#777777", idle_wait: "#AAAAAA", idle_queue: "#CFCFCF",
};

function unitBars(report, figures) {
  const terms = figures.map((figure) => ({ ...figure, color: TERM_COLORS[figure.name] || "#333333" }));
  const units = Object.entries(report.units);
  const whole = report.cycles.dla;
  const present = terms.filter((term) => units.some(([, unit]) => unit[term.name] > 0));
  return make("div", {}, make("div", { class: "bars" }, units.map(([name, unit]) => [
    make("span", {}, name),
    stack(present.map((term) => ({ text: `${name}: ${term.label}`, value: unit[term.name], color: term.color })), whole),
    make("span", { class: "amount" }, `${percent(whole ? unit.work / whole : 0)} work`),
  ])), legend(present.map((term) => ({ text: term.label, color: term.color }))));
}
