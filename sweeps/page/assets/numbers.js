// How numbers are written: the same digits everywhere on a page.

const DECIMAL = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const BINARY = [[2 ** 30, " GiB"], [2 ** 20, " MiB"], [2 ** 10, " KiB"], [1, " B"]];
const JOULES = [[1e9, " J"], [1e6, " mJ"], [1e3, " µJ"], [1, " nJ"]];
const GATES = [[1e3, " MGE"], [1, " kGE"]];
const MEMORIES = [[2 ** 20, " GiB"], [2 ** 10, " MiB"], [1, " KiB"]];
const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 3 });

const exact = (value) => (typeof value === "number" ? grouped.format(value) : "–");
const percent = (share) => (typeof share === "number" ? `${(100 * share).toFixed(1)} %` : "–");

function threeDigits(value, steps = DECIMAL) {
  if (typeof value !== "number") return "–";
  if (value === 0) return `0${steps === DECIMAL ? "" : steps[steps.length - 1][1]}`;
  const [step, letter] = steps.find((pair) => Math.abs(value) >= pair[0] * 0.9995) || steps[steps.length - 1];
  const part = value / step;
  if (step === 1 && Number.isInteger(value)) return `${value}${letter}`;
  const digits = Math.max(2 - Math.max(Math.floor(Math.log10(Math.abs(part) * 1.0005)), -4), 0);
  return `${part.toFixed(Math.min(digits, 6))}${letter}`;
}

const bytes = (value) => threeDigits(value, BINARY);
const energy = (value) => threeDigits(value, JOULES);

function duration(seconds) {
  if (typeof seconds !== "number") return "–";
  const [step, unit] = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]].find(([size]) => seconds >= size * 0.9995) || [1e-9, "ns"];
  return `${threeDigits(seconds / step)} ${unit}`;
}

// A number of a figure with this unit.
function written(value, unit) {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value !== "number") return String(value);
  if (unit === "bytes" || unit === "B") return bytes(value);
  if (unit === "nJ") return energy(value);
  if (unit === "kGE") return threeDigits(value, GATES);
  if (unit === "mm2") return `${threeDigits(value)} mm²`;
  if (unit === "KiB") return threeDigits(value, MEMORIES);
  if (unit === "share" || unit === "%") return percent(value);
  if (unit === "truth") return value ? "yes" : "no";
  return unit === "" || /^(cycles|MACs|count|instructions)$/.test(unit) ? threeDigits(value) : `${threeDigits(value)} ${unit}`;
}

// Ticks of an axis: at most `most`, at 1, 2 or 5 times a power of ten (of two for bytes).
function ticks(low, high, most, binary) {
  const raw = (high - low) / Math.max(most, 1);
  if (!(raw > 0)) return [low];
  let step = binary ? 2 ** Math.ceil(Math.log2(raw)) : 10 ** Math.floor(Math.log10(raw));
  if (!binary) step *= [1, 2, 5, 10].find((factor) => factor * step >= raw);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) found.push(value);
  return found;
}

function tickText(value, unit) {
  if (unit === "bytes" || unit === "B") return bytesTick(value);
  const steps = { nJ: JOULES, kGE: GATES, KiB: MEMORIES }[unit] || DECIMAL;
  if (unit === "%") return `${Number((100 * value).toPrecision(4))}`;
  return value ? roundTick(value, steps) : "0";
}

const bytesTick = (value) => roundTick(value, BINARY);

function roundTick(value, steps) {
  const [step, letter] = steps.find((pair) => Math.abs(value) >= pair[0]) || steps[steps.length - 1];
  return `${Number((value / step).toPrecision(6))}${letter}`;
}
