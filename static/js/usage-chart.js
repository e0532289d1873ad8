// <usage-chart>: bars on top of each other along time. The tables of the page have the same numbers;
// what can be dragged here can be typed into the range, too.

const HEIGHT = 260;
const whole = new Intl.NumberFormat("en");
const brief = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const money = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumSignificantDigits: 4 });
const cheap = new Intl.NumberFormat("en", { style: "currency", currency: "USD", notation: "compact", maximumSignificantDigits: 3 });

class UsageChart extends HTMLElement {
  connectedCallback() {
    this.told = JSON.parse(this.dataset.chart);
    this.plotted = this.querySelector(".plot");
    this.readout = this.querySelector(".readout");
    this.keys = [...this.querySelectorAll(".legend button")];
    this.last = this.told.labels.length - 1;
    this.off = new Set();
    this.keys.forEach((key, line) => { key.onclick = () => this.toggle(key, line); });
    this.plotted.onkeydown = (event) => this.press(event);
    this.draw();
    this.show(this.last);
    this.sized = new ResizeObserver(() => this.plot.setSize({ width: this.width(), height: HEIGHT }));
    this.sized.observe(this);
    // Colours are those of the page: drawn anew when it changes its mind.
    this.redraw = () => { this.plot.destroy(); this.draw(); };
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.scheme.addEventListener("change", this.redraw);
    this.theme = new MutationObserver(this.redraw);
    this.theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  disconnectedCallback() {
    this.sized.disconnect();
    this.theme.disconnect();
    this.scheme.removeEventListener("change", this.redraw);
    this.plot.destroy();
  }

  width() {
    return Math.max(this.plotted.clientWidth, 120);
  }

  said(number, format = whole) {
    return this.told.unit === "cost" ? (format === whole ? money : cheap).format(number) : format.format(number);
  }

  // Every line is drawn down to the ground, the highest sum first, so that lower ones cover it.
  stacked() {
    const sums = this.told.labels.map(() => 0);
    const layers = this.told.lines.map(({ values }, line) =>
      this.off.has(line) ? values.map(() => null) : values.map((value, at) => (sums[at] += value)));
    return [this.told.labels.map((_, at) => at), ...layers.reverse()];
  }

  draw() {
    const look = getComputedStyle(this);
    const fills = this.keys.map((key) => getComputedStyle(key.firstElementChild).backgroundColor);
    const font = `12px ${look.fontFamily}`, stroke = getComputedStyle(this.readout).color;
    const lines = { stroke: getComputedStyle(this.plotted).borderTopColor, width: 1 };
    const bars = uPlot.paths.bars({ size: [0.8, 56] });
    const { ticks } = this.told;
    this.plot = new uPlot({
      width: this.width(),
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      select: { show: true },
      scales: { x: { time: false, range: [-0.5, this.last + 0.5] }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
      axes: [
        { font, stroke, grid: { show: false }, ticks: lines, space: 88, incrs: [1, 2, 3, 7, 14, 28, 52, 100],
          values: (_, places) => places.map((at) => ticks[at] ?? "") },
        { font, stroke, grid: lines, ticks: lines, size: 64, values: (_, places) => places.map((at) => this.said(at, brief)) },
      ],
      series: [{}, ...fills.map((fill) => ({ fill, stroke: fill, width: 0, paths: bars, points: { show: false } })).reverse()],
      hooks: {
        setCursor: [(plot) => { if (plot.cursor.idx != null && plot.cursor.left >= 0) this.show(plot.cursor.idx); }],
        setSelect: [(plot) => this.narrow(plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x"), plot.select.width)],
      },
    }, this.stacked(), this.plotted);
    this.plot.root.setAttribute("aria-hidden", "true");
  }

  toggle(key, line) {
    const shown = this.off.has(line);
    shown ? this.off.delete(line) : this.off.add(line);
    key.setAttribute("aria-pressed", shown);
    this.plot.setData(this.stacked());
    this.show(this.at);
  }

  // One step in words, for the eye beside the bars and for whoever listens.
  show(at) {
    this.at = at;
    const { labels, lines, unpriced, unit } = this.told;
    const seen = lines.filter((_, line) => !this.off.has(line));
    const sum = this.said(seen.reduce((all, line) => all + line.values[at], 0));
    const parts = seen.filter((line) => line.values[at]).slice(0, 4).map((line) => `${line.name} ${this.said(line.values[at], brief)}`);
    const missing = unit === "cost" && unpriced[at] ? ` + ${whole.format(unpriced[at])} answers without a price` : "";
    const words = `${labels[at]}: ${sum}${unit === "cost" ? "" : ` ${unit}`}${missing}${parts.length > 1 ? ` · ${parts.join(" · ")}` : ""}`;
    this.readout.textContent = words;
    this.plotted.setAttribute("aria-valuenow", at);
    this.plotted.setAttribute("aria-valuetext", words);
  }

  press(event) {
    const moves = { ArrowLeft: this.at - 1, ArrowDown: this.at - 1, ArrowRight: this.at + 1, ArrowUp: this.at + 1, Home: 0, End: this.last, PageUp: this.at + 7, PageDown: this.at - 7 };
    if (event.key === "Enter") return this.narrow(this.at - 0.4, this.at + 0.4, 1);
    if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const at = Math.min(Math.max(moves[event.key], 0), this.last);
    this.plot.setCursor({ left: this.plot.valToPos(at, "x"), top: 0 });
    this.show(at);
  }

  // From and to are fields of the form: what is chosen here is what could be typed there.
  narrow(from, to, width) {
    if (!width) return;
    const first = Math.min(Math.max(Math.round(from), 0), this.last), last = Math.max(Math.min(Math.round(to), this.last), first);
    const form = this.closest("[data-ranged]").querySelector("form");
    form.elements.from.value = this.told.from[first];
    form.elements.to.value = this.told.to[last];
    form.requestSubmit();
  }
}

customElements.define("usage-chart", UsageChart);
