// Two figures of all points of one model, with the front that nothing beats.

const HUES = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8C6D1F", "#777777"];
const CORNER = { left: 66, right: 14, top: 28, bottom: 42 };

function scatter(points, members, view) {
  let map = null;
  let front = [];
  let walked = -1;
  let box = null;
  const node = canvas(320, "Scatter of two figures; arrow keys walk along the front", (context, width, height) => {
    const { x, y } = view;
    const [xs, ys] = [points.column(x.name), points.column(y.name)];
    const right = width - CORNER.right;
    const bottom = height - CORNER.bottom;
    map = { x: fitting(members.map((number) => xs[number]), CORNER.left, right, x), y: fitting(members.map((number) => ys[number]), bottom, CORNER.top, y) };
    front = points.front(members, x, y);
    paintFrame(context, map, x, y, width, height);
    const dot = (number, size) => context.fillRect(map.x(xs[number]) - size / 2, map.y(ys[number]) - size / 2, size, size);
    const known = members.filter((number) => xs[number] !== null && ys[number] !== null);
    context.globalAlpha = 0.35;
    context.fillStyle = css("--dot");
    for (const number of known) if (!points.active[number]) dot(number, 2.5);
    context.globalAlpha = known.length > 3000 ? 0.6 : 0.85;
    const size = known.length > 3000 ? 3 : known.length > 300 ? 4 : 6;
    for (const number of known) {
      if (!points.active[number]) continue;
      if (DATA.outside[number]) cross(context, map.x(xs[number]), map.y(ys[number]), size / 2);
      else {
        context.fillStyle = view.color(number);
        dot(number, size);
      }
    }
    context.globalAlpha = 1;
    paintFront(context, map, xs, ys);
    paintLimits(context, right, bottom);
    for (const number of known) if (points.isChosen(number)) ring(context, map.x(xs[number]), map.y(ys[number]), 7, css("--ink"));
    if (box) {
      context.globalAlpha = 0.2;
      context.fillStyle = css("--accent");
      context.fillRect(box.x, box.y, box.width, box.height);
      context.globalAlpha = 1;
    }
  }, { tabindex: 0, class: "scatter" });
  node.front = () => front;

  function cross(context, x, y, half) {
    context.strokeStyle = css("--dot");
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x - half, y - half);
    context.lineTo(x + half, y + half);
    context.moveTo(x - half, y + half);
    context.lineTo(x + half, y - half);
    context.stroke();
  }

  // The limits of this panel's network, or of all together.
  function paintLimits(context, right, bottom) {
    const model = points.column("model")[members[0]];
    const ofAll = model === DATA.workload || modelsOf().length === 1;
    context.strokeStyle = css("--ink");
    context.lineWidth = 1;
    context.setLineDash([6, 4]);
    for (const limit of DATA.limits) {
      if (limit.figure === null || (limit.model ? limit.model !== model : !ofAll)) continue;
      const [px, py] = [map.x(limit.value), map.y(limit.value)];
      context.beginPath();
      if (limit.figure === view.x.name && px >= CORNER.left && px <= right) {
        context.moveTo(px, CORNER.top);
        context.lineTo(px, bottom);
      }
      if (limit.figure === view.y.name && py >= CORNER.top && py <= bottom) {
        context.moveTo(CORNER.left, py);
        context.lineTo(right, py);
      }
      context.stroke();
    }
    context.setLineDash([]);
  }

  function ring(context, x, y, radius, color) {
    context.strokeStyle = color;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
  }

  function paintFront(context, { x, y }, xs, ys) {
    context.strokeStyle = css("--ink");
    context.lineWidth = 1.4;
    context.beginPath();
    front.forEach((number, place) => {
      const [px, py] = [x(xs[number]), y(ys[number])];
      if (place === 0) context.moveTo(px, py);
      else { context.lineTo(px, y(ys[front[place - 1]])); context.lineTo(px, py); }
    });
    context.stroke();
    for (const number of front) {
      context.fillStyle = view.color(number);
      context.beginPath();
      context.arc(x(xs[number]), y(ys[number]), 4.5, 0, 2 * Math.PI);
      context.fill();
      context.lineWidth = 1.2;
      context.stroke();
    }
  }

  const nearest = (px, py) => {
    const [xs, ys] = [points.column(view.x.name), points.column(view.y.name)];
    let [best, least] = [null, 144];
    for (const number of members) {
      if (!points.active[number] || xs[number] === null || ys[number] === null) continue;
      const distance = (map.x(xs[number]) - px) ** 2 + (map.y(ys[number]) - py) ** 2;
      if (distance < least) [best, least] = [number, distance];
    }
    return best;
  };
  let begun = null;
  node.addEventListener("pointerdown", (event) => { begun = [event.offsetX, event.offsetY]; });
  node.addEventListener("pointermove", (event) => {
    if (begun) {
      const [x, y] = begun;
      box = { x: Math.min(x, event.offsetX), y: Math.min(y, event.offsetY), width: Math.abs(event.offsetX - x), height: Math.abs(event.offsetY - y) };
      return repaint();
    }
    const number = map && nearest(event.offsetX, event.offsetY);
    return number === null ? hideTip() : showTip(view.describe(number), event.clientX, event.clientY);
  });
  const done = (event) => {
    const chosen = box;
    const clicked = begun;
    [begun, box] = [null, null];
    if (chosen && chosen.width > 5 && chosen.height > 5) {
      points.ranges[view.x.name] = [map.x.back(chosen.x), map.x.back(chosen.x + chosen.width)];
      points.ranges[view.y.name] = [map.y.back(chosen.y + chosen.height), map.y.back(chosen.y)];
      points.filter();
    } else if (clicked && event.type === "pointerup") points.choose(nearest(...clicked));
  };
  node.addEventListener("pointerup", done);
  node.addEventListener("pointerleave", (event) => { hideTip(); done(event); });
  node.addEventListener("blur", hideTip);
  node.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || !front.length) return;
    event.preventDefault();
    walked = Math.min(Math.max(walked + step, 0), front.length - 1);
    points.choose(front[walked]);
    const place = node.getBoundingClientRect();
    showTip(view.describe(front[walked]), place.left + map.x(points.column(view.x.name)[front[walked]]), place.top + map.y(points.column(view.y.name)[front[walked]]));
  });
  const repaint = soon(node.redraw);
  points.views.push(repaint);
  return node;
}

