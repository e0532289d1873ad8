// <drop-zone data-url>: sends dropped or chosen files one by one, with progress and a result each.

const WORDS = {
  ingested: ["is-ok", "Added"], unchanged: ["is-quiet", "Unchanged"], unknown: ["is-warn", "Not taken"],
  refused: ["is-err", "Refused"], failed: ["is-err", "Not sent"], cancelled: ["is-quiet", "Cancelled"],
};
const make = (tag, props = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), props);
  element.append(...children);
  return element;
};
const status = (word) => {
  const [tone, text] = WORDS[word] ?? WORDS.refused;
  return make("span", { className: `status ${tone}`, textContent: text });
};
const note = ({ message, url }) => {
  const said = make("span", { className: "note", textContent: message ? `${message} ` : "" });
  if (url) said.append(make("a", { href: url, textContent: "Open the session" }));
  return said;
};

// A dropped folder is walked; readEntries answers in portions until it answers nothing.
async function filesOf(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ file, path: entry.fullPath.replace(/^\//, "") }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    for (const each of some) found.push(...(await filesOf(each)));
  }
}
const chosen = (files) => [...files].map((file) => ({ file, path: file.webkitRelativePath || file.name }));

class DropZone extends HTMLElement {
  connectedCallback() {
    this.form = this.querySelector("form");
    this.list = this.querySelector(".uploads");
    this.waiting = [];
    this.tally = {};
    const input = this.querySelector("input[type=file]");
    input.onchange = () => {
      this.add(chosen(input.files));
      input.value = "";
    };
    this.form.append(this.folderButton());
    this.ondragover = (event) => {
      event.preventDefault();
      this.classList.add("is-over");
    };
    this.ondragleave = () => this.classList.remove("is-over");
    this.ondrop = (event) => this.dropped(event);
    this.closest("dialog[data-reload]")?.addEventListener("close", () => {
      if (this.tally.ingested) location.reload();
    });
  }

  // What dragging a folder does, for those who do not drag.
  folderButton() {
    const folder = make("input", { type: "file", webkitdirectory: true, multiple: true });
    folder.onchange = () => {
      this.add(chosen(folder.files));
      folder.value = "";
    };
    return make("button", { type: "button", className: "button is-small", textContent: "Choose a folder", onclick: () => folder.click() });
  }

  async dropped(event) {
    event.preventDefault();
    this.classList.remove("is-over");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const plain = chosen(event.dataTransfer.files);
    try {
      this.add(entries.length ? (await Promise.all(entries.map(filesOf))).flat() : plain);
    } catch {
      this.say("The browser could not read what was dropped.", "error");
    }
  }

  add(files) {
    for (const { file, path } of files) {
      const row = make("li");
      row.tabIndex = -1;
      this.list.append(row);
      this.queue({ file, path, row });
    }
    if (!files.length) this.say("There is no file in it.", "warning");
  }

  queue(job) {
    job.bar = make("progress", { max: 1, value: 0 });
    job.bar.setAttribute("aria-label", `Upload of ${job.path}`);
    job.state = make("span", { className: "note", textContent: "Waiting" });
    job.members = null;
    job.counts = {};
    job.button = make("button", { type: "button", className: "button is-small", textContent: "Cancel", onclick: () => this.cancel(job) });
    job.button.setAttribute("aria-label", `Cancel ${job.path}`);
    job.row.replaceChildren(this.name(job.path), job.state, job.bar, job.button);
    this.waiting.push(job);
    if (!this.sending) this.next();
  }

  name(path) {
    return make("span", { className: "clip", textContent: path, title: path });
  }

  async next() {
    const job = this.waiting.shift();
    this.sending = Boolean(job);
    if (!job) return this.finish();
    job.row.scrollIntoView({ block: "nearest" });
    const end = await this.send(job);
    if (end) this.end(job, end);
    this.next();
  }

