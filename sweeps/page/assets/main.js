// Puts the page together.

const PAGES = { run: runPage, comparison: comparisonPage, sweep: sweepPage };

applyTheme();
const main = make("main", {}, PAGES[DATA.page](), make("footer", {}, `dlasim ${DATA.version}. This file contains everything that it shows and loads nothing.`));
const nav = make("nav", { "aria-label": "Sections" }, [...main.querySelectorAll("section")].map((part) => make("a", { href: `#${part.id}` }, part.dataset.title)));
document.body.append(make("header", { class: "bar" }, make("div", {}, make("span", { class: "brand" }, "dlasim"), nav, themeButton())), main, tip);
tell("size");
document.documentElement.dataset.ready = "yes";
