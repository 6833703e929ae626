/* Enhancements of pages. Everything essential works without them, unless a page says otherwise. */
"use strict";

function announce(text) {
  const announcer = document.getElementById("announcer");
  if (announcer !== null) announcer.textContent = text;
}

/* Copy buttons. */
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (button === null || button === undefined) return;
  const label = button.querySelector("span") ?? button;
  const before = label.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    return; // The browser refused; the text itself is beside the button.
  }
  button.classList.add("done");
  label.textContent = button.dataset.copied;
  announce(button.dataset.copied);
  setTimeout(() => {
    button.classList.remove("done");
    label.textContent = before;
  }, 2000);
});

/* Forms that ask for confirmation. */
/** The form that waits for the answer of the dialog. */
let asked;
document.addEventListener("submit", (event) => {
  const form = event.target;
  const question = form.dataset?.confirm;
  const dialog = document.getElementById("confirm");
  if (question === undefined || dialog === null || form.dataset.confirmed === "yes") return;
  event.preventDefault();
  event.stopImmediatePropagation();
  asked = { form, submitter: event.submitter };
  dialog.querySelector("p").textContent = question;
  // The button names the act, like the one that asked.
  const act = event.submitter?.textContent.trim() ?? "";
  const yes = dialog.querySelector("button[value=yes]");
  yes.dataset.usual ||= yes.textContent;
  yes.textContent = act === "" ? yes.dataset.usual : act;
  dialog.returnValue = "no";
  dialog.showModal();
}, true);
/* The event comes a moment after the dialog is gone; by then it may be open again, and "no" answers nothing. */
document.addEventListener("close", (event) => {
  if (event.target.id !== "confirm" || event.target.returnValue !== "yes" || asked === undefined) {
    return;
  }
  const { form, submitter } = asked;
  asked = undefined;
  form.dataset.confirmed = "yes";
  form.requestSubmit(submitter);
}, true);

/* A second click does not send a form twice. */
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || event.target.method !== "post") return;
  if (event.target.dataset.sent === "yes") event.preventDefault();
  event.target.dataset.sent = "yes";
  // A form that answers with a download leaves the page open: it may be sent again.
  setTimeout(() => delete event.target.dataset.sent, 3000);
});
globalThis.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

/* The token of a mail comes in the fragment, which browsers keep to themselves; it goes into the form by script. */
function takeTokenFromFragment() {
  const field = document.querySelector("input[data-token-from-fragment]");
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (field === null || token === null) return;
  field.value = token;
  history.replaceState(null, "", location.pathname + location.search);
  field.closest("form").classList.add("has-token");
}

/* Forms that count their changes, and keep their end in sight until those are saved. */
function isChanged(field) {
  if (field.type === "checkbox" || field.type === "radio") {
    return field.checked !== field.defaultChecked;
  }
  if (field.options === undefined) return field.value !== field.defaultValue;
  const usual = [...field.options].find((one) => one.defaultSelected) ?? field.options[0];
  return field.selectedOptions[0] !== usual;
}
function countChanges(form) {
  const bar = form?.querySelector(".save-bar");
  if (bar === null || bar === undefined) return;
  const count = [...form.elements].filter((field) => field.name && isChanged(field)).length;
  bar.classList.toggle("changed", count > 0 || bar.querySelector(".bad") !== null);
  const { one, many } = bar.dataset;
  bar.querySelector("[role=status]").textContent = count === 0
    ? ""
    : count === 1
    ? one
    : many.replace("{n}", count);
}
document.addEventListener("input", (event) => countChanges(event.target.form));
document.addEventListener("reset", (event) => setTimeout(countChanges, 0, event.target));

/* Filters that apply while typing. */
document.addEventListener("change", (event) => {
  const form = event.target.closest?.("form[data-autosubmit]");
  form?.requestSubmit();
});

/* Menus close when the focus leaves them. */
function closeMenus(except) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (menu !== except) menu.open = false;
  }
}
document.addEventListener("click", (event) => closeMenus(event.target.closest?.("details.menu")));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = event.target.closest?.("details.menu[open]");
  closeMenus();
  menu?.querySelector("summary").focus();
});

/* Heads that sort the rows of the page. */
document.addEventListener("click", (event) => {
  const button = event.target.closest("th [data-sort]");
  if (button === null) return;
  const head = button.closest("th");
  const column = [...head.parentElement.children].indexOf(head);
  const isDescending = head.getAttribute("aria-sort") !== "descending";
  for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
  const body = head.closest("table").tBodies[0];
  const valueOf = (row) => {
    const cell = row.cells[column];
    const value = cell.dataset.value ?? cell.querySelector("[value]")?.getAttribute("value") ??
      cell.querySelector("time")?.dateTime ?? cell.textContent.trim();
    return Number.isNaN(Number(value)) ? value : Number(value);
  };
  const rows = [...body.rows].sort((one, other) => {
    const [a, b] = [valueOf(one), valueOf(other)];
    return (a < b ? -1 : a > b ? 1 : 0) * (isDescending ? -1 : 1);
  });
  body.append(...rows);
});

