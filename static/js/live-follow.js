// <live-follow>: new events of an open session. The server tells how many there are; they come
// through the same address as every other section.

const CLOSE = 80; // px from the end within which a reader is taken along
const SELDOM = 5000; // ms between announcements, and between sums of a turn

class LiveFollow extends HTMLElement {
  connectedCallback() {
    this.log = document.querySelector("log-window");
    this.shown = this.told = Number(this.dataset.events);
    this.unread = this.said = this.summed = 0;
    this.pill = this.querySelector("button");
    this.pill.onclick = () => { this.log.jump(this.told - 1); this.read(); };
    // A browser opens few streams: a page nobody looks at holds none.
    const turn = () => (document.hidden ? this.stop() : this.start());
    document.addEventListener("visibilitychange", turn);
    addEventListener("pageshow", turn);
    addEventListener("scroll", () => this.atEnd() && this.read(), { passive: true });
  }

  start() {
    this.stop();
    const stream = this.stream = new EventSource("live");
    stream.onmessage = ({ data }) => this.hear(Number(data));
    stream.onerror = () => { if (stream.readyState === 2) this.poll(2000); };
  }

  stop() {
    this.stream?.close();
    clearTimeout(this.timer);
  }

  // Without a stream: often while events come, seldom while none do.
  poll(pause) {
    this.timer = setTimeout(async () => {
      const before = this.told;
      const answer = await fetch("live").then((got) => got.json()).catch(() => null);
      if (answer) this.hear(answer.events);
      this.poll(this.told > before ? 2000 : Math.min(pause * 1.5, 15000));
    }, pause);
  }

  // The same number again is news, too: a cut line may be whole now.
  async hear(events) {
    this.told = Math.max(this.told, events);
    this.again = true;
    if (this.busy) return;
    this.busy = true;
    while (this.again) {
      this.again = false;
      await this.fill().catch(() => {});
    }
    this.busy = false;
  }

  async fill() {
    const { log } = this, before = this.shown, stays = this.atEnd(), last = log.chunks.at(-1);
    const number = () => log.querySelectorAll("article").length, had = number();
    log.grow(this.told);
    // Other sections fetch themselves when they are looked at.
    if (last.dataset.state === "loaded") {
      const end = Number(last.dataset.lo) + log.size;
      await this.ask(log.tail(), end);
      if (!log.query && end < this.told) await this.ask(end, end + log.size);
    }
    this.shown = this.told;
    document.querySelector("[data-live-events]").textContent = this.told.toLocaleString("en");
    const fresh = log.query ? number() - had : this.told - before;
    if (!fresh) return;
    // The turn under way costs more with every event.
    if (this.isTime("summed")) window.htmx.trigger([...log.querySelectorAll(".turn-head")].at(-1) ?? this, "turn:grown");
    if (stays) scrollTo(0, document.documentElement.scrollHeight);
    else this.tell(fresh);
  }

  async ask(lo, hi) {
    const url = `events?lo=${lo}${this.log.query || `&hi=${hi}`}`;
    const answer = await fetch(url, { headers: { "HX-Request": "true" } });
    if (answer.ok) this.log.put([...new DOMParser().parseFromString(await answer.text(), "text/html").body.children]);
  }

  isTime(what) {
    return Date.now() - this[what] > SELDOM && (this[what] = Date.now());
  }

  atEnd() {
    return document.documentElement.scrollHeight - innerHeight - scrollY <= CLOSE;
  }

  tell(fresh) {
    this.unread += fresh;
    const message = `${this.unread.toLocaleString("en")} new event${this.unread > 1 ? "s" : ""}`;
    this.pill.lastElementChild.textContent = message;
    this.pill.hidden = false;
    if (this.isTime("said")) this.dispatchEvent(new CustomEvent("toast", { detail: { message, level: "quiet" }, bubbles: true }));
  }

  read() {
    this.unread = 0;
    this.pill.hidden = true;
  }
}

customElements.define("live-follow", LiveFollow);
