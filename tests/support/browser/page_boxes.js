/* What is wrong with the boxes of the page that is open: `boxProblems` is evaluated in it (`page_soundness.ts`). */
"use strict";

/* Pixels by which boxes may differ: fractions of them are rounded. */
const tolerance = 1.5;
/* Share of a line's height by which the boxes of two lines may overlap: those of fonts are taller than their lines. */
const lineShare = 0.35;
/* Pixels from which a screen is no phone. */
const phoneWidth = 600;
/* Boxes that hold their text. */
const holders = "td, th, dt, dd, li, button, .button, summary, .badge, .card, .notice, figure";
const bars = "header.top, body > .bottom";
const shown = { opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true };

/* Boxes and styles that one look reads again and again, as long as nothing scrolls. */
let boxes = new Map();
let styles = new Map();

function boxOf(element) {
  let box = boxes.get(element);
  if (box === undefined) boxes.set(element, box = element.getBoundingClientRect());
  return box;
}

function styleOf(element) {
  let style = styles.get(element);
  if (style === undefined) {
    const { overflow, overflowX, overflowY, textOverflow, position } = getComputedStyle(element);
    styles.set(element, style = { overflow, overflowX, overflowY, textOverflow, position });
  }
  return style;
}

function nameOf(element) {
  const classes = [...element.classList].slice(0, 2).map((one) => `.${one}`).join("");
  return element.localName + (element.id === "" ? "" : `#${element.id}`) + classes;
}

/* The layer of an element: what is fixed or sticky passes over the rest, and is compared with itself only. */
function layerOf(element, known) {
  if (element === null) return null;
  let layer = known.get(element);
  if (layer !== undefined) return layer;
  const { position } = styleOf(element);
  layer = position === "fixed" || position === "sticky" || position === "absolute"
    ? element
    : layerOf(element.parentElement, known);
  known.set(element, layer);
  return layer;
}

/* The part of a box that the boxes around it let through. */
function seenOf(element, { left, right, top, bottom }) {
  const seen = { left, right, top, bottom };
  for (let one = element; one !== null && one !== document.body; one = one.parentElement) {
    const { overflowX, overflowY } = styleOf(one);
    if (overflowX === "visible" && overflowY === "visible") continue;
    const frame = boxOf(one);
    seen.left = Math.max(seen.left, frame.left);
    seen.right = Math.min(seen.right, frame.right);
    seen.top = Math.max(seen.top, frame.top);
    seen.bottom = Math.min(seen.bottom, frame.bottom);
  }
  return seen;
}

/* The text of each line, with its box and what is seen of it. */
function textLines() {
  const lines = [];
  const layers = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = node.data.trim();
    if (text === "" || element.closest("svg, select, script, style, noscript, template") !== null) {
      continue;
    }
    if (!element.checkVisibility(shown)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width < 1 || box.height < 1) continue;
      lines.push({
        node,
        element,
        text: text.replaceAll(/\s+/g, " ").slice(0, 40),
        box,
        seen: seenOf(element, box),
        layer: layerOf(element, layers),
      });
    }
  }
  return lines;
}

/* Whether an element is there for screen readers only: nothing of it is painted. */
function isHidden(element) {
  for (let one = element; one !== null && one !== document.body; one = one.parentElement) {
    const { width, height } = boxOf(one);
    if ((width <= 2 || height <= 2) && styleOf(one).overflow !== "visible") return true;
    if (one.classList.contains("skip-link")) return true;
  }
  return false;
}

/* What may be scrolled sideways: code, and on a phone the tabs of a page. */
function mayScroll(element) {
  return element.closest("pre, code, textarea") !== null ||
    (innerWidth < phoneWidth && element.closest(".tabs, .chips") !== null);
}

const scrolling = ["auto", "scroll"];

/* Returns the box that cuts a line; a cut that shows itself by an ellipsis has its whole text in a title or behind its link. */
function cutOf({ element, box }) {
  for (let one = element; one !== null && one !== document.body; one = one.parentElement) {
    const { overflowX, overflowY, textOverflow } = styleOf(one);
    if (overflowX === "visible" && overflowY === "visible") continue;
    const frame = boxOf(one);
    const isWide = box.right > frame.right + tolerance || box.left < frame.left - tolerance;
    const isTall = !scrolling.includes(overflowY) &&
      (box.bottom > frame.bottom + box.height * lineShare ||
        box.top < frame.top - box.height * lineShare);
    if (isWide || isTall) {
      if (isWide && scrolling.includes(overflowX) && mayScroll(one)) return undefined;
      const isSaid = textOverflow === "ellipsis" &&
        one.closest("[title], a, summary, button") !== null;
      return isSaid ? undefined : one;
    }
    // What is scrolled down is cut by nobody.
    if (scrolling.includes(overflowX) || scrolling.includes(overflowY)) return undefined;
  }
  return undefined;
}

/* The box that has to hold a line, unless something between them scrolls or cuts. */
function holderOf(element) {
  for (let one = element; one !== null; one = one.parentElement) {
    if (styleOf(one).overflowX !== "visible") return null;
    if (one.matches(holders)) return one;
  }
  return null;
}

