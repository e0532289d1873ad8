// <find-bar>: find inside a session. The server names the events that fit, the address jumps there.

class FindBar extends HTMLElement {
  connectedCallback() {
    const [link, form] = this.children;
    this.form = form;
    this.seqs = [];
    this.bad = [];
    link.onclick = (event) => {
      event.preventDefault();
      form.hidden = false;
      // Later: the key that opened it would still be typed into the field.
      setTimeout(() => form.q.select());
    };
    form.onreset = () => {
      form.hidden = true;
      CSS.highlights.clear();
      (document.querySelector(".event.is-target") ?? link).focus({ preventScroll: true });
    };
    form.onclick = ({ target }) => this.step(Number(target.closest("button")?.value));
    form.oninput = () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.ask(), 300); };
    form.onsubmit = (event) => { event.preventDefault(); this.step(1); };
    form.onkeydown = (event) => {
      if (event.key !== "Enter" || !event.shiftKey || event.target !== form.q) return;
      event.preventDefault();
      this.step(-1);
    };
    document.addEventListener("keydown", ({ key, defaultPrevented }) => {
      const isTaken = defaultPrevented || form.hidden || document.querySelector("dialog[open], details.menu[open]");
      if (key === "Escape" && !isTaken) form.reset();
    });
  }

  get text() {
    return this.form.q.value.trim() + (this.form.results.checked ? " in:results" : "");
  }

  async ask(chunk = 0) {
    const q = this.text;
    if (!chunk) Object.assign(this, { asked: q, seqs: [], at: -1, next: null });
    this.say("Looking…");
    const url = `${this.dataset.url}?${new URLSearchParams({ q, chunk })}`;
    const answer = await fetch(url, { headers: { Accept: "application/json" } })
      .then((got) => got.json()).catch(() => ({ error: "The server cannot be reached. Is it running?" }));
    if (q !== this.asked) return;
    if (!answer.seqs) return this.say(answer.error);
    answer.seqs.unshift(...this.seqs);
    Object.assign(this, answer);
    this.tell();
  }

  async step(by) {
    clearTimeout(this.timer);
    if (!by || this.form.hidden) return;
    if (this.text !== this.asked) await this.ask();
    if (this.at + by >= this.seqs.length && this.next !== null) await this.ask(this.next);
    const all = this.seqs.length;
    if (!all) return;
    this.at = ((this.at < 0 ? this.nearest() + Math.min(by, 0) : this.at + by) + all) % all;
    this.tell();
    const id = `e${this.seqs[this.at]}`;
    // Not by following the address: a browser would give the focus to the event.
    history.replaceState(null, "", `#${id}`);
    document.querySelector("log-window").jump(this.seqs[this.at]);
    this.mark(id, 30);
  }

  // The first hit from where one reads.
  nearest() {
    const seen = [...document.querySelectorAll("article.event")]
      .find((event) => event.getBoundingClientRect().bottom > 160);
    return Math.max(this.seqs.findIndex((seq) => seq >= Number(seen?.id.slice(1))), 0);
  }

  tell() {
    const all = this.seqs.length + (this.next === null ? "" : "+");
    // What could not be read is told; the rest was looked for.
    this.say([this.at < 0 ? `Hits: ${all}` : `${this.at + 1} of ${all}`, ...this.bad].join(" · "));
  }

  say(text) {
    this.querySelector("output").textContent = text;
  }

  // The event may still be loading.
  mark(id, tries) {
    const event = document.getElementById(id), found = [];
    if (!event) return tries && setTimeout(() => this.mark(id, tries - 1), 100);
    const walk = document.createTreeWalker(event, NodeFilter.SHOW_TEXT);
    for (let node; (node = walk.nextNode());) {
      for (const word of this.marks) {
        for (let at = -1; (at = node.data.toLowerCase().indexOf(word, at + 1)) >= 0;) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, Math.min(at + word.length, node.length));
          found.push(range);
        }
      }
      for (let fold = found.at(-1)?.startContainer === node && node.parentElement; fold && fold !== event; fold = fold.parentElement) fold.open = true;
    }
    CSS.highlights.set("found", new Highlight(...found));
  }
}

customElements.define("find-bar", FindBar);
