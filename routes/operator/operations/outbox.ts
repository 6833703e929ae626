/** Operations on the outbox: mails and polls of videos that were given up. */
import { z } from "zod";
import { inVnd } from "../../../core/billing/money/micro_vnd.ts";
import {
  mailQueue,
  type OutboxQueue,
  withoutSignUpSecrets,
} from "../../../kv/engine/outbox/outbox.ts";
import { type DeadLetter, listDeadLetters } from "../../../kv/engine/outbox/outbox_dead_letters.ts";
import { videoPolls } from "../../../kv/services/videos/mod.ts";
import { operation } from "./contract/operation.ts";

/** The queues whose dead letters operators handle. */
export const outboxQueues: readonly OutboxQueue<unknown>[] = [mailQueue, videoPolls];

/** Dead letters of each queue in the list; reviving or deleting some makes room for the rest. */
const maxDeadLettersListed = 1_000;

const letterRow = z.object({
  letter: z.string().describe("Its queue and its id."),
  reason: z.string(),
  attempts: z.int(),
  createdAt: z.iso.datetime(),
  diedAt: z.iso.datetime(),
  payload: z.unknown().describe("Of a mail its kind and its receiver; never a secret."),
});

function rowOf(queue: string, letter: DeadLetter) {
  const { id, reason, attempts, createdAtMs, diedAtMs, payload } = letter;
  return {
    letter: `${queue}:${id}`,
    reason,
    attempts,
    createdAt: new Date(createdAtMs).toISOString(),
    diedAt: new Date(diedAtMs).toISOString(),
    payload: inVnd(withoutSignUpSecrets(payload)),
  };
}

/** Lists dead letters. */
export const listLetters = operation({
  name: "outbox.list",
  summary: "Mails and polls of videos that were given up, at most 1,000 of each",
  effect: "reads",
  input: z.strictObject({}),
  output: z.object({ object: z.literal("list"), data: z.array(letterRow) }),
  async run({ kv }) {
    const data: ReturnType<typeof rowOf>[] = [];
    for (const queue of outboxQueues) {
      const letters = await listDeadLetters(kv, queue, maxDeadLettersListed);
      data.push(...letters.map((letter) => rowOf(queue.name, letter)));
    }
    return { ok: true, body: { object: "list" as const, data } };
  },
});
