// <log-window>: a long transcript as sections that fill when they come near the viewport. The page
// brings one; the others are made here, empty, and fetched through htmx.

const MOST_LOADED = 40;
const PATIENCE = 60; // ms a section must stay near before it is asked for
const number = (id) => Number(/(\d+)\D*$/.exec(id)?.[1]);
const low = (chunk) => Number(chunk.dataset.lo);
const isLoaded = (chunk) => chunk.dataset.state === "loaded";

class LogWindow extends HTMLElement {
  connectedCallback() {
    const { size, total, query } = this.dataset;
    Object.assign(this, { size: +size, query: query ? `&${query}` : "", near: new Set(), held: null });
    this.observer = new IntersectionObserver((seen) => this.look(seen), { rootMargin: "800px 0px" });
    this.chunks = [this.firstElementChild];
    this.observer.observe(this.firstElementChild);
    this.addEventListener("htmx:afterRequest", ({ target, detail }) =>
      target.matches(".chunk") && this[detail.successful ? "filled" : "failed"](target));
    addEventListener("popstate", () => this.follow());
    // The reader's own movement ends a jump.
    for (const name of ["wheel", "keydown", "pointerdown"]) {
      addEventListener(name, () => { this.held = null; }, { passive: true });
    }
    if (query) this.index();
    else this.frame([...Array(Math.ceil(total / size)).keys()].map((n) => [n * size, Math.min(size, total - n * size)]));
    this.follow(new URLSearchParams(location.search).get("seq"));
  }

  // Only the rows know where filtered sections begin.
  async index() {
    this.frame((await (await fetch(`index?${this.dataset.query}`)).json()).sections);
    if (this.held !== null) this.settle();
  }

  frame(starts) {
    const [first] = this.chunks;
    const made = starts.filter(([lo]) => lo !== low(first)).map((start) => this.make(...start));
    const before = made.filter((chunk) => low(chunk) < low(first)), after = made.slice(before.length);
    first.before(...before);
    first.after(...after);
    this.chunks = [...before, first, ...after];
  }

  make(lo, count) {
    const chunk = document.createElement("section");
    chunk.className = "chunk";
    chunk.dataset.lo = lo;
    this.observer.observe(chunk);
    return this.empty(chunk, count * this.dataset.tall);
  }

  empty(chunk, height) {
    chunk.replaceChildren();
    chunk.style.blockSize = `${height}px`;
    chunk.dataset.state = "";
    chunk.ariaBusy = true;
    return chunk;
  }

  look(seen) {
    for (const { target, isIntersecting } of seen) this.near[isIntersecting ? "add" : "delete"](target);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.near.forEach((chunk) => this.load(chunk)), PATIENCE);
  }

  sectionOf(seq) {
    return this.chunks.findLast((chunk) => low(chunk) <= seq) ?? this.chunks[0];
  }

  load(chunk) {
    if (chunk.dataset.state) return;
    chunk.dataset.state = "asked";
    const next = this.chunks[this.chunks.indexOf(chunk) + 1];
    const url = `events?lo=${low(chunk)}${next ? `&hi=${low(next)}` : ""}${this.query}`;
    window.htmx.ajax("GET", url, { source: chunk, target: chunk, swap: "innerHTML" });
  }

  filled(chunk) {
    const before = chunk.getBoundingClientRect();
    chunk.dataset.state = "loaded";
    chunk.ariaBusy = null;
    chunk.style.blockSize = "";
    // For browsers without scroll anchoring.
    if (!CSS.supports("overflow-anchor", "auto") && before.bottom < 0) scrollBy(0, chunk.offsetHeight - before.height);
    if (this.held !== null) this.settle();
    this.unload();
  }

  failed(chunk) {
    chunk.dataset.state = "failed";
    chunk.replaceChildren(document.getElementById("chunk-failed").content.cloneNode(true));
    chunk.querySelector("button").onclick = () => this.load(this.empty(chunk, chunk.offsetHeight));
  }

  // The sections farthest from view give their events back, not their height.
  unload() {
    const loaded = this.chunks.filter(isLoaded), away = (chunk) => Math.abs(chunk.getBoundingClientRect().top);
    const far = loaded.slice(0, -1).filter((chunk) => !this.near.has(chunk) && !chunk.contains(document.activeElement));
    far.sort((a, b) => away(b) - away(a)).splice(Math.max(0, loaded.length - MOST_LOADED));
    for (const chunk of far) this.empty(chunk, chunk.offsetHeight);
  }

  grow(total) {
    for (let lo; !this.query && (lo = low(this.chunks.at(-1)) + this.size) < total;) {
      this.chunks.push(this.make(lo, 1));
      this.append(this.chunks.at(-1));
    }
  }

  // Where new events are asked from: the last stretch of work may go on.
  tail() {
    const last = [...this.chunks.findLast(isLoaded).children].findLast((item) => item.id);
    return number(last.id) + (this.query ? 1 : 0);
  }

  // What came by itself ends its section, or replaces what it continues.
  put(items, run) {
    for (const item of items.filter((each) => each.id)) {
      const seq = number(item.id), old = document.getElementById(item.id);
      const place = run ?? (this.query ? this.chunks.at(-1) : this.sectionOf(seq));
      if (!old) {
        if (!run && !isLoaded(place) && seq % this.size) continue;
        place.append(item);
        if (!run) this.filled(place);
      } else if (item.matches(".run")) {
        old.className = item.className;
        old.firstElementChild.replaceWith(item.firstElementChild);
        this.put([...item.children], old);
      } else if (old.textContent !== item.textContent) old.replaceWith(item);
      window.htmx.process(item);
    }
  }

  follow(wanted) {
    this.held = null;
    const seq = /^#e(\d+)$/.exec(location.hash)?.[1] ?? wanted;
    if (seq) this.jump(Number(seq));
  }

  go(seq) {
    history.pushState(null, "", `#e${seq}`);
    this.jump(seq);
  }

  jump(seq) {
    const chunk = this.sectionOf(seq);
    this.held = seq;
    this.querySelector(".is-target")?.classList.remove("is-target");
    if (isLoaded(chunk)) return this.settle();
    chunk.scrollIntoView({ behavior: "instant" });
    this.load(chunk);
  }

  // Again while neighbours load, so that the event stays in place. If there is none, the next one.
  settle() {
    const chunk = this.sectionOf(this.held), all = [...chunk.querySelectorAll("article")];
    const event = document.getElementById(`e${this.held}`) ?? all.find((each) => number(each.id) > this.held) ?? all.at(-1);
    if (!isLoaded(chunk) || !event) return;
    for (let fold = event; (fold = fold.parentElement.closest("details"));) fold.open = true;
    event.scrollIntoView({ behavior: "instant" });
    if (event.classList.contains("is-target")) return;
    event.classList.add("is-target");
    // Who finds their way from hit to hit goes on doing so.
    if (!document.activeElement.closest("find-bar")) event.focus({ preventScroll: true });
  }

  // The focused event, else the first that can be seen.
  here() {
    const seen = (each) => each.checkVisibility() && each.getBoundingClientRect().bottom > 60;
    const at = document.activeElement.closest("log-window article") ?? [...this.querySelectorAll("article")].find(seen);
    return number(at?.id) || 0;
  }
}

customElements.define("log-window", LogWindow);
