// <scan-results>: a regular expression, looked for in everything while one watches. Stopping it
// closes the request, and with that the work.

let wanted = false;
document.addEventListener("submit", (event) => { wanted ||= event.target.matches("form.ask"); }, true);

class ScanResults extends HTMLElement {
  connectedCallback() {
    this.stop_ = this.querySelector("[data-stop]");
    this.go = this.querySelector("[data-start]");
    this.bar = this.querySelector("progress");
    this.go.onclick = (event) => { event.preventDefault(); this.start(this.go.href); };
    this.stop_.onclick = () => { this.stop(); this.say("Stopped."); };
    // Whoever typed on is not asking yet; Enter and an address are.
    if (wanted || document.readyState !== "complete") this.start(this.dataset.url);
    wanted = false;
  }

  disconnectedCallback() {
    this.abort?.abort();
  }

  async start(url) {
    this.abort = new AbortController();
    this.running(true);
    this.say("Looking …");
    const headers = { Accept: "application/x-ndjson" };
    try {
      const answer = await fetch(url, { headers, signal: this.abort.signal });
      if (!answer.ok) throw new Error(answer.status === 429 ? "Other scans are running: try again in a moment." : "");
      await this.read(answer.body.pipeThrough(new TextDecoderStream()).getReader());
    } catch (error) {
      if (error.name !== "AbortError") this.say(error.message || "The scan could not be finished. Try again.");
    }
    this.running(false);
  }

  async read(stream) {
    let rest = "";
    for (;;) {
      const { value, done } = await stream.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      lines.forEach((line) => this.show(JSON.parse(line)));
    }
  }

  show({ html, bytes, total, reached, skipped, is_last, older, trouble }) {
    if (trouble) return this.say(trouble);
    this.querySelector(".found").insertAdjacentHTML("beforeend", html);
    this.bar.max = Math.max(total, 1);
    this.bar.value = is_last && !older ? this.bar.max : bytes;
    const number = this.querySelectorAll(".found > article").length;
    const share = total ? Math.floor((100 * bytes) / total) : 100;
    const found = `${number} session${number === 1 ? "" : "s"} found`;
    const left = skipped ? ` ${skipped} event${skipped > 1 ? "s" : ""} took too long and ${skipped > 1 ? "were" : "was"} left out.` : "";
    if (!is_last) return this.say(`${found}, ${share} % looked at${reached ? `, back to ${reached}` : ""}.${left}`);
    if (older) this.go.href = older;
    this.go.hidden = !older;
    this.say(older ? `${found}. The scan paused here: continue to look further back.${left}` : `${found}. Everything was looked at.${left}`);
  }

  stop() {
    this.abort?.abort();
    this.running(false);
  }

  running(is) {
    this.toggleAttribute("aria-busy", is);
    this.bar.hidden = !is && !this.bar.value;
    this.stop_.hidden = !is;
    if (is) this.go.hidden = true;
  }

  say(text) {
    this.querySelector("[data-said]").textContent = text;
  }
}

customElements.define("scan-results", ScanResults);
