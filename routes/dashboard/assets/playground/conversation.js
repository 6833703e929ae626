/* The turns of the page. They are kept in memory only: whoever loads the page again begins anew. */
import { askForResults, chatRequest, runChat } from "./chat.js";
import { actionButton, copyButton, element } from "./dom.js";
import { mediaRequest, runMedia } from "./media.js";
import { thumbnail } from "./pictures.js";
import { ReplyPlace } from "./reply.js";

/** The conversation: its turns, and the calls that run. */
export class Conversation {
  #page;
  #list;
  #start;
  #events;
  #turns = [];
  #running = new Set();

  /**
   * `events.changed` is called when calls begin or end, `events.edit` with the message to write again. `settings`
   * reads the form.
   */
  constructor(page, list, events) {
    this.#page = page;
    this.#list = list;
    this.#start = [...list.children];
    this.#events = events;
  }

  get isBusy() {
    return this.#running.size > 0;
  }

  get turns() {
    return this.#turns;
  }

  /** Ends all running calls. */
  stop() {
    for (const controller of this.#running) controller.abort();
  }

  /** Forgets everything. */
  clear() {
    this.stop();
    this.#turns = [];
    this.#list.replaceChildren(...this.#start);
    this.#events.changed();
  }

  /** Adds a turn and asks the chosen models. */
  send(user) {
    const turn = { user, replies: [] };
    this.#add(turn, userPlace(this.#page, user, () => this.#edit(turn)));
    for (const column of this.#events.settings().models.keys()) this.#ask(turn, column);
  }

  #add(turn, said) {
    if (this.#turns.length === 0) this.#list.replaceChildren();
    turn.node = element(
      "article",
      { className: "turn" },
      said,
      turn.answers = element("div", { className: "replies" }),
    );
    this.#turns.push(turn);
    this.#list.append(turn.node);
    turn.node.scrollIntoView({ block: "nearest" });
  }

  /* Turns after a turn that is asked again answered something else: they are dropped. */
  #dropAfter(turn, isKept) {
    const at = this.#turns.indexOf(turn) + (isKept ? 1 : 0);
    for (const { node } of this.#turns.splice(at)) node.remove();
    if (this.#turns.length === 0) this.#list.replaceChildren(...this.#start);
  }

  #edit(turn) {
    this.stop();
    this.#dropAfter(turn, false);
    this.#events.edit(turn.user);
  }

  #retry(turn, column) {
    this.#dropAfter(turn, true);
    turn.replies[column] = undefined;
    this.#ask(turn, column);
  }

  async #ask(turn, column) {
    const { models, keyId, ...settings } = this.#events.settings();
    const model = models[column] ?? models[0];
    const turns = this.#turns.slice(0, this.#turns.indexOf(turn) + 1);
    const request = model.kind === "chat"
      ? chatRequest(model, settings, turns, column)
      : mediaRequest(model, settings, turn.user.text);
    const reply = { text: "", reasoning: "", calls: [] };
    const place = new ReplyPlace(this.#page, model);
    const former = turn.answers.children[turn.column === undefined ? column : 0];
    if (former === undefined) turn.answers.append(place.node);
    else former.replaceWith(place.node);
    turn.replies[column] = reply;
    const controller = new AbortController();
    this.#running.add(controller);
    this.#events.changed();
    const call = { model, request, keyId, signal: controller.signal };
    const run = model.kind === "chat"
      ? runChat(this.#page, call, reply, place)
      : runMedia(this.#page, call, place);
    await run;
    this.#running.delete(controller);
    this.#offer(turn, column, reply, place);
    this.#events.changed();
  }

  #offer(turn, column, reply, place) {
    const { texts } = this.#page;
    const copy = reply.text === "" ? [] : [copyButton(reply.text, texts)];
    place.offer(actionButton(texts.retry, () => this.#retry(turn, column)), ...copy);
    if (reply.calls.length === 0) return;
    askForResults(this.#page, place, reply, (results) => {
      const next = { user: turn.user, results, column, replies: [] };
      this.#dropAfter(turn, true);
      this.#add(next, resultsPlace(this.#page, results));
      this.#ask(next, column);
    });
  }
}

function userPlace(page, { text, pictures }, edit) {
  return element(
    "div",
    { className: "said" },
    element("div", { className: "plain-text", textContent: text }),
    pictures.length === 0 ? undefined : element(
      "div",
      { className: "thumbs" },
      ...pictures.map((src, at) => thumbnail(page, src, at)),
    ),
    actionButton(page.texts.edit, edit),
  );
}

function resultsPlace({ texts }, results) {
  return element(
    "div",
    { className: "said" },
    ...results.map(({ name, text }) =>
      element(
        "div",
        { className: "plain-text" },
        element("strong", { textContent: `${texts.toolResult.replace("{name}", name)}: ` }),
        text,
      )
    ),
  );
}
