// What the parts of a page share: data, theme, the layer that is chosen, and colours.

const DATA = JSON.parse(document.getElementById("data").textContent);
const listeners = { theme: [], layer: [], size: [] };
let chosenLayer = null;
let foundLayers = null; // those that a search found, as a set

const listen = (what, act) => listeners[what].push(act);
const tell = (what, value) => listeners[what].forEach((act) => act(value));

function chooseLayer(number) {
  chosenLayer = chosenLayer === number ? null : number;
  tell("layer", chosenLayer);
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const kindOf = (layer) => (layer.unit === "dla" ? layer.kind : "CPU");
const colorOf = (kind) => DATA.kinds[kind] || css("--other");

// Black or white, whichever is read better on a colour; as in the charts for print.
function onColor(color) {
  const [red, green, blue] = [1, 3, 5].map((place) => parseInt(color.slice(place, place + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#000000" : "#ffffff";
}

const THEMES = ["auto", "light", "dark"];
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
let theme = "auto";
try {
  theme = THEMES.includes(localStorage.getItem("dlasim-theme")) ? localStorage.getItem("dlasim-theme") : "auto";
} catch { /* a page from a file may have no storage */ }

function applyTheme(forced) {
  const dark = forced ? forced === "dark" : theme === "dark" || (theme === "auto" && prefersDark.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  tell("theme");
}

function themeButton() {
  const text = () => `Theme: ${theme}`;
  const box = button(text(), () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    try {
      localStorage.setItem("dlasim-theme", theme);
    } catch { /* likewise */ }
    box.textContent = text();
    applyTheme();
  }, { id: "theme", title: "Follow the system, or always light or dark" });
  return box;
}

prefersDark.addEventListener("change", () => applyTheme());
let printing = false;
addEventListener("beforeprint", () => { printing = true; applyTheme("light"); });
addEventListener("afterprint", () => { printing = false; applyTheme(); });
let sizing = 0;
addEventListener("resize", () => {
  cancelAnimationFrame(sizing);
  sizing = requestAnimationFrame(() => tell("size"));
});

// A canvas that is drawn again when its size or the theme changes; `paint` gets its context, width and height.
function canvas(height, label, paint, settings) {
  const node = make("canvas", { role: "img", "aria-label": label, ...settings });
  node.style.height = `${height}px`;
  let width = 0;
  node.redraw = () => {
    const ratio = Math.max(devicePixelRatio || 1, 1.5);
    width = node.clientWidth;
    if (!width) return;
    const tall = node.clientHeight;
    if (node.width !== Math.round(width * ratio) || node.height !== Math.round(tall * ratio)) {
      node.width = Math.round(width * ratio);
      node.height = Math.round(tall * ratio);
    }
    const context = node.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, tall);
    context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    paint(context, width, tall);
  };
  listen("theme", node.redraw);
  listen("size", node.redraw);
  return node;
}

function soon(act) {
  let waiting = 0;
  return () => {
    if (!waiting) waiting = requestAnimationFrame(() => {
      waiting = 0;
      act();
    });
  };
}
