/** Gathers what may arrive a moment later, to pass it to the owner in one message: one for each would cost as much as its call. */

/** Milliseconds for which items are gathered. */
const gatherMs = 25;

/** Items that are passed on without waiting longer: some 100 KB of log lines. */
const mostItems = 200;

/** Items on their way to the owner. */
export class Gathered<Item> {
  readonly #pass: (items: Item[]) => void;
  #items: Item[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param pass gets at least one item */
  constructor(pass: (items: Item[]) => void) {
    this.#pass = pass;
  }

  readonly add = (item: Item): void => {
    if (this.#items.push(item) >= mostItems) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), gatherMs);
  };

  /** Passes on what has been gathered. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const items = this.#items;
    if (items.length === 0) return;
    this.#items = [];
    this.#pass(items);
  }
}
