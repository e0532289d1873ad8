// <time-brush>: dragging over the bars narrows the time; the two fields beside it do the same.

class TimeBrush extends HTMLElement {
  connectedCallback() {
    this.bars = [...this.querySelectorAll("rect")];
    this.form = this.closest("section").querySelector("form");
    this.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      this.setPointerCapture(event.pointerId);
      this.from = this.to = this.bar(event);
      this.mark();
    });
    this.addEventListener("pointermove", (event) => {
      if (this.from === undefined) return;
      this.to = this.bar(event);
      this.mark();
    });
    this.addEventListener("pointerup", () => this.narrow());
    this.addEventListener("pointercancel", () => { this.from = undefined; this.mark(); });
  }

  bar({ clientX }) {
    const edge = this.querySelector("svg").getBoundingClientRect();
    const at = Math.floor((clientX - edge.left) / edge.width * this.bars.length);
    return Math.min(Math.max(at, 0), this.bars.length - 1);
  }

  chosen() {
    if (this.from === undefined) return [];
    return this.bars.slice(Math.min(this.from, this.to), Math.max(this.from, this.to) + 1);
  }

  mark() {
    const chosen = this.chosen();
    for (const bar of this.bars) bar.classList.toggle("is-in", chosen.includes(bar));
  }

  // The fields hold whole days; a stretch of bars goes as it is.
  narrow() {
    const chosen = this.chosen();
    if (!chosen.length) return;
    const asked = new URLSearchParams({ q: this.form.q.value, from: chosen[0].dataset.from, until: chosen.at(-1).dataset.to });
    location.assign(`?${asked}`);
  }
}

customElements.define("time-brush", TimeBrush);
