// Elements, and nothing but text in them: names come from models, which nobody vouches for.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, settings, children) {
  for (const [name, value] of Object.entries(settings || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (name === "style") Object.assign(node.style, value);
    else if (name === "data") Object.assign(node.dataset, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

const make = (tag, settings, ...children) => fill(document.createElement(tag), settings, children);
const draw = (tag, settings, ...children) => fill(document.createElementNS(SVG, tag), settings, children);

// A picture that is drawn for the width that it gets, at most 960: on a phone it has less room, not smaller letters.
// `paint(width)` returns the SVG element.
function fluid(settings, paint, ...others) {
  const most = 960;
  let svg = paint(most);
  let drawn = most;
  const node = make("div", settings, svg, others);
  listen("size", () => {
    const width = Math.round(Math.min(Math.max(svg.clientWidth || svg.getBoundingClientRect().width, 280), most));
    if (width === drawn || !svg.isConnected) return;
    const next = paint(width);
    svg.replaceWith(next);
    [svg, drawn] = [next, width];
  });
  return node;
}

// A section with its place in the navigation.
function section(id, title, hint, ...children) {
  return make("section", { id, data: { title }, "aria-labelledby": `${id}-title` },
    make("h2", { id: `${id}-title` }, title), hint ? make("p", { class: "hint" }, hint) : null, children);
}

const tip = make("div", { id: "tip", role: "status" });

function showTip(text, x, y) {
  if (!text) return hideTip();
  tip.textContent = text;
  tip.style.display = "block";
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 6))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 18}px`;
}

function hideTip() {
  tip.style.display = "none";
}

// The events that show a text next to an element, for the mouse and for the keyboard.
function tipEvents(text) {
  return {
    mousemove: (event) => showTip(text, event.clientX, event.clientY),
    mouseleave: hideTip,
    focus: (event) => {
      const box = event.target.getBoundingClientRect();
      showTip(text, box.left + box.width / 2, box.bottom - 10);
    },
    blur: hideTip,
  };
}

// Choices of a key, a text and perhaps the group below whose heading they stand.
function groupedChoices(choices, option) {
  const groups = new Map();
  for (const choice of choices) groups.set(choice[2], [...(groups.get(choice[2]) || []), choice]);
  return [...groups].map(([group, some]) => (group ? make("optgroup", { label: group }, some.map(option)) : some.map(option)));
}

function select(label, choices, value, change) {
  const box = make("select", { "aria-label": label, on: { change: () => change(box.value) } },
    groupedChoices(choices, ([key, text]) => make("option", { value: key, selected: key === value }, text)));
  return make("label", {}, `${label} `, box);
}

function button(text, act, settings) {
  return make("button", { type: "button", ...settings, on: { click: act } }, text);
}

function download(name, type, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function csv(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\n`).join("");
}