  // Resolves with what is to be said of the file as a whole, or nothing where its results said it.
  send(job) {
    return new Promise((resolve) => {
      const request = (job.request = new XMLHttpRequest());
      let read = 0;
      const results = () => {
        const whole = request.responseText.lastIndexOf("\n") + 1;
        const lines = request.responseText.slice(read, whole).split("\n").filter(Boolean);
        read = Math.max(read, whole);
        for (const line of lines) this.show(job, JSON.parse(line));
      };
      request.open("POST", this.dataset.url);
      request.setRequestHeader("Accept", "application/x-ndjson, application/json");
      request.setRequestHeader("X-CSRFToken", this.form.elements.csrfmiddlewaretoken.value);
      request.upload.onprogress = ({ loaded, total }) => {
        job.bar.value = total ? loaded / total : 0;
        job.state.textContent = `${Math.floor((loaded / total) * 100)} %`;
      };
      request.upload.onload = () => {
        job.bar.removeAttribute("value");
        job.state.textContent = "Reading…";
      };
      request.onprogress = () => {
        if (request.status === 200) results();
      };
      request.onabort = () => resolve({ state: "cancelled", message: job.count ? "What was added before stays." : "" });
      request.onerror = () => resolve({ state: "failed", message: "The connection broke. Nothing is lost: send the file again." });
      request.onload = () => {
        if (request.status === 200) results();
        resolve(job.count ? null : this.trouble(request));
      };
      const body = new FormData();
      body.append("paths", job.path);
      body.append("files", job.file, job.file.name);
      job.count = 0;
      request.send(body);
    });
  }

  trouble(request) {
    let error = request.status === 413 ? "The file is larger than this server accepts." : `The server answered with error ${request.status}.`;
    try {
      error = JSON.parse(request.responseText).error ?? error;
    } catch { /* an error page: the status says enough */ }
    return { state: request.status >= 500 || !request.status ? "failed" : "refused", message: error };
  }

  show(job, result) {
    job.count += 1;
    this.tally[result.state] = (this.tally[result.state] ?? 0) + 1;
    if (!result.archive) return this.end(job, result, true);
    job.counts[result.state] = (job.counts[result.state] ?? 0) + 1;
    if (!job.members) this.begin(job);
    job.members.append(make("li", {}, this.name(result.name), status(result.state), note(result)));
    const parts = Object.entries(job.counts).map(([word, number]) => `${number} ${(WORDS[word] ?? WORDS.refused)[1].toLowerCase()}`);
    job.summary.textContent = `${job.count} in the archive: ${parts.join(", ")}`;
  }

  begin(job) {
    job.summary = make("summary");
    job.members = make("ul");
    job.row.replaceChildren(this.name(job.path), status("ingested"), make("details", {}, job.summary, job.members));
    job.row.children[1].textContent = "Opened";
  }

  end(job, result, isCounted = false) {
    if (!isCounted) this.tally[result.state] = (this.tally[result.state] ?? 0) + 1;
    const parts = [this.name(job.path), status(result.state), note(result)];
    if (job.members) parts.push(job.summary.parentElement);
    if (["failed", "cancelled", "refused"].includes(result.state)) parts.push(this.again(job));
    job.row.replaceChildren(...parts);
  }

  again(job) {
    const button = make("button", { type: "button", className: "button is-small", textContent: "Send again" });
    button.setAttribute("aria-label", `Send ${job.path} again`);
    button.onclick = () => {
      job.row.focus();
      this.queue(job);
    };
    return button;
  }

  cancel(job) {
    job.row.focus();
    if (!this.waiting.includes(job)) return job.request?.abort();
    this.waiting.splice(this.waiting.indexOf(job), 1);
    this.end(job, { state: "cancelled" });
  }

  finish() {
    const { ingested = 0, refused = 0, failed = 0, ...others } = this.tally;
    const parts = [`${ingested} added`, ...Object.entries(others).map(([word, number]) => `${number} ${WORDS[word][1].toLowerCase()}`)];
    if (refused) parts.push(`${refused} refused`);
    if (failed) parts.push(`${failed} not sent`);
    this.say(`Upload finished: ${parts.join(", ")}.`, refused || failed || others.unknown ? "warning" : "success");
  }

  say(message, level) {
    document.body.dispatchEvent(new CustomEvent("toast", { bubbles: true, detail: { message, level } }));
  }
}

customElements.define("drop-zone", DropZone);
