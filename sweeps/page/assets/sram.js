// The SRAM map: address over time, a rectangle for each buffer.

const BREAK = 22; // the height of a stretch that is left out

// Maps addresses to places so that long stretches without a buffer take little room.
function addressScale(map, bottom, top) {
  const pieces = [];
  const order = [...map.address.keys()].sort((one, other) => map.address[one] - map.address[other]);
  const span = Math.max(...ends(map.end, 1), 1);
  for (const number of order) {
    const last = pieces[pieces.length - 1];
    const [from, until] = [pieces.length ? map.address[number] : 0, map.end[number]];
    if (last && from - last.until < span * 0.15) last.until = Math.max(last.until, until);
    else pieces.push({ from, until });
  }
  if (!pieces.length) pieces.push({ from: 0, until: span });
  const used = pieces.reduce((sum, piece) => sum + piece.until - piece.from, 0);
  const perByte = (bottom - top - BREAK * (pieces.length - 1)) / used;
  let place = bottom;
  for (const piece of pieces) {
    piece.low = place;
    piece.high = place - (piece.until - piece.from) * perByte;
    place = piece.high - BREAK;
  }
  const at = (address) => pieces.find((piece) => address <= piece.until) || pieces[pieces.length - 1];
  const y = (address) => at(address).low - (address - at(address).from) * perByte;
  y.back = (spot) => {
    const piece = pieces.find((some) => spot >= some.high && spot <= some.low);
    return piece ? piece.from + (piece.low - spot) / perByte : -1;
  };
  y.pieces = pieces;
  y.ticks = () => pieces.flatMap((piece) => [...new Set([piece.from, ...ticks(piece.from, piece.until, Math.max(1, Math.round((piece.low - piece.high) / 55)), true).filter((value) => value > piece.from && (value - piece.from) * perByte > 14)])]);
  return y;
}

const PATTERNS = { computed: 1, activations: 0.55, constants: 0.3 };

function sramChart(map, report, names, time) {
  const height = 360;
  const bottom = height - 24;
  const count = map.address.length;
  const color = (number) => (map.layer[number] >= 0 ? colorOf(kindOf(report.layers[map.layer[number]])) : colorOf("memory stalls"));
  const y = addressScale(map, bottom, 8);
  const node = canvas(height, `SRAM map of ${exact(count)} buffers`, (context, width) => {
    const x = timeAxis(context, time, width, height - 8, bottom);
    context.textAlign = "right";
    for (const value of y.ticks()) {
      context.fillStyle = css("--grid");
      context.fillRect(LEFT, y(value), width - LEFT, 1);
      context.fillStyle = css("--muted");
      context.fillText(bytesTick(value), LEFT - 6, y(value) + 4);
    }
    context.setLineDash([4, 4]);
    context.strokeStyle = css("--dot");
    for (const piece of y.pieces.slice(0, -1)) {
      for (const place of [piece.high - BREAK * 0.3, piece.high - BREAK * 0.7]) {
        context.beginPath();
        context.moveTo(LEFT, place);
        context.lineTo(width, place);
        context.stroke();
      }
    }
    context.setLineDash([]);
    for (let number = 0; number < count; number += 1) paintBuffer(context, number, x, width);
    markedStretch(context, time, x, bottom);
  }, { id: "sram-chart", tabindex: 0 });

  function paintBuffer(context, number, x, width) {
    if (map.until[number] < time.from || map.from[number] > time.until) return;
    const from = Math.max(x(map.from[number]), LEFT);
    const length = Math.max(Math.min(x(map.until[number]), width) - from, 0.6);
    const upper = y(map.end[number]);
    const tall = Math.max(y(map.address[number]) - upper, 0.8);
    const faint = stands(map.layer[number]) ? 1 : 0.15;
    context.globalAlpha = faint * PATTERNS[map.contents[map.content[number]]];
    context.fillStyle = color(number);
    context.fillRect(from, upper, length, tall);
    if (length > 3 && tall > 3) {
      context.globalAlpha = faint;
      context.strokeStyle = css("--bg");
      context.lineWidth = 1;
      context.strokeRect(from + 0.5, upper + 0.5, length - 1, tall - 1);
    }
    if (length > 70 && tall > 15 && map.layer[number] >= 0) label(context, names[map.layer[number]], from, upper, length, tall);
    context.globalAlpha = 1;
  }

  function label(context, text, from, upper, length, tall) {
    let shown = text;
    const width = (some) => context.measureText(some).width;
    if (width(shown) > length - 10) {
      shown = `${shown.slice(0, Math.floor(shown.length * (length - 18) / width(shown)))}…`;
    }
    context.fillStyle = css("--bg");
    context.globalAlpha *= 0.8;
    context.fillRect(from + 3, upper + tall / 2 - 8, width(shown) + 6, 16);
    context.globalAlpha = 1;
    context.fillStyle = css("--ink");
    context.textAlign = "left";
    context.fillText(shown, from + 6, upper + tall / 2 + 4);
  }

  overTime(node, time, (cycle, place) => {
    const address = y.back(place);
    const slack = (time.until - time.from) / 500;
    for (let number = count - 1; number >= 0; number -= 1) {
      if (map.address[number] <= address && address < map.end[number] && map.from[number] <= cycle + slack && cycle - slack <= map.until[number]) {
        const layer = map.layer[number];
        return { layer, text: `${layer >= 0 ? report.layers[layer].name : "no layer"}: ${map.contents[map.content[number]]}\n`
          + `${bytes(map.end[number] - map.address[number])} from ${bytes(map.address[number])}\ncycles ${exact(map.from[number])} to ${exact(map.until[number])}` };
      }
    }
    return null;
  });
  const view = soon(node.redraw);
  time.views.push(view);
  listen("layer", view);
  return node;
}
