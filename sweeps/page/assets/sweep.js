// The page of a sweep.

const MAX_ROWS = 50; // of each model
const SHOWN = ["cycles_total", "milliseconds", "energy_nj", "area_kge", "sram_kib", "utilization", "dma_read_bytes", "dma_write_bytes", "cycles_cpu", "cpu_instructions"];
const SHORT = { utilization: "used", dma_read_bytes: "read", dma_write_bytes: "written" };
const PARTS = [["conv", "CONV"], ["requant", "REQUANT"], ["depth", "DEPTH"], ["fc", "FC"], ["pool", "POOL"], ["eltwise", "ELTWISE"], ["act", "ACT"], ["other", "OTHER"], ["stall", "memory stalls"]];

function sweepPage() {
  const ran = DATA.labels.length;
  const head = [
    make("h1", {}, DATA.study.title || DATA.study.study || "Sweep"),
    make("p", { class: "lead" }, `${exact(DATA.count)} points${DATA.where ? ` where ${DATA.where}` : ""}${DATA.parameters.length ? `; swept: ${DATA.parameters.map((one) => one.text).join(", ")}` : ""}`),
    DATA.partial ? make("p", { class: "note", id: "partial" }, `The sweep is not complete (${DATA.partial}). The same command goes on.`) : null,
    answerSection(),
    section("overview", "Overview", null, sweepFigures(ran), fixedParameters()),
  ];
  if (!ran) return [...head, make("p", { class: "note", id: "nothing-ran" }, "No point ran, so there is nothing to draw. The reasons are below."), refusedSection(), commandSection(DATA.command)];
  const points = new Points(DATA.columns, ran);
  const view = sweepView(points);
  return [...head, filterSection(points, view), frontSection(points, view), DATA.parameters.length ? section("parallel", "Parallel coordinates", "A line is a point. Drag along an axis to keep a stretch of it, click the axis to clear it; the filters above do the same by keyboard.", make("div", { class: "panel chart" }, parallel(points, view))) : null,
    bestSection(points, view), pointSection(points), refusedSection(), commandSection(DATA.command)];
}

function sweepFigures(ran) {
  const models = modelsOf();
  const cards = [["points", "Points", exact(DATA.count), "", DATA.count], ["ran", "Ran", exact(ran), DATA.count ? percent(ran / DATA.count) : "", ran],
    ["refused", "Cannot run", exact(DATA.statuses.refused || 0), "", DATA.statuses.refused || 0], ["failed", "Failed", exact(DATA.statuses.failed || 0), "", DATA.statuses.failed || 0], ["pending", "Not done yet", exact(DATA.statuses.pending || 0), "", DATA.statuses.pending || 0],
    ...bestCards(models),
    ...(ran ? [["models", "Models", exact(models.length), clipped(models.join(", "), 60), models.length]] : [])].filter(([name, , , , value]) => !["failed", "pending"].includes(name) || value);
  return figureCards(cards);
}

// What the goals come to: the winner, the limits that bind, and what one other value makes of the winner.
function answerSection() {
  if (!DATA.answer.length) return null;
  const change = (before, after) => (typeof before === "number" && typeof after === "number" && before ? `${after >= before ? "+" : "−"}${Math.abs(100 * (after / before - 1)).toFixed(1)} %` : "–");
  const rows = DATA.sensitivity.map(([parameter, from, to, ...rest]) => ({ parameter, from, to, outside: rest[rest.length - 1], figures: rest.slice(0, -1) }));
  const figures = rows.length ? rows[0].figures.map(([text], place) => cell(`figure-${place}`, text, (row) => row.figures[place][2], { number: true, show: (row) => `${change(row.figures[place][1], row.figures[place][2])}` })) : [];
  return section("answer", "The answer", null, make("ul", { id: "answer-text" }, DATA.answer.map((text) => make("li", {}, text))),
    rows.length ? [make("h3", {}, "One other value of a parameter of the winner"), table("sensitivity", [cell("parameter", "parameter", (row) => row.parameter), cell("from", "winner", (row) => row.from), cell("to", "other", (row) => row.to), ...figures, cell("outside", "outside", (row) => row.outside)], rows).node] : null);
}

