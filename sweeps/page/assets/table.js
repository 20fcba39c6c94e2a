// A table that sorts by any column, by mouse and keyboard.
//
// A column has `name`, `text`, `value(row)` to sort by, `show(row)` for the cell (text or a node), `number` and
// `title`; a `hidden` one is only exported. `pick` is called with a row that is clicked or entered.

function table(id, columns, rows, { sort = null, descending = false, pick = null, key = null, most = 2000 } = {}) {
  const body = make("tbody");
  columns = columns.filter((column) => !column.hidden);
  const heads = columns.map((column) => make("th", {
    class: column.number ? "number" : null, scope: "col", "aria-sort": "none", title: column.title,
  }, column.text ? button(column.text, () => order(column.name), { data: { sort: column.name } }) : null));
  const node = make("table", { id }, make("thead", {}, make("tr", {}, heads)), body);
  let shown = rows;
  let by = sort;
  let falls = descending;
  const lines = new Map();

  function order(name) {
    falls = by === name ? !falls : columns.find((column) => column.name === name).number === true;
    by = name;
    render();
  }

  function compare(one, other) {
    const empty = (value) => value === null || value === undefined || value === "";
    if (empty(one) || empty(other)) return empty(one) - empty(other);
    const less = typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other), "en", { numeric: true });
    return falls ? -less : less;
  }

  function line(row) {
    const cells = columns.map((column) => make("td", {
      class: [column.number && "number", column.class].filter(Boolean).join(" ") || null,
      title: column.class === "name" ? plain(column.value(row)) : null,
      data: { column: column.name, value: plain(column.value(row)) },
    }, column.show ? column.show(row) : exactOrText(column.value(row))));
    const settings = pick ? {
      class: "pick", tabindex: 0,
      on: {
        click: () => pick(row),
        keydown: (event) => {
          if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(row); }
          if (event.key === "ArrowDown") { event.preventDefault(); event.currentTarget.nextElementSibling?.focus(); }
          if (event.key === "ArrowUp") { event.preventDefault(); event.currentTarget.previousElementSibling?.focus(); }
        },
      },
    } : {};
    return make("tr", settings, cells);
  }

  function render() {
    const column = columns.find((some) => some.name === by);
    const sorted = column ? [...shown].sort((one, other) => compare(column.value(one), column.value(other))) : shown;
    heads.forEach((head, number) => head.setAttribute("aria-sort",
      columns[number].name === by ? (falls ? "descending" : "ascending") : "none"));
    lines.clear();
    body.replaceChildren(...sorted.slice(0, most).map((row) => {
      const node = line(row);
      if (key) lines.set(key(row), node);
      return node;
    }));
  }

  render();
  return {
    node: make("div", { class: "scroll" }, node),
    show(some) { shown = some; render(); },
    mark(value) {
      lines.forEach((node, name) => node.classList.toggle("chosen", name === value));
      return lines.get(value);
    },
  };
}

const plain = (value) => (value === null || value === undefined ? "" : String(value));
const exactOrText = (value) => (typeof value === "number" ? exact(value) : plain(value));
const cell = (name, text, value, settings) => ({ name, text, value, ...settings });
