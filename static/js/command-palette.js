// <command-palette>: a combobox in a dialog. The input fetches its own options through htmx; here
// they are chosen by keys and announced.

class CommandPalette extends HTMLElement {
  connectedCallback() {
    this.input = this.querySelector("input");
    this.list = this.querySelector("[role=listbox]");
    const dialog = this.closest("dialog");
    this.input.addEventListener("keydown", (event) => this.key(event));
    // What is shown belongs to an earlier text: until the answer comes, nothing is chosen.
    this.input.addEventListener("input", () => this.choose());
    dialog.addEventListener("htmx:afterSwap", () => this.tell());
    dialog.addEventListener("click", (event) => this.take(event, dialog));
    dialog.addEventListener("close", () => {
      this.input.value = "";
      this.choose();
      this.list.replaceChildren();
    });
    if (this.list.children.length) this.tell();
  }

  key(event) {
    if (event.isComposing) return;
    const all = [...this.list.querySelectorAll("[role=option]")];
    const at = all.indexOf(this.chosen);
    const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? -1 : at - 1, PageDown: all.length - 1, PageUp: 0 }[event.key];
    if (to !== undefined && all.length) {
      event.preventDefault();
      this.choose(all.at(to % all.length));
    } else if (event.key === "Enter" && this.chosen) {
      event.preventDefault();
      this.chosen.click();
    }
  }

  choose(option = null) {
    this.chosen?.setAttribute("aria-selected", "false");
    this.chosen = option;
    this.input.setAttribute("aria-activedescendant", option?.id ?? "");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
  }

  tell() {
    const all = this.list.querySelectorAll("[role=option]");
    this.choose(all[0]);
    this.list.scrollTop = 0;
    const message = all.length === 1 ? "1 result" : `${all.length || "No"} results`;
    this.dispatchEvent(new CustomEvent("toast", { detail: { message, level: "quiet" }, bubbles: true }));
  }

  // Some options press a button of the page or open another dialog.
  take(event, dialog) {
    const option = event.target.closest("[role=option]");
    if (!option || event.ctrlKey || event.metaKey) return;
    dialog.close();
    const button = document.getElementById(option.dataset.press);
    if (!button) return;
    event.preventDefault();
    button.click();
  }
}

customElements.define("command-palette", CommandPalette);
