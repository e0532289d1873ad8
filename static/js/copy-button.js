// <copy-button data-text="…">: shows its button, copies the text, says so in the status region.

const write = async (text) => {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  // Plain http on a local network has no clipboard API.
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "sr-only";
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (!copied) throw new Error("not copied");
};

const say = (message, level = "quiet") =>
  document.body.dispatchEvent(new CustomEvent("toast", { bubbles: true, detail: { message, level } }));
const REFUSED = "Copying did not work. Select the text and copy it by hand.";

// data-copies: what a link or a form leads to is copied instead of opened.
document.addEventListener("click", async (event) => {
  const at = event.target.closest("[data-copies]");
  if (!at) return;
  event.preventDefault();
  try {
    const answer = await fetch(at.form ? `${at.form.action}?${new URLSearchParams(new FormData(at.form))}` : at.href);
    if (!answer.ok) throw answer;
    await write(await answer.text());
    say("Copied as Markdown", "info");
  } catch {
    say(REFUSED, "error");
  }
});

class CopyButton extends HTMLElement {
  connectedCallback() {
    const button = this.querySelector("button");
    if (!button) return;
    button.hidden = false;
    button.onclick = () => this.copy(button);
  }

  async copy(button) {
    const what = button.getAttribute("aria-label").replace(/^Copy ?/, "");
    try {
      await write(this.dataset.text);
      this.classList.add("is-done");
      const use = button.querySelector("use");
      const before = use.getAttribute("href");
      use.setAttribute("href", before.replace(/#.*/, "#check"));
      say(`Copied ${what}`);
      setTimeout(() => {
        this.classList.remove("is-done");
        use.setAttribute("href", before.replace(/#.*/, "#copy"));
      }, 1600);
    } catch {
      say(REFUSED, "error");
    }
    button.focus();
  }
}

customElements.define("copy-button", CopyButton);
