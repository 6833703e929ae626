/* Logs of calls: new rows appear by themselves, and a row opens its call beside the list. */
"use strict";

/* Pauses between two looks for new calls; longer while nothing comes, and none while nobody looks. */
const liveShortMs = 3_000;
const liveLongMs = 30_000;
/* Figures and chart follow new calls at most this often. */
const figuresMs = 20_000;
/* Rows that a page keeps, so that one that stays open for days does not grow. */
const mostRows = 200;

const rowsOf = (log) => [...log.querySelectorAll("tr[data-call]")];
let figuresAt = performance.now();
/* The page with the list, whatever call is open beside it. */
const listPath = location.pathname + location.search;

/* Puts the rows that the list lacks where they belong, and keeps what is on the screen in place. */
function addRows(log, fresh) {
  const body = log.querySelector("tbody");
  if (body === null) return log.replaceWith(fresh);
  const before = body.getBoundingClientRect();
  const known = new Map(rowsOf(log).map((row) => [row.dataset.call, row]));
  for (const row of rowsOf(fresh)) {
    const old = known.get(row.dataset.call);
    if (old !== undefined) {
      if (old.innerHTML !== row.innerHTML) old.replaceWith(row);
      continue;
    }
    const older = rowsOf(log).find((one) => one.dataset.call < row.dataset.call);
    body.insertBefore(row, older ?? null);
    row.classList.add("fresh");
  }
  for (const row of rowsOf(log).slice(Number(log.dataset.most ?? mostRows))) row.remove();
  if (before.top < 0) scrollBy(0, body.getBoundingClientRect().height - before.height);
}

/* The figures of the same page, without anything else of it. */
async function renewFigures() {
  const place = document.getElementById("usage-figures");
  if (place === null || performance.now() - figuresAt < figuresMs) return;
  figuresAt = performance.now();
  const response = await fetch(listPath);
  if (!response.ok || response.redirected) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const fresh = page.getElementById("usage-figures");
  if (fresh === null) return;
  const isOpen = place.querySelector("details")?.open === true;
  place.replaceChildren(...fresh.childNodes);
  const details = place.querySelector("details");
  if (details !== null) details.open = isOpen;
  document.dispatchEvent(new Event("figures:renewed"));
}

/* Looks for new calls. Returns whether there were any, or undefined if the log is not to be asked again. */
async function look(log) {
  const url = `${log.dataset.log}${
    log.dataset.log.includes("?") ? "&" : "?"
  }seen=${log.dataset.mark}`;
  const response = await fetch(url);
  if (response.redirected || response.status === 401) return undefined;
  if (response.status !== 200) return false;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const fresh = page.querySelector("[data-mark]");
  if (fresh === null) return undefined;
  log.dataset.mark = fresh.dataset.mark;
  addRows(log, fresh);
  await renewFigures();
  return true;
}

async function follow() {
  let pauseMs = liveShortMs;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    if (document.visibilityState === "hidden") {
      await new Promise((resolve) =>
        document.addEventListener("visibilitychange", resolve, { once: true })
      );
    }
    const log = document.querySelector("[data-log]");
    if (log === null) return;
    try {
      const isNew = await look(log);
      if (isNew === undefined) return;
      pauseMs = isNew ? liveShortMs : Math.min(pauseMs * 1.3, liveLongMs);
    } catch {
      pauseMs = liveLongMs;
    }
  }
}

/* The drawer. Its address is that of the call's own page, so it can be sent to somebody, and a reload shows the page. */
let opener;

function drawer() {
  let place = document.getElementById("drawer");
  if (place !== null) return place;
  place = document.createElement("dialog");
  place.id = "drawer";
  place.setAttribute("aria-labelledby", "drawer-title");
  document.body.append(place);
  return place;
}

function closeDrawer() {
  const place = document.getElementById("drawer");
  if (place === null || !place.open) return;
  place.close();
  for (const row of document.querySelectorAll("tr.opened")) row.classList.remove("opened");
  opener?.focus({ preventScroll: true });
}

/* The first link of a row leads to its call. */
const linkOf = (row) => row.querySelector("td a[href]");

/* The row before or after the one that is open; what is newer is above. */
function neighbour(direction) {
  const rows = [...document.querySelectorAll("tr[data-call]")];
  const at = rows.findIndex((row) => row.classList.contains("opened"));
  return at < 0 ? undefined : rows[at + (direction === "older" ? 1 : -1)];
}

/* Goes to another call: beside the list, or on the page of a call by its link. */
function walk(direction) {
  if (document.getElementById("drawer")?.open) {
    const row = neighbour(direction);
    row?.scrollIntoView({ block: "nearest" });
    if (row !== undefined) openDrawer(row);
  } else document.querySelector(`main a[data-walk="${direction}"]`)?.click();
}

async function openDrawer(row) {
  const href = linkOf(row).getAttribute("href");
  const response = await fetch(`${href}?fragment=drawer`);
  if (!response.ok || response.redirected) return location.assign(href);
  const place = drawer();
  const isOpen = place.open;
  place.innerHTML = await response.text();
  for (const other of document.querySelectorAll("tr.opened")) other.classList.remove("opened");
  row.classList.add("opened");
  opener = linkOf(row);
  if (!isOpen) place.show();
  place.scrollTop = 0;
  for (const button of place.querySelectorAll("[data-walk]")) {
    button.disabled = neighbour(button.dataset.walk) === undefined;
  }
  place.querySelector("[data-close-drawer]")?.focus({ preventScroll: true });
  if (isOpen) history.replaceState({ drawer: true }, "", href);
  else history.pushState({ drawer: true }, "", href);
}

document.addEventListener("click", (event) => {
  const step = event.target.closest("button[data-walk]");
  if (step !== null) return walk(step.dataset.walk);
  if (event.target.closest("[data-close-drawer]") !== null) return history.back();
  const row = event.target.closest("tr[data-call]");
  if (row === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const link = event.target.closest("a, button");
  if (link !== null && link !== linkOf(row)) return;
  if (String(getSelection()) !== "") return;
  event.preventDefault();
  openDrawer(row);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.getElementById("drawer")?.open) history.back();
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, textarea, select, [contenteditable]") !== null) return;
  if (event.key === "j") walk("older");
  if (event.key === "k") walk("newer");
});
addEventListener("popstate", (event) => {
  if (event.state?.drawer !== true) closeDrawer();
});

follow();
