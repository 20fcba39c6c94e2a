// Axes of the charts that are drawn as SVG, linear or logarithmic.

// Maps a value to a place between `from` and `to`.
function scale(low, high, from, to, log) {
  const turn = log ? Math.log10 : (value) => value;
  const [first, last] = [turn(low), turn(high)];
  const span = last - first || 1;
  const map = (value) => from + ((turn(value) - first) / span) * (to - from);
  map.back = (place) => {
    const value = first + ((place - from) / (to - from)) * span;
    return log ? 10 ** value : value;
  };
  map.log = log;
  map.low = low;
  map.high = high;
  return map;
}

// The scale that suits these values: logarithmic where they lie far apart, with a margin at both ends.
function fitting(values, from, to, { unit, machine } = {}) {
  let low = Math.min(...ends(values, 0));
  let high = Math.max(...ends(values, 1));
  if (!Number.isFinite(low)) [low, high] = [0, 1];
  const log = low > 0 && high > 4 * low;
  if (low === high) [low, high] = low ? [low - Math.abs(low) * 0.1, high + Math.abs(high) * 0.1] : [0, 1];
  const margin = log ? (high / low) ** 0.05 : (high - low) * 0.05;
  const map = log ? scale(low / margin, high * margin, from, to, true) : scale(low - margin, high + margin, from, to, false);
  map.unit = unit;
  map.binary = unit === "B" || machine === true;
  return map;
}

function ends(values, which) {
  let found = which ? -Infinity : Infinity;
  for (const value of values) if (value !== null && (which ? value > found : value < found)) found = value;
  return [found];
}

function scaleTicks(map, most) {
  if (!map.log) return ticks(map.low, map.high, most, map.unit === "B");
  const steps = map.binary ? powers(map, 2, [1]) : powers(map, 10, [1, 2, 5]);
  if (steps.length < 3) return closeTicks(map, most);
  const fewer = steps.length > most * 1.6 && !map.binary ? powers(map, 10, [1]) : steps;
  const every = Math.ceil(fewer.length / (most * 1.6));
  return fewer.filter((_, number) => number % every === 0);
}

// Where hardly any round number lies between the ends: more of them, or steps of equal length.
function closeTicks(map, most) {
  const more = powers(map, 10, [1, 1.5, 2, 3, 5, 7]);
  return more.length < 3 || map.binary ? ticks(map.low, map.high, most, map.unit === "B") : more;
}

function powers(map, base, factors) {
  const found = [];
  for (let power = Math.floor(Math.log(map.low) / Math.log(base)); base ** power <= map.high; power += 1) {
    for (const factor of factors) {
      const value = factor * base ** power;
      if (value >= map.low && value <= map.high) found.push(value);
    }
  }
  return found;
}

// Grid lines and labels for both axes around a box of SVG.
function frame(box, x, y, xText, yText) {
  const parts = [];
  for (const value of scaleTicks(x, Math.max(3, Math.round((box.right - box.left) / 110)))) {
    const place = x(value);
    parts.push(draw("line", { class: "grid", x1: place, x2: place, y1: box.top, y2: box.bottom }));
    parts.push(draw("text", { class: "muted", x: place, y: box.bottom + 17, "text-anchor": "middle" }, tickText(value, x.unit)));
  }
  for (const value of scaleTicks(y, 7)) {
    const place = y(value);
    parts.push(draw("line", { class: "grid", x1: box.left, x2: box.right, y1: place, y2: place }));
    parts.push(draw("text", { class: "muted", x: box.left - 8, y: place + 4, "text-anchor": "end" }, tickText(value, y.unit)));
  }
  parts.push(draw("text", { x: (box.left + box.right) / 2, y: box.bottom + 36, "text-anchor": "middle" }, xText));
  parts.push(draw("text", { x: box.left - 46, y: box.top - 10 }, yText));
  return parts;
}
