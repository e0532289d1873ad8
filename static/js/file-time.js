// <file-time data-seqs="3 9 27">: a slider over the acts on a file; the form beside it does the rest.

class FileTime extends HTMLElement {
  connectedCallback() {
    this.form = this.querySelector("form");
    this.at = this.querySelector("[name=seq]");
    this.range = this.querySelector("[type=range]");
    this.seqs = (this.dataset.seqs || "").split(" ").filter(Boolean).map(Number);
    this.range?.addEventListener("input", () => this.slid());
    this.at.addEventListener("change", () => this.placed());
    this.swapped = (event) => this.shown(event);
    document.addEventListener("htmx:afterSwap", this.swapped);
    this.placed();
  }

  disconnectedCallback() {
    document.removeEventListener("htmx:afterSwap", this.swapped);
    clearTimeout(this.timer);
  }

  // Only where the hand comes to rest is asked for.
  slid() {
    this.at.value = this.seqs[this.range.value];
    this.named();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.form.requestSubmit(), 180);
  }

  placed() {
    if (!this.range) return;
    const behind = this.seqs.filter((seq) => seq <= Number(this.at.value)).length;
    this.range.value = Math.max(0, behind - 1);
    this.named();
  }

  named() {
    const act = Number(this.range.value) + 1;
    this.range.setAttribute("aria-valuetext", `act ${act} of ${this.seqs.length}, event ${this.at.value}`);
  }

  // The links beside the text move the time too.
  shown(event) {
    const state = document.getElementById("state");
    if (!state || event.detail.target?.id !== "state") return;
    this.at.value = state.dataset.seq;
    this.placed();
    document.body.dispatchEvent(new CustomEvent("toast", { bubbles: true, detail: { message: state.dataset.said, level: "quiet" } }));
  }
}

customElements.define("file-time", FileTime);