// The best points of a sweep of one model, for the figures that differ.
function bestCards(models) {
  if (models.length !== 1 || !DATA.labels.length) return [];
  const points = new Points(DATA.columns, DATA.labels.length);
  return [["cycles_total", "Fewest cycles"], ["energy_nj", "Least energy"]].flatMap(([name, text]) => {
    const figure = DATA.figures.find((one) => one.name === name);
    if (!figure) return [];
    const best = DATA.best[name], value = points.column(name)[best];
    return [[`best.${name}`, text, written(value, figure.unit), DATA.labels[best] || points.column("label")[best], value]];
  });
}

function fixedParameters() {
  return make("details", { class: "screen" }, make("summary", {}, "Parameters that all points share"), make("dl", { class: "pair" }, DATA.fixed.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))));
}

// The colour of a parameter's value: apart for a few values, from blue to orange for many.
const shadeOf = ({ values }, place) => (values.length <= HUES.length ? HUES[place] : `hsl(${240 - (200 * place) / (values.length - 1)} 70% 50%)`);

// What the charts show, and how: figures of the axes, colours, texts.
function sweepView(points) {
  const figures = DATA.figures;
  const byName = (name) => figures.find((figure) => figure.name === name);
  const [first, second] = DATA.objectives.map(byName);
  const goal = first || byName("cycles_total") || figures[0] || { name: "cycles_total", text: "cycles", unit: "" };
  const other = second || ["energy_nj", "area_kge", "pes", "sram_bytes", "dma_read_bytes"].map(byName).find((figure) => figure && figure !== goal) || figures.find((figure) => figure !== goal) || goal;
  const single = { name: "point", text: "point", unit: "" };
  const several = Boolean(DATA.columns.model.texts);
  const view = { x: other === goal ? single : other, y: goal, shade: several ? "model" : null };
  view.figures = figures.includes(goal) ? figures : [goal, ...figures];
  view.colored = () => DATA.parameters.find((parameter) => parameter.name === view.shade);
  view.color = (number) => {
    if (!view.shade) return HUES[0];
    const parameter = view.colored();
    return shadeOf(parameter, parameter.values.indexOf(points.column(view.shade)[number]));
  };
  view.describe = (number) => `${points.column("model")[number]}\n${DATA.labels[number] || points.column("label")[number]}\n`
    + [...new Set([view.y, view.x])].map((figure) => `${figure.text}: ${written(points.column(figure.name)[number], figure.unit)}`).join("\n");
  view.axes = () => [...DATA.parameters.map((parameter) => ({ ...parameter, order: parameter.values, unit: /_bytes$/.test(parameter.name) ? "B" : "" })),
    ...[view.x, view.y].filter((figure, place, all) => all.indexOf(figure) === place && !DATA.parameters.some((parameter) => parameter.name === figure.name))];
  view.refresh = [];
  view.clear = (name) => {
    delete points.values[name];
    delete points.ranges[name];
    points.filter();
  };
  view.only = (name, values) => {
    points.values[name] = new Set(values);
    points.filter();
  };
  return view;
}

function filterSection(points, view) {
  const rows = DATA.parameters.filter((parameter) => parameter.values.length > 1).map((parameter) => [make("span", { class: "name" }, parameter.text), parameter.values.length <= 24 ? chips(points, view, parameter) : limits(points, parameter.name, typeof parameter.values[0] === "number")]);
  const count = make("output", { id: "selected", "aria-live": "polite" });
  const show = () => { count.textContent = `${exact(points.left)} of ${exact(points.count)} points`; count.dataset.value = points.left; };
  points.views.push(show);
  show();
  const reset = button("Show all", () => {
    [points.values, points.ranges] = [{}, {}];
    points.filter();
  }, { id: "reset" });
  return section("filters", "Filters", "Every filter acts on all charts and tables below.", make("div", { class: "filters" }, rows), figureLimits(points, view), make("div", { class: "controls" }, count, reset,
    make("span", { class: "grow" }), button("Export the selection as CSV", () => download("selection.csv", "text/csv", points.exported()), { id: "selection-csv" })));
}

function chips(points, view, parameter) {
  const boxes = parameter.values.map((value, number) => button(parameter.shown[number], () => {
    const some = new Set(points.values[parameter.name] || parameter.values);
    if (some.has(value)) some.delete(value);
    else some.add(value);
    if (some.size === parameter.values.length) view.clear(parameter.name);
    else view.only(parameter.name, some);
  }, { data: { filter: parameter.name, value: plain(value) } }));
  const show = () => boxes.forEach((box, number) => box.setAttribute("aria-pressed", String(!points.values[parameter.name] || points.values[parameter.name].has(parameter.values[number]))));
  points.views.push(show);
  show();
  return make("div", { class: "chips", role: "group", "aria-label": parameter.text }, boxes);
}

