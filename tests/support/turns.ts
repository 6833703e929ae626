/** Turns of the event loop: what is ready to run does so, and no time is waited for. */

/** Resolves once everything that was ready has run, also what the network and the store had to deliver by then. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Passes so many turns: for work that is itself a chain of turns, or to show that something does not happen. */
export async function passTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn();
}
