/** Keeps who gets mails about incidents, and queues these mails: some subscribers in each commit, each of them once. */
import type { Locale } from "../../../core/lib/base/locale.ts";
import type { MailJob } from "../../../core/people/mail/mail.ts";
import { subscriberHash } from "../../../core/people/mail/switch_off.ts";
import {
  addressHashOf,
  statusSubscriberKey,
  statusSubscribersAfter,
  statusSubscribersPrefix,
} from "../../engine/schema/keys.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import type { OutboxWork, OutboxWorld } from "../../engine/outbox/outbox_worker.ts";
import { finishClaim, type OutboxClaim, postponeClaim } from "../../engine/outbox/outbox_claims.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import {
  type Announcement,
  getAnnouncement,
  type IncidentMails,
  incidentQueue,
} from "./announcements.ts";

/** Subscribers of one commit: a mail of each has some 3 KB at most, and a commit takes 800 KB. */
const mailsPerCommit = 100;

/** Somebody who has confirmed that they want mails about incidents. */
export interface StatusSubscriber {
  readonly email: string;
  readonly locale: Locale;
  readonly confirmedAtMs: number;
}

/** Subscribes an address whose owner has confirmed it. Again: the language is that of the last time. */
export async function subscribe(kv: KeyValueStore, subscriber: StatusSubscriber): Promise<void> {
  await kv.set(statusSubscriberKey(await subscriberHash(subscriber.email)), subscriber);
}

/** Ends a subscription, if there is one. */
export async function unsubscribe(kv: KeyValueStore, addressHash: string): Promise<void> {
  await kv.delete(statusSubscriberKey(addressHash));
}

/** Whether an address is subscribed. */
export async function isSubscribed(kv: KeyValueStore, email: string): Promise<boolean> {
  return (await kv.get(statusSubscriberKey(await subscriberHash(email)))).value !== null;
}

function jobOf(
  { id, title, updates }: Announcement,
  phase: IncidentMails["phase"],
  { email, locale }: StatusSubscriber,
): MailJob {
  const text = (phase === "opened" ? updates[0] : updates.at(-1))?.text ?? "";
  const kind = phase === "opened" ? "incident_opened" : "incident_resolved";
  return { kind, to: email, locale, announcementId: id, title, text };
}

/** Queues the mails of one part of the subscribers, and itself for the next part, in one commit. */
async function queuePart(
  { kv, clock }: Pick<OutboxWorld, "kv" | "clock">,
  claim: OutboxClaim<IncidentMails>,
): Promise<"settled"> {
  const { announcementId, phase, after } = claim.payload;
  const nowMs = clock.nowMs();
  const operation = kv.atomic();
  const announcement = await getAnnouncement(kv, announcementId);
  const selector = after === undefined
    ? { prefix: statusSubscribersPrefix() }
    : statusSubscribersAfter(after);
  const part = announcement === undefined ? [] : await Array.fromAsync(
    kv.list<StatusSubscriber>(selector, { limit: mailsPerCommit }),
  );
  if (announcement !== undefined) {
    for (const { key, value } of part) {
      const id = `${announcementId}:${phase}:${addressHashOf(key)}`;
      addMail(operation, jobOf(announcement, phase, value), { nowMs, id });
    }
  }
  const last = part.at(-1);
  if (last === undefined || part.length < mailsPerCommit) {
    finishClaim(operation, incidentQueue, claim);
  } else {
    const payload = { announcementId, phase, after: addressHashOf(last.key) };
    postponeClaim(operation, incidentQueue, claim, { dueAtMs: nowMs, payload });
  }
  await operation.commit();
  return "settled";
}

/** The consumer of {@linkcode incidentQueue}. */
export function incidentWork(
  world: Pick<OutboxWorld, "kv" | "clock">,
  hintMail: () => void,
): OutboxWork<IncidentMails> {
  return {
    queue: incidentQueue,
    lanes: 1,
    async handle(claim) {
      const outcome = await queuePart(world, claim);
      hintMail();
      return outcome;
    },
  };
}
