// <log-window>: a long transcript as empty sections that fill when they come near the viewport.
// Each section asks for itself through htmx (hx-trigger="chunk:load").

const NEAR = "800px 0px";
const MOST_LOADED = 40;
const PATIENCE = 60; // ms a section must stay near before it is asked for: fast scrolling skips it
const RELEASE = ["wheel", "touchstart", "keydown", "pointerdown"];

// htmx binds its triggers on DOMContentLoaded; an event fired earlier would be lost.
const ready = new Promise((resolve) => {
  if (document.readyState === "complete") resolve();
  else document.addEventListener("DOMContentLoaded", () => setTimeout(resolve));
});

class LogWindow extends HTMLElement {
  connectedCallback() {
    this.chunks = [...this.querySelectorAll(":scope > .chunk")];
    this.near = new Set();
    this.held = null;
    this.abort = new AbortController();
    const on = (target, name, handler, options) =>
      target.addEventListener(name, handler, { signal: this.abort.signal, ...options });
    for (const chunk of this.chunks) this.size(chunk);
    this.observer = new IntersectionObserver((seen) => this.look(seen), { rootMargin: NEAR });
    for (const chunk of this.chunks) this.observer.observe(chunk);
    on(this, "htmx:afterSwap", (event) => this.filled(event.target));
    on(this, "htmx:responseError", (event) => this.failed(event.target));
    on(this, "htmx:sendError", (event) => this.failed(event.target));
    on(window, "hashchange", () => this.follow());
    on(document, "submit", (event) => this.jumpForm(event));
    // The reader's own movement ends a jump that is still settling.
    for (const name of RELEASE) on(window, name, () => { this.held = null; }, { passive: true });
    this.follow(new URLSearchParams(location.search).get("seq"));
  }

  disconnectedCallback() {
    this.observer.disconnect();
    this.abort.abort();
  }

  size(chunk) {
    if (!("loaded" in chunk.dataset) && chunk.dataset.estimate) {
      chunk.style.blockSize = `${chunk.dataset.estimate}px`;
    }
  }

  look(seen) {
    for (const { target, isIntersecting } of seen) {
      this.near[isIntersecting ? "add" : "delete"](target);
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.near.forEach((chunk) => this.load(chunk)), PATIENCE);
  }

  load(chunk) {
    if ("loaded" in chunk.dataset || "asked" in chunk.dataset || "failed" in chunk.dataset) return;
    chunk.dataset.asked = "";
    ready.then(() => chunk.dispatchEvent(new CustomEvent("chunk:load")));
  }

  filled(chunk) {
    if (!chunk.matches(".chunk")) return;
    delete chunk.dataset.asked;
    chunk.dataset.loaded = "";
    chunk.removeAttribute("aria-busy");
    const above = chunk.getBoundingClientRect();
    chunk.style.blockSize = "";
    // Browsers without scroll anchoring would let the text slip.
    if (!CSS.supports("overflow-anchor", "auto") && above.bottom < 0) {
      window.scrollBy(0, chunk.offsetHeight - above.height);
    }
    if (this.held !== null) this.settle();
    this.unload();
  }

  failed(chunk) {
    if (!chunk.matches(".chunk")) return;
    delete chunk.dataset.asked;
    chunk.dataset.failed = "";
    const note = document.createElement("div");
    note.className = "chunk-error";
    const retry = document.createElement("button");
    retry.type = "button";
    retry.className = "button is-small";
    retry.textContent = "Try again";
    retry.onclick = () => {
      delete chunk.dataset.failed;
      chunk.replaceChildren();
      this.load(chunk);
    };
    note.append("These events could not be loaded.", retry);
    chunk.replaceChildren(note);
  }

  // Keep the page light: the sections farthest from view give their events back, not their height.
  unload() {
    const loaded = this.chunks.filter((chunk) => "loaded" in chunk.dataset);
    if (loaded.length <= MOST_LOADED) return;
    const middle = window.innerHeight / 2;
    const away = (chunk) => Math.abs(chunk.getBoundingClientRect().top - middle);
    const far = loaded
      .filter((chunk) => !this.near.has(chunk) && !chunk.contains(document.activeElement))
      .sort((a, b) => away(b) - away(a));
    for (const chunk of far.slice(0, loaded.length - MOST_LOADED)) {
      chunk.style.blockSize = `${chunk.offsetHeight}px`;
      chunk.replaceChildren();
      chunk.setAttribute("aria-busy", "true");
      delete chunk.dataset.loaded;
    }
  }

  follow(wanted = null) {
    const seq = /^#e(\d+)$/.exec(location.hash)?.[1] ?? wanted;
    if (seq !== null && seq !== "") this.jump(Number(seq));
  }

  jumpForm(event) {
    if (!event.target.matches("form[data-jump]")) return;
    event.preventDefault();
    const seq = Number(new FormData(event.target).get("seq"));
    if (location.hash === `#e${seq}`) this.jump(seq);
    else location.hash = `e${seq}`;
  }

  jump(seq) {
    const chunk = this.chunks.findLast((each) => Number(each.dataset.lo) <= seq) ?? this.chunks[0];
    if (!chunk) return;
    this.held = seq;
    for (const old of this.querySelectorAll(".is-target")) old.classList.remove("is-target");
    if ("loaded" in chunk.dataset) return this.settle();
    chunk.scrollIntoView({ block: "start", behavior: "instant" });
    this.load(chunk);
  }

  // Called again while neighbours still load, so that the event stays where it was put.
  settle() {
    const event = document.getElementById(`e${this.held}`);
    if (!event) {
      const chunk = this.chunks.findLast((each) => Number(each.dataset.lo) <= this.held);
      if (chunk && "loaded" in chunk.dataset) this.missing();
      return;
    }
    event.scrollIntoView({ block: "start", behavior: "instant" });
    if (event.classList.contains("is-target")) return;
    event.classList.add("is-target");
    event.focus({ preventScroll: true });
  }

  missing() {
    const message = `There is no event ${this.held} here.`;
    this.held = null;
    document.body.dispatchEvent(new CustomEvent("toast", { detail: { message, level: "warning" }, bubbles: true }));
  }
}

customElements.define("log-window", LogWindow);
