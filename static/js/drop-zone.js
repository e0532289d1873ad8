// <drop-zone data-url>: sends dropped or chosen files one by one, with progress and a result each.

const WORDS = { ingested: ["is-ok", "Added"], unchanged: ["is-quiet", "Unchanged"], refused: ["is-err", "Refused"] };
const make = (tag, props = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), props);
  element.append(...children);
  return element;
};

// A dropped folder is walked; readEntries answers in portions until it answers nothing.
async function filesOf(entry) {
  if (entry.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    for (const each of some) found.push(...(await filesOf(each)));
  }
}

class DropZone extends HTMLElement {
  connectedCallback() {
    this.form = this.querySelector("form");
    this.list = this.querySelector(".uploads");
    this.waiting = [];
    this.tally = { ingested: 0, unchanged: 0, refused: 0 };
    const input = this.querySelector("input[type=file]");
    input.onchange = () => {
      this.add([...input.files]);
      input.value = "";
    };
    this.ondragover = (event) => {
      event.preventDefault();
      this.classList.add("is-over");
    };
    this.ondragleave = () => this.classList.remove("is-over");
    this.ondrop = async (event) => {
      event.preventDefault();
      this.classList.remove("is-over");
      const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
      const plain = [...event.dataTransfer.files];
      try {
        this.add(entries.length ? (await Promise.all(entries.map(filesOf))).flat() : plain);
      } catch {
        this.say("The browser could not read what was dropped.", "error");
      }
    };
    this.closest("dialog[data-reload]")?.addEventListener("close", () => {
      if (this.tally.ingested) location.reload();
    });
  }

  add(files) {
    for (const file of files) {
      const bar = make("progress", { max: 1, value: 0 });
      bar.setAttribute("aria-label", `Upload of ${file.name}`);
      const state = make("span", { className: "note", textContent: "Waiting" });
      const row = make("li", {}, make("span", { className: "clip", textContent: file.name, title: file.name }), state, bar);
      this.list.append(row);
      this.waiting.push({ file, row, bar, state });
    }
    if (!this.sending) this.next();
  }

  async next() {
    const job = this.waiting.shift();
    this.sending = Boolean(job);
    if (!job) return this.finish();
    job.row.scrollIntoView({ block: "nearest" });
    for (const result of await this.send(job)) this.show(job, result);
    this.next();
  }

  send({ file, bar, state }) {
    return new Promise((resolve) => {
      const refuse = (message) => resolve([{ state: "refused", message, url: null }]);
      const request = new XMLHttpRequest();
      request.open("POST", this.dataset.url);
      request.setRequestHeader("Accept", "application/json");
      request.setRequestHeader("X-CSRFToken", this.form.elements.csrfmiddlewaretoken.value);
      request.upload.onprogress = ({ loaded, total }) => {
        bar.value = total ? loaded / total : 0;
        state.textContent = loaded < total ? `${Math.floor((loaded / total) * 100)} %` : "Reading…";
      };
      request.onerror = () => refuse("The connection broke. Nothing is lost: send the file again.");
      request.onload = () => {
        let answer = {};
        try {
          answer = JSON.parse(request.responseText);
        } catch { /* an error page: the status says enough */ }
        if (answer.results?.length) return resolve(answer.results);
        const usual = request.status === 413 ? "The file is larger than this server accepts." : `The server answered with error ${request.status}.`;
        refuse(answer.error ?? usual);
      };
      const body = new FormData();
      body.append("files", file, file.name);
      request.send(body);
    });
  }

  show({ row, bar, state }, { state: word, message, url }) {
    const [tone, text] = WORDS[word] ?? WORDS.refused;
    this.tally[word in this.tally ? word : "refused"] += 1;
    bar.remove();
    state.className = `status ${tone}`;
    state.textContent = text;
    const note = make("span", { className: "note", textContent: message ? `${message} ` : "" });
    if (url) note.append(make("a", { href: url, textContent: "Open the session" }));
    row.append(note);
  }

  finish() {
    const { ingested, unchanged, refused } = this.tally;
    const parts = [`${ingested} added`];
    if (unchanged) parts.push(`${unchanged} unchanged`);
    if (refused) parts.push(`${refused} refused`);
    this.say(`Upload finished: ${parts.join(", ")}.`, refused ? "warning" : "success");
  }

  say(message, level) {
    document.body.dispatchEvent(new CustomEvent("toast", { bubbles: true, detail: { message, level } }));
  }
}

customElements.define("drop-zone", DropZone);