// Two fields for the least and the most of a column.
function limits(points, name, isNumber) {
  if (!isNumber) return make("span", { class: "hint" }, "too many values to list: use the axis below");
  const field = (which, text) => make("input", { type: "number", step: "any", size: 12, "aria-label": `${text} ${name}`, data: { limit: name, which }, placeholder: text, on: { change: (event) => {
    const range = points.ranges[name] || [-Infinity, Infinity];
    range[which] = event.target.value === "" ? (which ? Infinity : -Infinity) : Number(event.target.value);
    points.ranges[name] = range;
    points.filter();
  } } });
  const fields = [field(0, "at least"), field(1, "at most")];
  points.views.push(() => fields.forEach((one, which) => {
    const value = points.ranges[name] ? points.ranges[name][which] : Infinity;
    if (document.activeElement !== one) one.value = Number.isFinite(value) ? Number(value.toPrecision(6)) : "";
  }));
  return make("span", { class: "controls" }, fields);
}

function figureLimits(points, view) {
  const box = make("div", { class: "filters screen" });
  const render = () => box.replaceChildren(...[view.y, view.x].filter((figure, place, all) => all.indexOf(figure) === place && figure.name !== "point" && !DATA.parameters.some((one) => one.name === figure.name && one.values.length <= 24)).flatMap((figure) => [make("span", { class: "name" }, figure.text), limits(points, figure.name, true)]));
  view.refresh.push(render);
  render();
  return box;
}

function frontSection(points, view) {
  const models = modelsOf();
  const charts = models.map((model) => make("div", { class: "panel chart" }, make("h3", {}, model), scatter(points, membersOf(points, model), view)));
  const axis = make("p", { class: "hint", id: "front-note" });
  const shades = make("div");
  const render = () => {
    axis.textContent = `Upwards: ${axisText(view.y)} (${view.y.more ? "more" : "less"} is better); to the right: ${axisText(view.x)} (${view.x.more ? "more" : "less"} is better). The line joins the points that nothing beats in both, among those that pass the filters${DATA.limits.length ? ` and keep to ${DATA.limits.map((limit) => limit.text).join(", ")}; others are crosses` : ""}. Drag a box to keep what is in it; arrow keys walk along the front.`;
    const parameter = view.colored();
    shades.replaceChildren(parameter ? legend(parameter.values.slice(0, HUES.length * 3).map((value, number) => ({ text: parameter.shown[number], color: shadeOf(parameter, number) }))) : "");
  };
  const update = () => { render(); view.refresh.forEach((act) => act()); points.tell(); };
  const choices = view.figures.map((figure) => [figure.name, axisText(figure), figure.group]);
  const pick = (side) => (name) => { view[side] = view.figures.find((figure) => figure.name === name) || view[side]; update(); };
  render();
  return section("front", models.length > 1 ? "Fronts, a panel for each model" : "Front", null, make("div", { class: "controls" }, select("Upwards", choices, view.y.name, pick("y")), select("To the right", choices, view.x.name, pick("x")),
    select("Colours", [["", "none"], ...DATA.parameters.map((parameter) => [parameter.name, parameter.text])], view.shade || "", (name) => { view.shade = name || null; update(); })), axis, make("div", { class: models.length > 1 ? "two" : "" }, charts), shades);
}

