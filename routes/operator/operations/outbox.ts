/** Operations on the outbox: mails, webhooks and polls of videos that were given up. */
import { z } from "zod";
import { defined } from "../../../core/lib/base/defined.ts";
import type { AtomicWrite } from "../../../kv/engine/store/key_value_store.ts";
import { mailQueue, type OutboxQueue } from "../../../kv/engine/outbox/outbox.ts";
import {
  type DeadLetter,
  forgetDeadLetter,
  listDeadLetters,
  reviveDeadLetter,
} from "../../../kv/engine/outbox/outbox_dead_letters.ts";
import { incidentQueue } from "../../../kv/people/operators/announcements.ts";
import { addAuditLine, type OperatorAct } from "../../../kv/people/audit/operator_audit.ts";
import { pendingCleanupQueue } from "../../../kv/people/deletion/pending_cleanup.ts";
import { webhookDeliveries } from "../../../kv/people/webhooks/endpoint_queues.ts";
import { webhookEvents } from "../../../kv/people/webhooks/events.ts";
import { videoPolls } from "../../../kv/services/videos/mod.ts";
import {
  operation,
  type OperationAct,
  type Refused,
  refused,
  refusedAs,
} from "./contract/operation.ts";

/** The queues whose dead letters operators handle. */
const outboxQueues: readonly OutboxQueue<unknown>[] = [
  mailQueue,
  incidentQueue,
  videoPolls,
  webhookEvents,
  webhookDeliveries,
  pendingCleanupQueue,
];

/** Dead letters of each queue in the list; reviving or deleting some makes room for the rest. */
const maxDeadLettersListed = 1_000;

/** Characters of the id of a letter; those of the gateway have fewer than a hundred. */
const maxLetterIdChars = 200;

/** Characters of a member of a payload that is shown: those of an address. */
const maxShownChars = 254;

const letterRow = z.object({
  letter: z.string().describe("Its queue and its id."),
  reason: z.string(),
  attempts: z.int(),
  createdAt: z.iso.datetime(),
  diedAt: z.iso.datetime(),
  payload: z.object({
    kind: z.string().optional().describe("Of a mail."),
    to: z.string().optional().describe("The receiver of a mail."),
    accountId: z.string().optional(),
    videoId: z.string().optional(),
  }).describe("What it is about. Nothing of what a mail says, and no secret."),
});

/** Picks the members that are shown: those of another version may be anything. */
function shownOf(payload: unknown): z.infer<typeof letterRow>["payload"] {
  const members: Readonly<Record<string, unknown>> = typeof payload === "object" && payload !== null
    ? { ...payload }
    : {};
  const text = (name: string) => {
    const value = members[name];
    return typeof value === "string" ? value.slice(0, maxShownChars) : undefined;
  };
  return defined({
    kind: text("kind"),
    to: text("to"),
    accountId: text("accountId"),
    videoId: text("videoId"),
  });
}

function rowOf(queue: string, letter: DeadLetter) {
  const { id, reason, attempts, createdAtMs, diedAtMs, payload } = letter;
  return {
    letter: `${queue}:${id}`,
    reason,
    attempts,
    createdAt: new Date(createdAtMs).toISOString(),
    diedAt: new Date(diedAtMs).toISOString(),
    payload: shownOf(payload),
  };
}

/** Lists dead letters. */
export const listLetters = operation({
  name: "outbox.list",
  summary: "Mails, webhooks and polls of videos that were given up, at most 1,000 of each",
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

interface LetterName {
  readonly ok: true;
  readonly queue: OutboxQueue<unknown>;
  readonly id: string;
}

/** Reads the name of a dead letter, such as `mail:ID`. */
function letterOf(text: string): LetterName | Refused<"name"> {
  const [name, ...rest] = text.split(":");
  const queue = outboxQueues.find((one) => one.name === name);
  const id = rest.join(":");
  if (queue !== undefined && id !== "" && id.length <= maxLetterIdChars) {
    return { ok: true, queue, id };
  }
  const names = outboxQueues.map((one) => `${one.name}:ID`).join(" or ");
  return refused("name", "invalid_request", `Not a dead letter: ${text} (${names})`, "letter");
}

/** Returns what adds the audit line of an act on a letter: its name, and why it was given up. */
function lineOf(act: OperatorAct, letter: string, { operator, nowMs: atMs }: OperationAct) {
  return (commit: AtomicWrite, { reason }: { readonly reason: string }) =>
    addAuditLine(commit, operator, { act, subject: letter, detail: reason, atMs });
}

const refusals = {
  missing: "there is no such letter",
  unreadable: "it cannot be read and would die again; it can only be forgotten",
  busy: "it has just changed; look again",
} as const;

/** Puts a letter back into its queue. */
export const reviveLetter = operation({
  name: "outbox.revive",
  summary: "Tries what was given up again, at once and with all its attempts",
  effect: "acts",
  input: z.strictObject({ letter: z.string() }),
  output: z.object({ letter: z.string(), revived: z.literal(true) }),
  async run({ kv, hintMail }, { letter }, act) {
    const named = letterOf(letter);
    if (!named.ok) return named;
    const { queue, id } = named;
    const attach = lineOf("letter_revived", letter, act);
    const outcome = await reviveDeadLetter(kv, queue, { id, nowMs: act.nowMs, attach });
    if (outcome !== "revived") return refusedAs(outcome, refusals);
    if (queue === mailQueue) hintMail?.();
    return { ok: true, body: { letter, revived: true as const } };
  },
});

/** Removes a letter. */
export const forgetLetter = operation({
  name: "outbox.forget",
  summary: "Removes what was given up; nobody can bring it back",
  effect: "acts",
  input: z.strictObject({ letter: z.string() }),
  output: z.object({ letter: z.string(), forgotten: z.literal(true) }),
  async run({ kv }, { letter }, act) {
    const named = letterOf(letter);
    if (!named.ok) return named;
    const attach = lineOf("letter_forgotten", letter, act);
    const outcome = await forgetDeadLetter(kv, named.queue, { id: named.id, attach });
    if (outcome !== "forgotten") return refusedAs(outcome, refusals);
    return { ok: true, body: { letter, forgotten: true as const } };
  },
});
