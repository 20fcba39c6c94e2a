// The points of a sweep as columns, and which of them pass the filters.

class Points {
  constructor(columns, count) {
    this.count = count;
    this.columns = columns;
    this.cache = {};
    this.active = new Uint8Array(count).fill(1);
    this.left = count;
    this.values = {}; // parameter: the values that pass
    this.ranges = {}; // column: [least, most]
    this.views = [];
    this.chosen = null;
  }

  // Whether a point is on the machine that is chosen: a workload has a row for each network.
  isChosen(number) {
    return this.chosen !== null && DATA.machines[number] === DATA.machines[this.chosen];
  }

  column(name) {
    if (!this.cache[name]) {
      const { all, texts, of, values } = this.columns[name];
      this.cache[name] = values || (texts ? of.map((number) => texts[number]) : new Array(this.count).fill(all ?? null));
    }
    return this.cache[name];
  }

  filter() {
    const tests = [
      ...Object.entries(this.values).map(([name, some]) => [this.column(name), (value) => some.has(value)]),
      ...Object.entries(this.ranges).map(([name, [low, high]]) => [this.column(name), (value) => value !== null && value >= low && value <= high]),
    ];
    this.left = 0;
    for (let number = 0; number < this.count; number += 1) {
      const passes = tests.every(([column, test]) => test(column[number]));
      this.active[number] = passes ? 1 : 0;
      this.left += passes;
    }
    this.tell();
  }

  tell() {
    this.views.forEach((view) => view());
  }

  choose(number) {
    this.chosen = number;
    this.tell();
  }

  // The points within the limits that no other equals or beats in both figures, ascending in the first; of equal
  // ones the first.
  front(members, x, y) {
    const [xs, ys] = [this.column(x.name), this.column(y.name)];
    const cost = (value, figure) => (figure.more ? -value : value);
    const sorted = members.filter((number) => this.active[number] && !DATA.outside[number] && xs[number] !== null && ys[number] !== null)
      .sort((one, other) => cost(xs[one], x) - cost(xs[other], x) || cost(ys[one], y) - cost(ys[other], y) || one - other);
    const kept = [];
    let best = Infinity;
    for (const number of sorted) {
      if (cost(ys[number], y) < best) {
        kept.push(number);
        best = cost(ys[number], y);
      }
    }
    return kept;
  }

  exported() {
    const names = Object.keys(this.columns);
    const rows = [names];
    for (let number = 0; number < this.count; number += 1) {
      if (this.active[number]) rows.push(names.map((name) => this.column(name)[number]));
    }
    return csv(rows);
  }
}
