/** Commands on dead letters: work of the outbox that was given up. */
import type { Hono } from "hono";
import type { Clock } from "../../../../core/lib/time/clock.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { OutboxQueue } from "../../../../kv/engine/outbox/outbox.ts";
import {
  forgetDeadLetter,
  reviveDeadLetter,
} from "../../../../kv/engine/outbox/outbox_dead_letters.ts";
import { outboxQueues } from "../../operations/outbox.ts";
import type { AdminDeps } from "./admin_deps.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { bankSources, isEventId } from "../../../../core/trade/bank/bank_notice.ts";
import type { BankNoticeRef } from "../../../../kv/money/payments/bank_notices.ts";
import { resolveBankNotice } from "../../../../kv/money/payments/bank_intake.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";

// Commands on bank notices. They do not credit: the operator's pages do, which ask twice.

/** Parses the name of a notice, such as `sepay:92704`. */
function noticeOf(text: string): BankNoticeRef {
  const [name, ...rest] = text.split(":");
  const source = bankSources.find((one) => one === name);
  const id = rest.join(":");
  if (source === undefined || !isEventId(id)) {
    throw new GatewayError("invalid_request", `Not a bank notice: ${text}`);
  }
  return { source, id };
}

const refusals = {
  missing: "there is no such notice",
  state: "it waits already, its money has been moved, or it never was money in",
  not_same: "it is another movement",
  busy: "it has just changed; try again",
} as const;

/** Adds `POST /notices/{source}:{id}/return`: puts a notice back under review, whatever was decided about it. */
export function addNoticeRoutes(
  app: Hono,
  { kv, clock, receivingAccounts }: Pick<AdminDeps, "kv" | "clock" | "receivingAccounts">,
): void {
  app.post("/notices/:notice/return", async (context) => {
    const notice = noticeOf(context.req.param("notice"));
    const result = await resolveBankNotice(kv, notice, { kind: "return" }, {
      operator: commandLine,
      nowMs: clock.nowMs(),
      receivingAccounts,
    });
    if (!result.ok) {
      throw new GatewayError("invalid_request", `It was not put back: ${refusals[result.why]}`);
    }
    return context.json(result.state);
  });
}

interface TemplateName {
  readonly queue: OutboxQueue<unknown>;
  readonly id: string;
}

/** Parses the name of a dead letter, such as `mail:ID`. */
function letterOf(text: string): TemplateName {
  const [name, ...rest] = text.split(":");
  const queue = outboxQueues.find((one) => one.name === name);
  const id = rest.join(":");
  if (queue === undefined || id === "") {
    const names = outboxQueues.map((one) => `${one.name}:ID`).join(" or ");
    throw new GatewayError("invalid_request", `Not a dead letter: ${text} (${names})`);
  }
  return { queue, id };
}

async function revive(kv: KeyValueStore, clock: Clock, { queue, id }: TemplateName): Promise<void> {
  const outcome = await reviveDeadLetter(kv, queue, { id, nowMs: clock.nowMs() });
  if (outcome === "revived") return;
  const why = {
    missing: "there is no such letter",
    unreadable: "it cannot be read and would die again; it can only be forgotten",
    busy: "it has just changed; look again",
  }[outcome];
  throw new GatewayError("invalid_request", `It was not revived: ${why}`);
}

/** Adds `/outbox/{letter}`: revives and deletes dead letters. */
export function addOutboxRoutes(app: Hono, { kv, clock }: Pick<AdminDeps, "kv" | "clock">): void {
  app.post("/outbox/:letter/revive", async (context) => {
    const name = context.req.param("letter");
    await revive(kv, clock, letterOf(name));
    return context.json({ letter: name, revived: true });
  });

  app.delete("/outbox/:letter", async (context) => {
    const name = context.req.param("letter");
    const { queue, id } = letterOf(name);
    if (!await forgetDeadLetter(kv, queue, id)) {
      throw new GatewayError("not_found", "There is no such letter");
    }
    return context.json({ letter: name, forgotten: true });
  });
}
