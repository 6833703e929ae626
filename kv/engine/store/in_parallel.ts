/** Runs reads side by side, so that a far store is not waited for one round trip at a time. */

/** Reads under way at once: enough to hide a round trip, few beside those of calls. */
const readsAtOnce = 32;

/** Runs a task for each item, a bounded number at once. The first failure ends it. */
export async function inParallel<Item>(
  items: Iterable<Item>,
  task: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  let failed = false;
  const worker = async () => {
    try {
      for (let next = rest.next(); !next.done && !failed; next = rest.next()) {
        await task(next.value);
      }
    } catch (error) {
      failed = true;
      throw error;
    }
  };
  await Promise.all(Array.from({ length: readsAtOnce }, worker));
}

/** Divides items into groups of at most `size`. */
export function groupsOf<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from(
    { length: Math.ceil(items.length / size) },
    (_, at) => items.slice(at * size, (at + 1) * size),
  );
}

/** Items of a sequence that are gathered before tasks take them: some megabytes. */
const itemsAtOnce = 1_000;

/** Divides a sequence into groups of at most `size`, and runs a task for each, a bounded number at once. */
export async function eachGroup<Item>(
  items: AsyncIterable<Item>,
  size: number,
  task: (group: readonly Item[]) => Promise<void>,
): Promise<void> {
  let gathered: Item[] = [];
  const run = async () => {
    const groups = groupsOf(gathered, size);
    gathered = [];
    await inParallel(groups, task);
  };
  for await (const item of items) {
    gathered.push(item);
    if (gathered.length >= itemsAtOnce) await run();
  }
  await run();
}
