// What every page needs: toasts in the live regions, menus, dialogs, confirmation, theme.

const $ = (selector, root = document) => root.querySelector(selector);
const on = (name, handler, capture) => document.addEventListener(name, handler, capture);
const copyOf = (id) => ($(id) ?? $("#toast-info")).content.firstElementChild.cloneNode(true);

// Toasts. Anything put into #status or #alert becomes dismissible; status leaves by itself.
function toast({ message, level = "info" }) {
  const region = $(level === "error" ? "#alert" : "#status");
  // A failing poll must not pile up the same sentence.
  if ([...region.children].some((old) => old.textContent.trim() === message)) return;
  const isQuiet = level === "quiet";
  const note = isQuiet ? document.createElement("div") : copyOf(`#toast-${level}`);
  (isQuiet ? note : $(".text", note)).textContent = message;
  if (isQuiet) {
    note.className = "sr-only";
    setTimeout(() => note.remove(), 3000);
  }
  region.append(note);
}

function settle(note, isAlert) {
  if (!note.classList?.contains("toast") || $("button", note)) return;
  const button = copyOf("#toast-dismiss");
  button.onclick = () => note.remove();
  note.append(button);
  if (isAlert) return;
  let timer;
  const start = () => { timer = setTimeout(() => note.remove(), 7000); };
  note.onpointerenter = note.onfocusin = () => clearTimeout(timer);
  note.onpointerleave = note.onfocusout = start;
  start();
}

for (const region of document.querySelectorAll("#status, #alert")) {
  new MutationObserver((changes) => changes.forEach((change) =>
    change.addedNodes.forEach((note) => settle(note, region.id === "alert")))).observe(region, { childList: true });
}

on("toast", (event) => {
  const detail = event.detail?.value ?? event.detail;
  toast(typeof detail === "string" ? { message: detail } : detail);
});

// Messages of the previous request are announced only if they enter a live region after load.
requestAnimationFrame(() => {
  for (const note of document.querySelectorAll("#flash > .toast")) {
    $(note.classList.contains("is-err") ? "#alert" : "#status").append(note);
  }
});

on("htmx:responseError", (event) => toast({
  level: "error",
  message: event.detail.xhr.status === 403
    ? "You may not do that. Nothing was changed."
    : `The server answered with error ${event.detail.xhr.status}.`,
}));
on("htmx:sendError", () => toast({
  level: "error", message: "The server cannot be reached. Is it running?",
}));

// Menus close on a click elsewhere and on Escape.
const openMenus = () => document.querySelectorAll("details.menu[open]");
on("click", (event) => {
  for (const menu of openMenus()) if (!menu.contains(event.target)) menu.open = false;
  const opener = event.target.closest("[data-opens]");
  if (opener) {
    event.preventDefault();
    for (const menu of openMenus()) menu.open = false;
    open(document.getElementById(opener.dataset.opens));
  }
  const closer = event.target.closest("[data-closes]");
  closer?.closest("dialog").close();
  // A dialog has no padding: what is clicked is its backdrop.
  if (event.target.matches("dialog:modal")) event.target.close();
});
on("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of openMenus()) {
    menu.open = false;
    $("summary", menu).focus();
  }
  const drawer = $("dialog.drawer[open]");
  if (drawer && !$("dialog:modal")) drawer.close();
});

// A drawer leaves the page usable; everything else is modal. A dialog gives the focus back by itself.
function open(dialog) {
  if (!dialog.classList.contains("drawer")) return openModal(dialog);
  dialog.show();
  $("h2", dialog)?.focus();
}

// Outside an open modal everything is inert, so the live regions go in with it. What only works in
// a dialog need not come with every page.
function openModal(dialog) {
  const later = $("[data-script]:not(:defined)", dialog);
  if (later) import(later.dataset.script);
  const toasts = $(".toasts");
  dialog.append(toasts);
  dialog.addEventListener("close", () => dialog.contains(toasts) && document.body.append(toasts), { once: true });
  dialog.showModal();
}

// Confirmation: <form data-confirm="what will happen" data-confirm-title data-confirm-yes>.
const agreed = new WeakSet();
on("submit", (event) => {
  const form = event.target;
  if (!form.dataset?.confirm || agreed.delete(form)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const dialog = $("#confirm");
  const submitter = event.submitter;
  $("h2", dialog).textContent = form.dataset.confirmTitle || "Are you sure?";
  $("[data-text]", dialog).textContent = form.dataset.confirm;
  $("[data-yes]", dialog).textContent = form.dataset.confirmYes || "Continue";
  dialog.returnValue = "";
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "yes") return submitter?.focus();
    agreed.add(form);
    form.requestSubmit(submitter);
  }, { once: true });
  dialog.showModal();
}, true);

// Theme: shown at once, stored by the same form that works without scripts.
const paint = (theme) => { document.documentElement.dataset.theme = theme; };
on("change", (event) => {
  if (event.target.name === "theme") paint(event.target.value);
});
on("submit", async (event) => {
  const form = event.target;
  if (!form.matches?.("[data-theme-form]")) return;
  event.preventDefault();
  const theme = event.submitter.value;
  paint(theme);
  for (const button of form.querySelectorAll("[aria-pressed]")) {
    button.setAttribute("aria-pressed", String(button.value === theme));
  }
  const body = new FormData(form, event.submitter);
  const answer = await fetch(form.action, { method: "POST", body, redirect: "manual" }).catch(() => null);
  if (!answer || answer.status >= 400) toast({ level: "error", message: "The theme could not be saved." });
});

// Rows of links that scroll on a narrow screen show the one that is current.
function reveal() {
  for (const row of document.querySelectorAll(".nav, .tabs, .filters, .segments")) {
    const current = $("[aria-current]", row);
    if (!current || row.scrollWidth <= row.clientWidth) continue;
    const [here, around] = [current.getBoundingClientRect(), row.getBoundingClientRect()];
    row.scrollLeft += here.left - around.left - (around.width - here.width) / 2;
  }
}
reveal();
on("htmx:afterSettle", reveal);

// A form that came back with errors takes the focus to its summary.
$("[data-focus]")?.focus();
