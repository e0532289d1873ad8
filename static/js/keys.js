// Keyboard shortcuts. A key acts on the element with that data-key ("u", "g s", "Ctrl+K"), else on
// whoever hears "recount:key" on the document, else as below. domain/rooms.py lists them all.

const WAIT = 1200;
let first = "", timer;

const busy = ({ defaultPrevented, altKey, isComposing, target }) =>
  defaultPrevented || altKey || isComposing || document.body.dataset.shortcuts === "off" ||
  target.closest?.("input, select, textarea, [contenteditable], dialog:modal");

// From the focused row, else from the first row that can be seen.
function move(step) {
  const all = [...document.querySelectorAll("[data-row]")].filter((row) => row.checkVisibility());
  if (!all.length) return;
  const focus = document.activeElement;
  const current = focus?.closest("[data-row]") ?? focus?.closest("tr")?.querySelector("[data-row]");
  const seen = all.findIndex((row) => row.getBoundingClientRect().bottom > 120);
  const at = current ? all.indexOf(current) + step : seen;
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

const ACTS = {
  "j": () => move(1),
  "k": () => move(-1),
  "o": () => document.activeElement?.matches("a[data-row]") && document.activeElement.click(),
  "?": () => document.querySelector('[data-opens="keys"]').click(),
};

// True where the browser has nothing more to do with the key.
function act(key) {
  const element = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (element?.matches("input")) element.focus(), element.select();
  else if (element) key === "u" ? back(element) : element.click();
  else if (document.dispatchEvent(new CustomEvent("recount:key", { detail: key, cancelable: true }))) ACTS[key]?.();
  return element;
}

document.addEventListener("keydown", (event) => {
  if (busy(event) || event.key.length !== 1 || event.key === " ") return;
  const isChord = event.ctrlKey || event.metaKey;
  if (isChord && event.shiftKey) return;
  clearTimeout(timer);
  const key = isChord ? `Ctrl+${event.key.toUpperCase()}` : first ? `${first} ${event.key}` : event.key;
  first = key === "g" ? key : "";
  if (first) timer = setTimeout(() => { first = ""; }, WAIT);
  else if (act(key)) event.preventDefault();
});

// Coming back to a list lands on the row one left from; only its id is remembered.
const place = `row:${location.pathname}${location.search}`;
document.addEventListener("click", (event) => {
  const row = event.target.closest("a[data-row]")?.closest("[id]");
  if (row) sessionStorage.setItem(place, row.id);
});
if (performance.getEntriesByType("navigation")[0]?.type === "back_forward") {
  const row = document.getElementById(sessionStorage.getItem(place));
  (row?.matches("a") ? row : row?.querySelector("a[data-row]"))?.focus();
}
