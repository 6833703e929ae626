/* The place of one answer: its body, its figures while it runs and afterwards, and the acts on it. */
import { readFigures } from "./api.js";
import { element, filled } from "./dom.js";
import { count, money, tagOf } from "./estimate.js";
import { durationText } from "../scripts/figures.js";

/* Milliseconds between two paintings of an answer: fast to the eye, and cheap for long answers. */
const paintEveryMs = 80;

/** Makes the place of an answer of a model. */
export class ReplyPlace {
  #page;
  #figures = element("p", { className: "figures" });
  #acts = element("p", { className: "reply-acts" });
  #startedAt = performance.now();
  #painting;
  #paint;

  constructor(page, model) {
    this.#page = page;
    this.body = element("div", { className: "markdown" });
    this.node = element(
      "div",
      { className: "reply" },
      element("h2", { textContent: model.name }),
      this.body,
      this.#figures,
      this.#acts,
    );
  }

  /** Shows what has come, at most every few milliseconds. `paint` returns the output tokens and the cost so far. */
  running(paint) {
    this.#paint = paint;
    this.#painting ??= setTimeout(() => {
      this.#painting = undefined;
      this.#paintNow();
    }, paintEveryMs);
  }

  #paintNow() {
    const { texts } = this.#page;
    const { output, cost } = this.#paint();
    this.#figures.textContent = [
      output > 0 ? filled(texts.tokensRunning, { out: count(this.#page, output) }) : undefined,
      cost > 0 ? filled(texts.costRunning, { cost: money(this.#page, cost) }) : undefined,
      durationText(performance.now() - this.#startedAt, tagOf(this.#page)),
    ].filter((text) => text !== undefined).join(" · ");
  }

  /** Paints the end of what has come, and then the figures of the receipt. */
  async ended(requestId) {
    clearTimeout(this.#painting);
    if (this.#paint !== undefined) this.#paintNow();
    const figures = requestId && await readFigures(requestId);
    if (!figures) return;
    const { texts } = this.#page;
    const tokens = figures.input === undefined
      ? []
      : [filled(texts.tokens, { in: figures.input, out: figures.output })];
    this.#figures.replaceChildren(
      [...tokens, figures.cost, figures.time, ""].join(" · "),
      element("a", { href: figures.receipt, textContent: texts.receipt }),
    );
  }

  /** Shows that a call without an answer was free, and where it is recorded. */
  failed(requestId) {
    clearTimeout(this.#painting);
    const { texts } = this.#page;
    const took = durationText(performance.now() - this.#startedAt, tagOf(this.#page));
    const receipt = requestId
      ? [
        " · ",
        element("a", { href: `/receipts/${requestId}`, textContent: texts.receipt }),
      ]
      : [];
    this.#figures.replaceChildren(`${texts.notCharged} · ${took}`, ...receipt);
  }

  /** Shows what went wrong, with what to do about it. */
  problem(problem) {
    const { text, action } = { text: problem.message, action: problem.action };
    const sentence = element("p", { textContent: `${text} ` });
    if (action !== undefined) {
      sentence.append(element("a", { href: action.href, textContent: action.label }));
    }
    this.body.append(
      element("div", { className: "notice danger", attributes: { role: "alert" } }, sentence),
    );
  }

  /** Shows a quiet remark. */
  remark(text) {
    this.body.append(element("p", { className: "muted", textContent: text }));
  }

  /** Offers acts on the answer: buttons. */
  offer(...buttons) {
    this.#acts.replaceChildren(...buttons);
  }
}
