// <timeline-view>: zoom, move and select with pointer and keys. Every view is an address; the
// server draws it and htmx puts it here. Without this file the same links and forms do the same.

const DRAG = 4; // px before a press becomes a drag
const PATIENCE = 160; // ms after the last turn of the wheel
const EDGE = 8; // px in which the window on the map is taken by its edge
const OFF = 0.25; // how far the drawing may be from the width it was drawn for

let before = null; // what was chosen in the drawing this one replaces
let fitted = 0;

const clamp = (value, lo = 0, hi = 1) => Math.min(Math.max(value, lo), hi);
const knotsOf = (text) => text.split(" ").map((pair) => pair.split(":").map(Number));

// From column `a` of the knots to column `b`, along straight lines.
function along(knots, value, a, b) {
  let n = knots.findIndex((knot) => knot[a] >= value);
  n = clamp(n < 0 ? knots.length - 1 : n, 1, knots.length - 1);
  const [low, high] = [knots[n - 1], knots[n]];
  return low[b] + ((clamp(value, low[a], high[a]) - low[a]) / (high[a] - low[a] || 1)) * (high[b] - low[b]);
}

class TimelineView extends HTMLElement {
  connectedCallback() {
    this.plot = this.querySelector("[data-plot]");
    this.map = this.querySelector("[data-map]");
    this.knots = knotsOf(this.plot.dataset.knots);
    this.mapKnots = knotsOf(this.map.dataset.knots);
    this.tracks = [...this.plot.querySelectorAll(".track")];
    this.abort = new AbortController();
    const on = (target, name, act, options) =>
      target.addEventListener(name, act, { signal: this.abort.signal, ...options });
    on(this.plot, "pointerdown", (event) => this.press(event));
    on(this.plot, "pointermove", (event) => this.point(event));
    on(this.plot, "pointerleave", () => this.point(null));
    on(this.plot, "click", (event) => this.click(event));
    on(this.plot, "wheel", (event) => this.wheel(event), { passive: false });
    on(this.plot, "keydown", (event) => this.key(event));
    on(this.map, "pointerdown", (event) => this.grip(event));
    on(document, "keydown", (event) => this.escape(event));
    this.observer = new ResizeObserver(() => this.fit());
    this.observer.observe(this.plot);
    this.arrive();
  }

  disconnectedCallback() {
    this.observer.disconnect();
    this.abort.abort();
  }

  // A new drawing tells what changed: an event that was picked takes the focus, the rest is said.
  arrive() {
    const asked = new URL(this.dataset.here, location.href).searchParams;
    const now = { pick: asked.get("pick"), range: asked.get("since") };
    const message = now.range ? `${this.dataset.said}. ${this.dataset.range}` : this.dataset.said;
    if (before && now.pick && now.pick !== before.pick) {
      const heading = this.querySelector("[data-picked]");
      heading.focus({ preventScroll: true });
      heading.closest("section").scrollIntoView({ block: "nearest" });
    } else if (before) {
      document.body.dispatchEvent(new CustomEvent("toast", { bubbles: true, detail: { message, level: "quiet" } }));
    }
    before = now;
  }

  // The server counts as many bars as fit the width.
  fit() {
    clearTimeout(this.resized);
    this.resized = setTimeout(() => {
      const width = Math.round(this.area().width / 20) * 20, drawn = Number(this.dataset.width);
      if (width < 240 || width === fitted || Math.abs(width - drawn) < drawn * OFF) return;
      fitted = width;
      this.go({ w: width });
    }, 100);
  }

