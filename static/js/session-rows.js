// <session-rows data-again="…">: the rows of the list. They follow what comes in without losing
// focus, selection or place, and several can be selected for what the bar below them does.

const PAUSE = 3000;

class SessionRows extends HTMLElement {
  connectedCallback() {
    this.bar = document.getElementById("bulk");
    this.addEventListener("change", (event) => this.changed(event.target));
    this.addEventListener("click", (event) => { if (event.shiftKey && event.target.name === "id") this.stretch(event.target); });
    document.addEventListener("recount:key", ({ detail }) => { if (detail === "x" || detail === "X") this.pick(detail === "X"); });
    this.bar?.querySelector("[data-none]").addEventListener("click", () => { this.boxes().forEach((box) => { box.checked = false; }); this.tell(); });
    this.bar?.querySelector("[data-copy-links]").addEventListener("click", () => this.copy());
    this.tell();
    if (this.dataset.again) setInterval(() => document.hidden || this.again(), PAUSE);
  }

  // Rows that changed are replaced cell by cell: a box that is checked or a link that is focused stays.
  async again() {
    if (this.busy) return;
    this.busy = true;
    const answer = await fetch(this.dataset.again, { headers: { "HX-Request": "true" } }).catch(() => null);
    this.busy = false;
    if (answer?.status !== 200) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("session-rows"), body = this.querySelector("tbody"), rows = fresh?.querySelector("tbody");
    if (!fresh) return;
    this.dataset.again = fresh.dataset.again;
    document.getElementById("total").textContent = fresh.dataset.total;
    if (!rows || !body) return this.replaceChildren(...fresh.childNodes);
    const old = new Map([...body.children].map((row) => [row.id, row]));
    let place = body.firstElementChild;
    for (const row of [...rows.children]) {
      const known = old.get(row.id);
      old.delete(row.id);
      if (known) this.refresh(known, row);
      if (known === place) { place = place.nextElementSibling; continue; }
      body.insertBefore(this.kept(known) ?? row, place);
    }
    for (const row of old.values()) row.remove();
    this.tell();
  }

  // Moving a row would take the focus out of it: it is given back.
  kept(row) {
    const focused = row?.contains(document.activeElement) && document.activeElement;
    if (focused) queueMicrotask(() => focused.focus({ preventScroll: true }));
    return row;
  }

  refresh(known, row) {
    [...row.children].forEach((cell, no) => {
      const mine = known.children[no];
      if (mine.querySelector("input") || mine.innerHTML === cell.innerHTML) return;
      const focused = mine.contains(document.activeElement) && document.activeElement.id;
      mine.replaceWith(cell);
      if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    });
  }

  boxes() { return [...this.querySelectorAll("input[name=id]")]; }

  changed(box) {
    if ("all" in box.dataset) this.boxes().forEach((each) => { each.checked = box.checked; });
    else this.last = box;
    this.tell();
  }

  // From the last one that was chosen up to this one, all like it.
  stretch(box) {
    const all = this.boxes(), from = all.indexOf(this.last), to = all.indexOf(box);
    if (from < 0) return;
    for (const each of all.slice(Math.min(from, to), Math.max(from, to) + 1)) each.checked = box.checked;
  }

  pick(isRange) {
    const box = document.activeElement?.closest("tr")?.querySelector("input[name=id]");
    if (!box) return;
    box.checked = isRange || !box.checked;
    if (isRange) this.stretch(box);
    this.last = box;
    this.tell();
  }

  tell() {
    const all = this.boxes(), chosen = all.filter((box) => box.checked).length, head = this.querySelector("[data-all]");
    if (head) { head.checked = chosen > 0 && chosen === all.length; head.indeterminate = chosen > 0 && chosen < all.length; }
    if (!this.bar) return;
    this.bar.toggleAttribute("data-empty", !chosen);
    this.bar.querySelector("[data-selected]").textContent = `${chosen} selected`;
  }

  async copy() {
    const links = this.boxes().filter((box) => box.checked).map((box) => box.closest("tr").querySelector("a[data-row]").href);
    let detail = { message: `Copied ${links.length} link${links.length > 1 ? "s" : ""}` };
    try { await navigator.clipboard.writeText(links.join("\n")); } catch { detail = { level: "error", message: "Your browser did not allow copying." }; }
    document.body.dispatchEvent(new CustomEvent("toast", { bubbles: true, detail }));
  }
}

customElements.define("session-rows", SessionRows);