function paintFrame(context, map, x, y, width, height) {
  const bottom = height - CORNER.bottom;
  context.lineWidth = 1;
  context.textAlign = "center";
  for (const value of scaleTicks(map.x, Math.max(2, width / 110))) {
    context.fillStyle = css("--grid");
    context.fillRect(map.x(value), CORNER.top, 1, bottom - CORNER.top);
    context.fillStyle = css("--muted");
    const text = tickText(value, x.unit);
    context.fillText(text, Math.min(map.x(value), width - context.measureText(text).width / 2), bottom + 16);
  }
  context.textAlign = "right";
  for (const value of scaleTicks(map.y, 6)) {
    context.fillStyle = css("--grid");
    context.fillRect(CORNER.left, map.y(value), width - CORNER.left - CORNER.right, 1);
    context.fillStyle = css("--muted");
    context.fillText(tickText(value, y.unit), CORNER.left - 7, map.y(value) + 4);
  }
  context.fillStyle = css("--ink");
  context.textAlign = "center";
  context.fillText(axisText(x), (CORNER.left + width) / 2, height - 8);
  context.textAlign = "left";
  context.fillText(axisText(y), 4, 14);
}

const axisText = (figure) => (figure.unit && !/^(B|nJ|kGE|KiB)$/.test(figure.unit) ? `${figure.text} [${figure.unit}]` : figure.text);
