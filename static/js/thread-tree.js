// <thread-tree>: a tree one walks with the arrow keys. Without this script it is a list of links.

const ITEM = "[role=treeitem]";

class ThreadTree extends HTMLElement {
  connectedCallback() {
    this.items = [...this.querySelectorAll(ITEM)];
    const start = this.querySelector(`${ITEM}[aria-current]`) ?? this.items[0];
    for (const item of this.items) this.reach(item, item === start);
    this.addEventListener("keydown", (event) => this.pressed(event));
    this.addEventListener("focusin", (event) => this.choose(event.target.closest(ITEM)));
    this.addEventListener("click", (event) => {
      const item = event.target.closest(".twist") && event.target.closest(ITEM);
      if (item) this.fold(item, item.ariaExpanded === "true");
    });
  }

  // One item at a time is on the way of the Tab key, with the links inside it.
  reach(item, can) {
    item.tabIndex = can ? 0 : -1;
    for (const link of item.querySelector(".node").querySelectorAll("a")) link.tabIndex = can ? 0 : -1;
  }

  choose(item) {
    if (!item || item.tabIndex === 0) return;
    for (const other of this.items) if (other.tabIndex === 0) this.reach(other, false);
    this.reach(item, true);
  }

  go(item) {
    if (!item) return;
    this.choose(item);
    item.focus({ preventScroll: true });
    item.querySelector(".node").scrollIntoView({ block: "nearest" });
  }

  fold(item, closed) {
    if (!item.hasAttribute("aria-expanded")) return;
    item.setAttribute("aria-expanded", String(!closed));
    if (closed && item !== document.activeElement && item.contains(document.activeElement)) this.go(item);
  }

  pressed(event) {
    const item = event.target.closest(ITEM);
    if (event.target !== item || event.ctrlKey || event.altKey || event.metaKey) return;
    const seen = this.items.filter((each) => each.checkVisibility());
    const at = seen.indexOf(item);
    const steps = {
      ArrowDown: () => this.go(seen[at + 1]),
      ArrowUp: () => this.go(seen[at - 1]),
      Home: () => this.go(seen[0]),
      End: () => this.go(seen.at(-1)),
      ArrowRight: () => item.ariaExpanded === "false" ? this.fold(item, false) : item.ariaExpanded && this.go(seen[at + 1]),
      ArrowLeft: () => item.ariaExpanded === "true" ? this.fold(item, true) : this.go(item.parentElement.closest(ITEM)),
      Enter: () => item.querySelector("a.name").click(),
    };
    if (!steps[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    steps[event.key]();
  }
}

customElements.define("thread-tree", ThreadTree);