function textProblems(lines) {
  const problems = [];
  const cutBy = new Map();
  for (const line of lines) {
    const { element, box, text } = line;
    const cut = cutOf(line);
    if (cut !== undefined) cutBy.set(cut, [...cutBy.get(cut) ?? [], text]);
    const holder = cut === undefined ? holderOf(element) : null;
    if (holder === null) continue;
    const frame = boxOf(holder);
    const isOut = box.right > frame.right + tolerance || box.left < frame.left - tolerance;
    if (isOut) problems.push(`“${text}” runs out of ${nameOf(holder)}`);
  }
  for (const [cut, texts] of cutBy) {
    const more = texts.length === 1 ? "" : ` and ${texts.length - 1} more texts`;
    problems.push(`“${texts[0]}”${more} cut by ${nameOf(cut)}`);
  }
  return problems;
}

function overlapProblems(lines) {
  const problems = [];
  const sorted = [...lines].sort((one, other) => one.seen.top - other.seen.top);
  for (const [at, one] of sorted.entries()) {
    for (let next = at + 1; next < sorted.length; next++) {
      const other = sorted[next];
      if (other.seen.top >= one.seen.bottom) break;
      if (one.node === other.node || one.layer !== other.layer) continue;
      const wide = Math.min(one.seen.right, other.seen.right) -
        Math.max(one.seen.left, other.seen.left);
      const tall = Math.min(one.seen.bottom, other.seen.bottom) - other.seen.top;
      const line = Math.min(one.box.height, other.box.height);
      if (wide > tolerance * 2 && tall > line * lineShare) {
        problems.push(`“${one.text}” and “${other.text}” overlap`);
      }
    }
  }
  return problems;
}

/* Controls that a bar covers where no scrolling helps: at either end of the page, or because they stay in place. */
function coveredProblems() {
  const problems = new Set();
  const layers = new Map();
  const controls = [
    ...document.querySelectorAll("main :is(a, button, input, select, textarea, summary)"),
  ]
    .filter((one) => one.checkVisibility(shown) && !isHidden(one));
  const coverOf = (control) => {
    const box = control.getBoundingClientRect();
    const x = box.left + box.width / 2;
    const y = box.top + box.height / 2;
    if (x < 0 || x > innerWidth || y < 0 || y > innerHeight) return null;
    // What a list of its own scrolls away is under no bar.
    const seen = seenOf(control, box);
    if (y < seen.top || y > seen.bottom) return null;
    return document.elementFromPoint(x, y)?.closest(bars) ?? null;
  };
  const say = (control, cover) =>
    problems.add(
      `${nameOf(control)} “${control.textContent.trim().slice(0, 30)}” lies under ${nameOf(cover)}`,
    );
  const scroll = (y) => {
    scrollTo(0, y);
    boxes = new Map();
  };
  scroll(0);
  for (const control of controls) {
    const cover = coverOf(control);
    if (cover === null) continue;
    const stays = ["fixed", "sticky"].includes(
      styleOf(layerOf(control, layers) ?? document.body).position,
    );
    if (stays || cover.localName === "header") say(control, cover);
  }
  scroll(document.documentElement.scrollHeight);
  for (const control of controls) {
    const cover = coverOf(control);
    if (cover !== null && cover.localName !== "header") say(control, cover);
  }
  scroll(0);
  return [...problems];
}

/* Buttons that do nothing: without a form, a target or a listener, and links of buttons to what is in view anyway. */
function idleProblems(scripts) {
  const isHeard = (button) =>
    [...button.attributes].some(({ name }) =>
      name.startsWith("data-") &&
      (scripts.includes(name) ||
        scripts.includes(
          `dataset.${name.slice(5).replace(/-(\w)/g, (_, one) => one.toUpperCase())}`,
        ))
    ) ||
    // The playground names its parts without its own name.
    (button.id !== "" &&
      (scripts.includes(button.id) ||
        scripts.includes(`byId("${button.id.split("-").at(-1)}")`))) ||
    [...button.classList].some((one) => scripts.includes(`.${one}`));
  const buttons = [...document.querySelectorAll("button")].filter((button) =>
    button.checkVisibility(shown) && !(button.type === "submit" && button.form !== null) &&
    !button.hasAttribute("popovertarget") && !button.hasAttribute("commandfor") && !isHeard(button)
  );
  const links = [...document.querySelectorAll('a.button[href^="#"]')].filter((link) => {
    const target = document.getElementById(link.hash.slice(1));
    if (target === null || !link.checkVisibility(shown) || !target.checkVisibility(shown)) {
      return false;
    }
    const box = target.getBoundingClientRect();
    return target.localName !== "dialog" && box.top >= 0 && box.bottom <= innerHeight &&
      link.getBoundingClientRect().bottom <= innerHeight;
  });
  return [...buttons, ...links].map((one) =>
    `${nameOf(one)} “${one.textContent.trim()}” does nothing`
  );
}

/** Lists what is wrong; `scripts`: the sources of the page's scripts. */
globalThis.boxProblems = (scripts) => {
  scrollTo(0, 0);
  boxes = new Map();
  styles = new Map();
  const root = document.documentElement;
  const wide = root.scrollWidth - root.clientWidth;
  const lines = textLines().filter(({ element }) => !isHidden(element));
  return [
    ...wide > 0 ? [`the page is ${wide} px wider than the screen`] : [],
    ...textProblems(lines),
    ...overlapProblems(lines),
    ...coveredProblems(),
    ...idleProblems(scripts),
  ];
};
