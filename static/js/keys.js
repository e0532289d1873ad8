// Keyboard shortcuts. Targets are declared in the page: data-key="g s" on a link, data-row on rows.

const WAIT = 1200;
let first = "";
let timer;

const busy = (event) =>
  event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing ||
  document.body.dataset.shortcuts === "off" ||
  event.target.closest?.("input, select, textarea, [contenteditable], dialog:modal");

function rows() {
  return [...document.querySelectorAll("[data-row]")].filter((row) => row.checkVisibility());
}

// From the focused row, else from the first row that can be seen.
function move(step) {
  const all = rows();
  if (!all.length) return;
  const current = document.activeElement?.closest("[data-row]") ??
    document.activeElement?.closest("tr")?.querySelector("[data-row]");
  const seen = all.findIndex((row) => row.getBoundingClientRect().bottom > 120);
  const at = current ? all.indexOf(current) + step : Math.max(seen, 0);
  const next = all[Math.min(Math.max(at, 0), all.length - 1)];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: next.matches("article") ? "start" : "nearest" });
}

function back(link) {
  const from = document.referrer && new URL(document.referrer);
  const there = new URL(link.href);
  // Going back keeps the page, the place and the focus of the list.
  if (from && from.origin === there.origin && from.pathname === there.pathname) history.back();
  else link.click();
}

function act(key) {
  const link = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (link) return key === "u" ? back(link) : link.click();
  if (key === "j" || key === "k") return move(key === "j" ? 1 : -1);
  if (key === "o") return document.activeElement?.matches("a[data-row]") && document.activeElement.click();
  if (key === "?") {
    for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
    document.getElementById("keys")?.showModal();
  }
}

document.addEventListener("keydown", (event) => {
  if (busy(event) || event.key.length !== 1 || event.key === " ") return;
  clearTimeout(timer);
  const key = first ? `${first} ${event.key}` : event.key;
  first = "";
  if (event.key === "g" && key === "g") {
    first = "g";
    timer = setTimeout(() => { first = ""; }, WAIT);
    return;
  }
  act(key);
});

// Coming back to a list lands on the row one left from; only its id is remembered.
const place = `row:${location.pathname}${location.search}`;
document.addEventListener("click", (event) => {
  const row = event.target.closest("a[data-row]")?.closest("[id]");
  if (row) sessionStorage.setItem(place, row.id);
});
if (performance.getEntriesByType("navigation")[0]?.type === "back_forward") {
  const row = document.getElementById(sessionStorage.getItem(place));
  row?.querySelector("a[data-row]")?.focus();
}