function bestSection(points, view) {
  const models = modelsOf();
  const lists = models.map((model) => {
    const list = table(`best-points-${models.indexOf(model)}`, bestColumns(points), [], { sort: view.y.name, pick: (row) => points.choose(row), key: (row) => row });
    return { model, list };
  });
  const note = make("p", { class: "hint", id: "best-note" });
  const render = () => {
    const goal = view.y;
    const worth = points.column(goal.name);
    note.textContent = `The points${models.length > 1 ? " of each model" : ""} with the ${goal.more ? "most" : "least"} ${goal.text} among those that pass the filters, at most ${MAX_ROWS}. Choose one to mark it in the charts.`;
    lists.forEach(({ model, list }) => {
      const members = membersOf(points, model).filter((number) => points.active[number] && !DATA.outside[number] && worth[number] !== null);
      members.sort((one, other) => (worth[one] - worth[other]) * (goal.more ? -1 : 1) || one - other);
      list.show(members.slice(0, MAX_ROWS));
      list.mark(members.find((number) => points.isChosen(number)) ?? null);
    });
  };
  points.views.push(soon(render));
  render();
  return section("best", "Best points", null, note, lists.map(({ model, list }) => make("div", { class: "best" }, models.length > 1 ? make("h3", {}, model) : null, list.node)),
    "cycles_stall" in DATA.columns ? legend([...PARTS.map(([, kind]) => kind), "CPU"].map((kind) => ({ text: kind, color: colorOf(kind) }))) : null);
}

// The networks; all of them together come first.
function modelsOf() {
  const models = DATA.columns.model.texts || [DATA.columns.model.all];
  return [...models].sort((one, other) => (other === DATA.workload) - (one === DATA.workload));
}

function membersOf(points, model) {
  const column = points.column("model");
  return [...column.keys()].filter((number) => column[number] === model);
}

function bestColumns(points) {
  const value = (name) => (row) => points.column(name)[row];
  const parameters = DATA.parameters.filter((parameter) => parameter.name !== "model").map((parameter) => cell(parameter.name, parameter.text, value(parameter.name), { number: typeof parameter.values[0] === "number", show: (row) => parameter.shown[parameter.values.indexOf(value(parameter.name)(row))] }));
  const show = (one) => (row) => (/^(B|%|nJ|kGE|KiB)$/.test(one.unit) ? written(value(one.name)(row), one.unit) : exactOrText(value(one.name)(row)));
  const figures = SHOWN.map((name) => DATA.figures.find((one) => one.name === name)).filter((one) => one && !DATA.parameters.some((parameter) => parameter.name === one.name));
  const columns = figures.map((one) => cell(one.name, SHORT[one.name] || axisText(one), value(one.name), { number: true, show: show(one), title: axisText(one) }));
  const parts = "cycles_stall" in DATA.columns ? [cell("parts", "cycles by kind", value("cycles_total"), { show: (row) => partBar(points, row) })] : [];
  // What a machine takes comes first: with many parameters the table is wider than the page.
  const first = columns.filter((column) => column.name === "cycles_total");
  return [cell("point", "point", value("point"), { number: true }), ...first, ...parts, ...parameters, ...columns.filter((column) => !first.includes(column))];
}

function partBar(points, row) {
  const amount = (name) => (name in DATA.columns ? points.column(name)[row] || 0 : 0);
  const parts = [...PARTS.map(([name, kind]) => ({ text: kind, value: amount(`cycles_${name}`), color: colorOf(kind) })), { text: "CPU", value: Math.max(amount("cycles_total") - amount("cycles_dla"), 0), color: colorOf("CPU") }];
  const bar = stack(parts, amount("cycles_total") || 1);
  Object.assign(bar.style, { width: "150px", height: "12px" });
  return bar;
}

function pointSection(points) {
  const box = make("div", { id: "chosen-point" });
  const node = section("point", "Chosen point", null, box);
  const render = () => {
    node.classList.toggle("screen", points.chosen === null); // paper shows no empty section
    if (points.chosen === null) return box.replaceChildren(make("p", { class: "hint" }, "Choose a point in a chart or in the table."));
    const row = points.chosen;
    return box.replaceChildren(make("dl", { class: "pair" }, Object.keys(DATA.columns).map((name) => [name, points.column(name)[row]]).filter(([, value]) => value !== null && value !== "").map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, exactOrText(value))))));
  };
  points.views.push(render);
  render();
  return node;
}

function refusedSection() {
  const rows = DATA.refused.map(([point, model, label, status, reason]) => ({ point, model, label, status, reason }));
  if (!rows.length) return null;
  const all = DATA.count - DATA.labels.length - (DATA.statuses.pending || 0);
  return section("refused", "Points that did not run", rows.length < all ? `The first ${exact(rows.length)} of ${exact(all)}.` : null, table("refused-table", [cell("point", "point", (row) => row.point, { number: true }), ...["model", "label", "status"].map((name) => cell(name, name, (row) => row[name])), cell("reason", "reason", (row) => row.reason, { class: "words" })], rows).node);
}
