// <log-tools>: stepping from prompt to prompt and from error to error, another look, thoughts, and
// where one is in the outline.

const STEPS = { "J": "of=prompts", "K": "of=prompts&back", "e": "of=errors", "E": "of=errors&back" };

class LogTools extends HTMLElement {
  connectedCallback() {
    const log = this.log = document.querySelector("log-window");
    if (!log) return;
    document.addEventListener("recount:key", ({ detail }) => this.key(detail));
    document.addEventListener("click", (event) => this.click(event));
    this.querySelector("[data-jump]").onsubmit = (event) => {
      event.preventDefault();
      log.go(Number(event.target.seq.value));
    };
    this.querySelector("[data-thinking]").onclick = () => this.key("t");
    log.addEventListener("htmx:afterSwap", () => this.open());
    addEventListener("scrollend", () => this.mark());
  }

  async key(key) {
    const find = (what) => this.querySelector(what);
    if (key === "l") (find("[aria-current] + [data-density]") ?? find("[data-density]")).click();
    if (key === "t") this.open(this.isThinking = !this.isThinking);
    if (!(key in STEPS)) return;
    const { seq } = await (await fetch(`step?${STEPS[key]}&at=${this.log.here()}`)).json();
    if (seq !== null) return this.log.go(seq);
    this.dispatchEvent(new CustomEvent("toast", { bubbles: true, detail: "There is none in this direction." }));
  }

  click(event) {
    const link = event.target.closest("[data-density], [data-seq]");
    if (!link || event.ctrlKey || event.metaKey) return;
    if ("density" in link.dataset) link.href += `&seq=${this.log.here()}`;
    else if (!this.log.query) {
      event.preventDefault();
      document.querySelector(".drawer[open]")?.close();
      this.log.go(Number(link.dataset.seq));
    }
  }

  open() {
    for (const thought of this.isThinking === undefined ? [] : document.querySelectorAll(".is-thought details, details.is-thinking")) {
      thought.open = this.isThinking;
      for (let fold = thought; this.isThinking && (fold = fold.parentElement.closest("details"));) fold.open = true;
    }
  }

  // The prompt one reads below is the last that is not further down.
  mark() {
    const here = this.log.here(), links = [...document.querySelectorAll("#rail [data-seq]")];
    const at = links.findLast((link) => Number(link.dataset.seq) <= here);
    for (const link of links) link.ariaCurrent = link === at ? "true" : null;
  }
}

customElements.define("log-tools", LogTools);
