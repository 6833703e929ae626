/** What a worker learns from the others, through the owner. */
import type { Gateway } from "../../api/gateway/gateway.ts";
import type { OthersServices, Seat } from "./seat.ts";

/** The other workers of one, as they are now. */
export type Others = () => readonly Seat[];

/** What each of the others says; one that ends meanwhile says nothing. */
async function answersOf<Answer>(
  others: Others,
  ask: (seat: Seat) => Promise<Answer>,
): Promise<Answer[]> {
  const answers = await Promise.allSettled(others().map(ask));
  return answers.flatMap((answer) => answer.status === "fulfilled" ? [answer.value] : []);
}

/** Makes the services for one worker. */
export function servicesOfOthers(
  others: Others,
  { router, metrics }: {
    /** The owner's, which judges routes by the evidence of all, renews tokens and polls videos. */
    readonly router: Gateway["router"];
    readonly metrics: () => Promise<string>;
  },
): OthersServices {
  return {
    share(states) {
      for (const { link } of others()) link.note("adopt", states);
      router.adopt(states);
    },
    shared: () => router.shared(),
    tokenFor: (wanted) => router.tokenFor(wanted),
    shareAffinities(entries) {
      for (const { link } of others()) link.note("adoptAffinities", entries);
    },
    metrics,
    async replayed(id) {
      const answers = await answersOf(others, ({ link }) => link.call("replayed", id));
      return answers.find((answer) => answer !== undefined);
    },
    finished: async (id) =>
      (await answersOf(others, ({ link }) => link.call("finished", id))).includes(true),
    items: async (wanted) =>
      (await answersOf(others, ({ link }) => link.call("items", wanted))).flat(),
  };
}
