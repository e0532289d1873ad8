// <query-field data-suggest="…">: suggestions under the one text field. The server knows them; here
// is only the list, its keys, and what a chosen one does to the text. With `data-begun` it offers
// nothing before a word is begun: what was found already stands below.

const PAUSE = 150;

class QueryField extends HTMLElement {
  connectedCallback() {
    const input = this.input = this.querySelector("input");
    this.list = this.querySelector("[role=listbox]");
    this.at = -1;
    for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": this.list.id })) {
      input.setAttribute(name, value);
    }
    input.addEventListener("input", () => this.soon());
    input.addEventListener("click", () => this.soon());
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("blur", () => this.close());
    // Pressing must not take the focus away before the click arrives.
    this.list.addEventListener("pointerdown", (event) => event.preventDefault());
    this.list.addEventListener("click", (event) => this.take(event.target.closest("[role=option]")));
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), PAUSE);
  }

  async ask() {
    if ("begun" in this.dataset && !/\S$/.test(this.input.value.slice(0, this.input.selectionStart ?? 0))) return this.close();
    const asked = new URLSearchParams({ q: this.input.value, at: this.input.selectionStart ?? 0 });
    this.stop?.abort();
    this.stop = new AbortController();
    try {
      const answer = await fetch(`${this.dataset.suggest}?${asked}`, { headers: { "HX-Request": "true" }, signal: this.stop.signal });
      if (!answer.ok || document.activeElement !== this.input) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      this.list.replaceChildren(...page.querySelectorAll("[role=option]"));
    } catch { return; }
    this.mark(-1);
    this.show(this.list.children.length > 0);
  }

  show(open) {
    this.list.hidden = !open;
    this.input.setAttribute("aria-expanded", String(open));
  }

  close() {
    clearTimeout(this.timer);
    this.stop?.abort();
    this.mark(-1);
    this.show(false);
  }

  mark(at) {
    const options = [...this.list.children];
    this.at = at;
    options.forEach((option, no) => option.setAttribute("aria-selected", String(no === at)));
    options[at]?.scrollIntoView({ block: "nearest" });
    if (options[at]) this.input.setAttribute("aria-activedescendant", options[at].id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  key(event) {
    const count = this.list.children.length, open = !this.list.hidden;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!open) return this.ask();
      const step = event.key === "ArrowDown" ? 1 : -1;
      // Past either end lies the text itself.
      this.mark((this.at + 1 + step + count + 1) % (count + 1) - 1);
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      this.close();
    } else if (event.key === "Enter" && open && this.at >= 0) {
      event.preventDefault();
      this.take(this.list.children[this.at]);
    } else if (event.key === "Enter") {
      this.close();
    }
  }

  take(option) {
    if (!option) return;
    this.input.value = option.dataset.text;
    this.input.setSelectionRange(option.dataset.cursor, option.dataset.cursor);
    this.input.focus();
    // As if it had been typed: whoever searches while one types takes it up, too.
    this.input.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

customElements.define("query-field", QueryField);

// A chip goes by its own keys, too; a choice of the order acts at once.
document.addEventListener("keydown", (event) => {
  if ((event.key === "Backspace" || event.key === "Delete") && event.target.matches?.("[data-chip]")) event.target.click();
});
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-at-once]")) event.target.form.requestSubmit();
});