  go(changes) {
    const url = new URL(this.dataset.here, location.href);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
    }
    window.htmx.ajax("GET", url.pathname + url.search, { source: this, target: this, swap: "outerHTML" });
  }

  area() {
    return this.tracks[0].getBoundingClientRect();
  }

  share(event) {
    const { left, width } = this.area();
    return clamp((event.clientX - left) / width);
  }

  // A moment as the address writes it. Outside the window the map knows the way.
  text(share) {
    const { from, to } = this.map.dataset;
    const moment = share >= 0 && share <= 1
      ? along(this.knots, share, 0, 1)
      : along(this.mapKnots, Number(from) + share * (to - from), 0, 1);
    return this.write(moment);
  }

  write(moment) {
    if (this.dataset.unit === "event") return String(Math.round(moment));
    return new Date(Math.round(moment)).toISOString().slice(0, 23);
  }

  // Pointing --------------------------------------------------------------------------------

  point(event) {
    const line = this.plot.querySelector("[data-pointer]"), tip = this.querySelector("[data-tip]");
    const area = this.area();
    line.hidden = tip.hidden = !event || event.clientX < area.left || this.dragging;
    if (line.hidden) return;
    const share = this.share(event), box = this.plot.getBoundingClientRect(), own = this.getBoundingClientRect();
    line.style.insetInlineStart = `${event.clientX - box.left}px`;
    tip.textContent = [this.words(event, share), this.said(share)].filter(Boolean).join("\n");
    const left = event.clientX - own.left + 12;
    tip.style.insetInlineStart = `${Math.min(left, own.width - tip.offsetWidth)}px`;
    tip.style.insetBlockStart = `${event.clientY - own.top + 16}px`;
  }

  said(share) {
    const text = this.text(share);
    return this.dataset.unit === "event" ? `Event ${text}` : text.replace("T", " ").slice(0, 19);
  }

  words(event, share) {
    const mark = event.target.closest("[data-words]");
    if (mark) return mark.dataset.words;
    const name = event.target.closest(".lane")?.querySelector(".clip")?.textContent ?? "";
    const cell = this.cell(event, share);
    if (cell) return `${name}: ${cell.events.toLocaleString("en")} event${cell.events > 1 ? "s" : ""}`;
    const single = event.target.closest("[data-s]");
    return single ? `${name}, event ${single.dataset.s}` : "";
  }

  // The bar of counts at this place of the lane under the pointer.
  cell(event, share) {
    const track = event.target.closest(".lane")?.querySelector("[data-cells]");
    if (!track) return null;
    const bin = Math.min(Math.floor(share * this.bins) + 1, this.bins);
    const found = new RegExp(`(?:^| )${bin}:(\\d+):(\\d+)`).exec(track.dataset.cells);
    return found && { bin, events: Number(found[1]), first: found[2] };
  }

  get bins() {
    return Number(this.plot.dataset.bins);
  }

  // Dragging --------------------------------------------------------------------------------

  press(event) {
    if (event.button || event.clientX < this.area().left) return;
    const start = { x: event.clientX, share: this.share(event), pans: event.shiftKey };
    this.follow(event, (moved) => this.drag(start, moved), (ended) => this.drop(start, ended));
  }

  // Calls `move` once the pointer has gone some way, and `end` where it lets go.
  follow(event, move, end) {
    const stop = new AbortController(), signal = stop.signal, x = event.clientX;
    const moved = (next) => {
      if (!this.dragging && Math.abs(next.clientX - x) < DRAG) return;
      if (!this.dragging) event.target.closest("[data-plot], [data-map]").setPointerCapture(event.pointerId);
      this.dragging = true;
      this.point(null);
      move(next);
    };
    const ended = (next) => {
      stop.abort();
      if (this.dragging && next.type === "pointerup") end(next);
      // The click that follows a drag is none.
      setTimeout(() => { this.dragging = false; });
    };
    window.addEventListener("pointermove", moved, { signal });
    for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, ended, { signal });
  }

  drag({ x, share, pans }, event) {
    if (pans) return this.shift(`translateX(${event.clientX - x}px)`);
    const area = this.area(), box = this.plot.getBoundingClientRect(), drag = this.plot.querySelector("[data-drag]");
    const [a, b] = [share, this.share(event)].sort((one, other) => one - other);
    drag.hidden = false;
    drag.style.insetInlineStart = `${area.left - box.left + a * area.width}px`;
    drag.style.inlineSize = `${(b - a) * area.width}px`;
  }

  drop({ x, share, pans }, event) {
    if (!pans) {
      const [a, b] = [share, this.share(event)].sort((one, other) => one - other);
      return this.go({ since: this.text(a), until: this.text(b), pick: null });
    }
    const { from, to } = this.map.dataset;
    const wish = -(event.clientX - x) / this.area().width;
    const step = clamp(wish, -from / (to - from), (1 - to) / (to - from));
    this.go({ from: this.text(step), to: this.text(1 + step) });
  }

  shift(transform, origin = "") {
    for (const track of this.tracks) Object.assign(track.style, { transform, transformOrigin: origin });
  }

  click(event) {
    if (this.dragging) return event.preventDefault();
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.target.closest(".name")) return;
    const mark = event.target.closest("[data-s]"), share = this.share(event);
    if (mark) {
      event.preventDefault();
      return this.go({ pick: mark.dataset.s });
    }
    const cell = this.cell(event, share);
    if (cell?.events === 1) this.go({ pick: cell.first });
    else if (cell) this.go({ since: this.text((cell.bin - 1) / this.bins), until: this.text(cell.bin / this.bins), pick: null });
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.factor = clamp((this.factor ?? 1) * Math.exp(event.deltaY * 0.002), 0.02, 50);
    this.around ??= this.share(event);
    this.shift(`scaleX(${1 / this.factor})`, `${this.around * 100}% 0`);
    clearTimeout(this.turned);
    this.turned = setTimeout(() => {
      const { factor, around } = this;
      this.factor = this.around = undefined;
      this.go({ from: this.text(around - around * factor), to: this.text(around + (1 - around) * factor) });
    }, PATIENCE);
  }

  // The map ---------------------------------------------------------------------------------

  grip(event) {
    if (event.button) return;
    const area = this.map.querySelector(".map").getBoundingClientRect();
    const at = (next) => clamp((next.clientX - area.left) / area.width);
    const [from, to] = [Number(this.map.dataset.from), Number(this.map.dataset.to)];
    const start = at(event), near = EDGE / area.width;
    let ends;
    if (Math.abs(start - from) < near) ends = (share) => [share, to];
    else if (Math.abs(start - to) < near) ends = (share) => [from, share];
    else if (start > from && start < to && to - from < 0.999) {
      ends = (share) => {
        const step = clamp(share - start, -from, 1 - to);
        return [from + step, to + step];
      };
    } else ends = (share) => [start, share];
    const sorted = (next) => ends(at(next)).sort((one, other) => one - other);
    const shown = this.map.querySelector("[data-map-window]");
    this.follow(event, (moved) => {
      const [a, b] = sorted(moved);
      shown.setAttribute("x", `${a * 100}%`);
      shown.setAttribute("width", `${(b - a) * 100}%`);
    }, (ended) => {
      const [a, b] = sorted(ended).map((share) => this.write(along(this.mapKnots, share, 0, 1)));
      this.go({ from: a, to: b });
    });
  }

  // Keys ------------------------------------------------------------------------------------

  key(event) {
    if (event.target !== this.plot || event.ctrlKey || event.metaKey || event.altKey) return;
    const name = { ArrowLeft: "earlier", ArrowRight: "later", ArrowUp: "closer", ArrowDown: "farther", "+": "closer", "-": "farther" }[event.key];
    if (!name) return;
    event.preventDefault();
    this.querySelector(`#tl-${name}`).click();
  }

  escape(event) {
    if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open], details.menu[open]")) return;
    (this.querySelector("[data-close]") ?? this.querySelector("[data-clear]"))?.click();
  }
}

customElements.define("timeline-view", TimelineView);
