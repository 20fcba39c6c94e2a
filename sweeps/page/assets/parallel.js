// Parallel coordinates: an axis for each parameter and figure, a line for each point. A stretch of an axis filters.

const PAR = { top: 42, bottom: 22, left: 70, height: 320 };
const FEW_VALUES = 16;
const CHUNK = 100; // lines in one path: longer ones take the rasterizer quadratic time
const JOBS_A_FRAME = 4;
const GREY_LINES = 2500; // at most so many lines that do not pass

function parallel(points, view) {
  const axes = () => view.axes().map((axis) => ({ ...axis, values: points.column(axis.name) }));
  let laid = [];
  let drag = null;
  let painting = 0; // which painting goes on: a new one ends it
  const node = canvas(PAR.height, "Parallel coordinates of all parameters", (context, width, height) => {
    laid = lay(axes(), width, height);
    painting += 1;
    const jobs = lineJobs(context);
    const mine = painting;
    const go = () => {
      if (mine !== painting) return;
      for (let number = 0; number < JOBS_A_FRAME && jobs.length; number += 1) jobs.shift()();
      context.globalAlpha = 1;
      if (jobs.length && !printing) requestAnimationFrame(go);
      else {
        while (jobs.length) jobs.shift()();
        context.globalAlpha = 1;
        laid.forEach((axis) => paintAxis(context, axis, height));
      }
    };
    laid.forEach((axis) => paintAxis(context, axis, height));
    go();
  }, { id: "parallel-chart" });

  function lay(some, width, height) {
    const [from, until] = [height - PAR.bottom, PAR.top];
    const left = Math.min(PAR.left, width / 10);
    const right = Math.min(PAR.left, Math.max(width / 8, 56)); // a figure with its unit
    const room = some.length > 1 ? (width - left - right) / (some.length - 1) : width; // from one axis to the next
    return some.map((plain, place) => {
      const x = some.length > 1 ? left + place * room : width / 2;
      const axis = { ...plain, room, place, end: place < some.length - 1 ? x + room : width };
      const values = axis.order || [...new Set(axis.values)];
      if (axis.order && (values.length <= FEW_VALUES || values.some((value) => typeof value !== "number"))) {
        const places = new Map(values.map((value, number) => [value, number]));
        const last = Math.max(values.length - 1, 1);
        const y = (value) => (places.has(value) ? from + ((values.length === 1 ? 0.5 : places.get(value) / last) * (until - from)) : null);
        return { ...axis, x, y, labels: values.map((value, number) => [axis.shown[number], y(value)]), listed: values };
      }
      const map = fitting(axis.values, from, until, axis);
      return { ...axis, x, y: (value) => (value === null ? null : map(value)), labels: scaleTicks(map, 6).map((value) => [tickText(value, axis.unit), map(value)]), map };
    });
  }

  // The lines as pieces of work, so that a frame never waits for all of them.
  function lineJobs(context) {
    const places = laid.map((axis) => Float32Array.from(axis.values, (value) => axis.y(value) ?? NaN));
    const passing = [];
    const others = [];
    for (let number = 0; number < points.count; number += 1) (points.active[number] ? passing : others).push(number);
    const every = Math.max(1, Math.ceil(others.length / GREY_LINES));
    const alpha = Math.max(0.06, Math.min(0.8, Number(css("--lines")) * 40 / Math.sqrt(passing.length * 20 + 1)));
    return [
      ...pieces(context, others.filter((_, place) => place % every === 0), places, () => css("--dot"), 0.07, 1),
      ...pieces(context, passing, places, view.color, alpha, 1),
      ...(points.chosen === null ? [] : pieces(context, [points.chosen], places, () => css("--ink"), 1, 3)),
    ];
  }

  function pieces(context, numbers, places, color, alpha, width) {
    const byColor = new Map();
    for (const number of numbers) {
      const shade = color(number);
      if (!byColor.has(shade)) byColor.set(shade, []);
      byColor.get(shade).push(number);
    }
    const found = [];
    byColor.forEach((some, shade) => {
      for (let first = 0; first < some.length; first += CHUNK) {
        found.push(() => {
          context.globalAlpha = alpha;
          context.strokeStyle = shade;
          context.lineWidth = width;
          context.beginPath();
          for (const number of some.slice(first, first + CHUNK)) line(context, number, places);
          context.stroke();
        });
      }
    });
    return found;
  }

  function line(context, number, places) {
    let begun = false;
    laid.forEach((axis, place) => {
      const y = places[place][number];
      if (Number.isNaN(y)) begun = false;
      else if (begun) context.lineTo(axis.x, y);
      else { context.moveTo(axis.x, y); begun = true; }
    });
  }

  // At most twelve characters, or as many as have room.
  function shortened(context, text, most) {
    let shown = clipped(text, 12);
    for (let kept = 11; kept >= 3 && context.measureText(shown).width > most; kept -= 1) shown = clipped(text, kept);
    return shown;
  }

  function paintAxis(context, axis, height) {
    context.fillStyle = css("--muted");
    context.fillRect(axis.x - 0.5, PAR.top, 1, height - PAR.top - PAR.bottom);
    context.textAlign = "center";
    context.fillStyle = css("--ink");
    const isTight = axis.room < 90; // headings on two lines in turn
    const most = Math.floor((axis.room * (isTight ? 2 : 1)) / 7);
    context.fillText(clipped(axis.text, Math.max(Math.min(most, 16), 3)), axis.x, isTight && axis.place % 2 ? 27 : 14);
    const every = Math.max(1, Math.ceil(axis.labels.length / 16));
    context.textAlign = "left";
    axis.labels.forEach(([text, y], number) => {
      if (number % every) return;
      const shown = shortened(context, String(text), axis.end - axis.x - 10);
      context.fillStyle = css("--raised");
      context.globalAlpha = 0.75;
      context.fillRect(axis.x + 4, y - 7, context.measureText(shown).width + 4, 14);
      context.globalAlpha = 1;
      context.fillStyle = css("--ink");
      context.fillText(shown, axis.x + 6, y + 4);
    });
    const stretch = drag && drag.name === axis.name ? [drag.from, drag.until] : axis.map && points.ranges[axis.name] ? points.ranges[axis.name].map((value) => Math.min(Math.max(axis.map(value), PAR.top), height - PAR.bottom)) : null;
    if (!stretch) return;
    context.fillStyle = css("--accent");
    context.globalAlpha = 0.3;
    context.fillRect(axis.x - 7, Math.min(...stretch), 14, Math.abs(stretch[1] - stretch[0]));
    context.globalAlpha = 1;
  }

  const axisAt = (x) => laid.find((axis) => Math.abs(axis.x - x) < 22);
  node.addEventListener("pointerdown", (event) => {
    const axis = axisAt(event.offsetX);
    if (axis) drag = { name: axis.name, from: event.offsetY, until: event.offsetY };
  });
  node.addEventListener("pointermove", (event) => {
    node.style.cursor = axisAt(event.offsetX) ? "ns-resize" : "default";
    if (!drag) return;
    drag.until = event.offsetY;
    repaint();
  });
  const done = () => {
    if (!drag) return;
    const axis = laid.find((some) => some.name === drag.name);
    const [upper, lower] = [Math.min(drag.from, drag.until), Math.max(drag.from, drag.until)];
    drag = null;
    if (lower - upper < 4) view.clear(axis.name);
    else if (axis.listed) view.only(axis.name, axis.listed.filter((value) => axis.y(value) >= upper - 3 && axis.y(value) <= lower + 3));
    else {
      points.ranges[axis.name] = [axis.map.back(lower), axis.map.back(upper)];
      points.filter();
    }
  };
  node.addEventListener("pointerup", done);
  node.addEventListener("pointerleave", done);
  const repaint = soon(node.redraw);
  points.views.push(repaint);
  return node;
}