/* The search of the top bar. */
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, textarea, select, [contenteditable]") !== null;
  const isSlash = event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey &&
    !event.altKey;
  const isControlK = event.key === "k" && (event.ctrlKey || event.metaKey);
  const field = document.getElementById("top-search");
  if (field === null || !(isSlash || isControlK)) return;
  event.preventDefault();
  field.focus();
  field.select();
});

/* What the search finds while one types: a list under the field, walked with the arrows. */
const suggestionsDelayMs = 150;
const suggestionsRetryMs = 1_000;
const searchField = document.querySelector("input[data-suggestions]");
const palette = document.getElementById("suggestions");
let suggestionsTimer;
let suggestionsRequest;

function options() {
  return [...palette.querySelectorAll('[role="option"]')];
}
function select(option) {
  for (const one of options()) one.setAttribute("aria-selected", String(one === option));
  if (option === undefined) searchField.removeAttribute("aria-activedescendant");
  else {
    searchField.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  }
}
function showSuggestions(isShown) {
  palette.hidden = !isShown;
  searchField.setAttribute("aria-expanded", String(isShown));
  if (!isShown) select(undefined);
}
async function suggest(triesLeft = 3) {
  clearTimeout(suggestionsTimer);
  suggestionsRequest?.abort();
  const query = searchField.value.trim();
  if (query === "") return showSuggestions(false);
  suggestionsRequest = new AbortController();
  const { signal } = suggestionsRequest;
  try {
    const url = `${searchField.dataset.suggestions}?q=${encodeURIComponent(query)}`;
    const answer = await fetch(url, { signal, redirect: "error" });
    if (!answer.ok) throw new Error(answer.statusText);
    const text = await answer.text();
    const chosen = options().find((one) => one.getAttribute("aria-selected") === "true")?.href;
    palette.innerHTML = text;
    // What was chosen stays chosen, if it is found again.
    select(options().find(({ href }) => chosen !== undefined && href === chosen));
    showSuggestions(document.activeElement === searchField);
  } catch {
    // A newer search has replaced this one, or a server that is busy or restarts is asked again.
    if (signal.aborted) return;
    showSuggestions(false);
    if (triesLeft > 1) suggestionsTimer = setTimeout(suggest, suggestionsRetryMs, triesLeft - 1);
  }
}
function walkSuggestions(event) {
  const all = options();
  const at = all.findIndex((one) => one.getAttribute("aria-selected") === "true");
  if (event.key === "Escape") return showSuggestions(false);
  if (event.key === "Enter" && at >= 0) {
    event.preventDefault();
    return all[at].click();
  }
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0 || all.length === 0) return;
  event.preventDefault();
  select(all[(at + step + all.length + (at < 0 && step < 0 ? 1 : 0)) % all.length]);
}
if (searchField !== null && palette !== null) {
  searchField.setAttribute("role", "combobox");
  searchField.setAttribute("aria-controls", "suggestions");
  searchField.setAttribute("aria-autocomplete", "list");
  showSuggestions(false);
  searchField.addEventListener("input", () => {
    clearTimeout(suggestionsTimer);
    suggestionsTimer = setTimeout(suggest, suggestionsDelayMs);
  });
  searchField.addEventListener("focus", () => suggest());
  searchField.addEventListener("keydown", (event) => {
    if (!palette.hidden) walkSuggestions(event);
  });
  document.addEventListener("click", (event) => {
    if (!searchField.form.contains(event.target)) showSuggestions(false);
  });
  document.addEventListener("focusin", (event) => {
    if (!searchField.form.contains(event.target)) showSuggestions(false);
  });
}

/* Recent times of lists are said from now; the exact one, which is there without script, goes into the title. */
const agoSteps = [["second", 60], ["minute", 60], ["hour", 24], ["day", 7]];
const agoFormat = new Intl.RelativeTimeFormat(document.documentElement.lang, { style: "narrow" });
function agoText(ms) {
  let amount = Math.floor(ms / 1000);
  for (const [unit, count] of agoSteps) {
    if (amount < count) return agoFormat.format(-amount, unit);
    amount = Math.floor(amount / count);
  }
  return undefined;
}
function sayAgo() {
  for (const time of document.querySelectorAll("time[data-ago]")) {
    const exact = (time.dataset.ago ||= time.textContent.trim());
    const ms = Date.now() - Date.parse(time.dateTime);
    // A clock that differs a little does not make a time of the future.
    const text = ms < -60_000 ? exact : agoText(Math.max(0, ms)) ?? exact;
    if (text === time.textContent) continue;
    time.textContent = text;
    if (text !== exact) time.title = exact;
  }
}
sayAgo();
setInterval(sayAgo, 5_000);
document.addEventListener("htmx:load", sayAgo);

/* How long something is open, to the second; the moment of its end is beside it. */
function sayLeft() {
  for (const time of document.querySelectorAll("time[data-left]")) {
    const seconds = Math.max(0, Math.floor((Date.parse(time.dateTime) - Date.now()) / 1000));
    const left = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    time.textContent = seconds === 0 ? "" : `(${left})`;
  }
}
sayLeft();
setInterval(sayLeft, 1000);

takeTokenFromFragment();
globalThis.addEventListener("hashchange", takeTokenFromFragment);
