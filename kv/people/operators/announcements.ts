/** Stores what operators tell customers: incidents and planned maintenance, with their updates. Each act has its audit line. */
import { type AnnouncementId, newId } from "../../../core/lib/ids/ids.ts";
import { z } from "zod";
import { minuteMs } from "../../../core/lib/time/durations.ts";
import { addToOutbox, type OutboxQueue } from "../../engine/outbox/outbox.ts";
import { announcementKey, announcementsPrefix } from "../../engine/schema/keys.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { addServiceEvent } from "../webhooks/events.ts";
import { type Actor, addAuditLine } from "../audit/operator_audit.ts";

/** Characters of a title: one line of a page. */
export const maxAnnouncementTitleChars = 120;

/** Characters of an update: a few paragraphs. */
export const maxAnnouncementTextChars = 2_000;

/** Updates of one announcement, but for the one that ends it; a day of trouble has a dozen. */
const maxUpdates = 50;

/** Characters of all updates, but for the one that ends it: with that one, two thirds of what a row takes. */
const maxAllTextChars = 20_000;

/** Announcements that pages read: more are of no interest to anybody. */
const readAnnouncements = 20;

/** Attempts of a check-and-set: only operators compete. */
const writeAttempts = 10;

/** Work for the mails about an incident: the subscribers behind `after` get one. */
export interface IncidentMails {
  readonly announcementId: AnnouncementId;
  readonly phase: "opened" | "resolved";
  /** The hash of the address of the last subscriber whose mail is queued. */
  readonly after?: string | undefined;
}

const incidentMails = z.object({
  announcementId: z.custom<AnnouncementId>((id) => typeof id === "string" && id.startsWith("ann_")),
  phase: z.enum(["opened", "resolved"]),
  after: z.string().optional(),
});

/** The queue of incidents whose mails are to be queued, a part of the subscribers at a time. */
export const incidentQueue: OutboxQueue<IncidentMails> = {
  name: "incident_mails",
  parse: (stored) => incidentMails.parse(stored),
  claimMs: minuteMs,
  maxAttempts: 8,
  backoffMs: [5_000, 30_000, 2 * minuteMs, 10 * minuteMs],
};

/** Adds what the begin or end of an incident leads to: mails to subscribers, and webhooks. */
function reportIncident(
  operation: AtomicWrite,
  { id, title, startsAtMs, updates }: Announcement,
  phase: IncidentMails["phase"],
  nowMs: number,
): void {
  const payload = { announcementId: id, phase };
  addToOutbox(operation, incidentQueue, { id: `${id}:${phase}`, payload, nowMs });
  const told = {
    incident_id: id,
    title,
    text: updates.at(-1)?.text ?? "",
    started_at: new Date(startsAtMs).toISOString(),
  };
  addServiceEvent(
    operation,
    phase === "opened" ? { type: "incident.opened", data: told } : {
      type: "incident.ended",
      data: { ...told, ended_at: new Date(nowMs).toISOString() },
    },
    nowMs,
  );
}

/** Kinds of announcements. */
export const announcementKinds = ["incident", "maintenance"] as const;

/** One announcement. */
export interface Announcement {
  readonly id: AnnouncementId;
  readonly kind: typeof announcementKinds[number];
  readonly title: string;
  /** Of planned maintenance, in the future at first. */
  readonly startsAtMs: number;
  /** Absent: it is not over. */
  readonly endedAtMs?: number;
  /** The oldest first; at least one. */
  readonly updates: readonly { readonly atMs: number; readonly text: string }[];
}

/** Actor and time of an act. */
export interface AnnouncementAct {
  readonly operator: Actor;
  readonly nowMs: number;
}

/** Publishes an announcement. */
export async function publishAnnouncement(
  kv: KeyValueStore,
  { kind, title, startsAtMs, text }:
    & Pick<Announcement, "kind" | "title" | "startsAtMs">
    & { readonly text: string },
  { operator, nowMs }: AnnouncementAct,
): Promise<Announcement> {
  const announcement: Announcement = {
    id: newId("announcement", nowMs),
    kind,
    title: title.slice(0, maxAnnouncementTitleChars),
    startsAtMs,
    updates: [{ atMs: nowMs, text: text.slice(0, maxAnnouncementTextChars) }],
  };
  const operation = kv.atomic().set(announcementKey(announcement.id), announcement);
  addAuditLine(operation, operator, {
    act: "announcement_published",
    subject: announcement.id,
    detail: `${kind}: ${announcement.title}`,
    atMs: nowMs,
  });
  if (kind === "incident") reportIncident(operation, announcement, "opened", nowMs);
  await operation.commit();
  return announcement;
}

/**
 * Adds an update, and ends the announcement if `ends`. One that is not over can always be ended.
 *
 * @returns `missing` if there is none, `full` if it has no room for another update; `conflict` if others kept changing
 * it
 */
export async function updateAnnouncement(
  kv: KeyValueStore,
  id: AnnouncementId,
  { text, ends }: { readonly text: string; readonly ends: boolean },
  { operator, nowMs }: AnnouncementAct,
): Promise<Announcement | "missing" | "full" | "conflict"> {
  type Result = Announcement | "missing" | "full";
  const outcome = await compareAndSet<Result>(async () => {
    const entry = await kv.get<Announcement>(announcementKey(id));
    const { value } = entry;
    if (value === null) return { done: "missing" };
    const isEnd = ends && value.endedAtMs === undefined;
    const update = { atMs: nowMs, text: text.slice(0, maxAnnouncementTextChars) };
    if (!isEnd && !hasRoomFor(update.text, value)) return { done: "full" };
    const changed: Announcement = {
      ...value,
      updates: [...value.updates, update],
      ...(isEnd && { endedAtMs: nowMs }),
    };
    const operation = kv.atomic().check(entry).set(entry.key, changed);
    addAuditLine(operation, operator, {
      act: "announcement_updated",
      subject: id,
      detail: `${isEnd ? "ended: " : ""}${update.text}`,
      atMs: nowMs,
    });
    if (isEnd && value.kind === "incident") reportIncident(operation, changed, "resolved", nowMs);
    return (await operation.commit()).ok ? { done: changed } : "again";
  }, { attempts: writeAttempts });
  return outcome === "conflict" ? outcome : outcome.done;
}

function hasRoomFor(text: string, { updates }: Announcement): boolean {
  const chars = updates.reduce((sum, update) => sum + update.text.length, text.length);
  return updates.length < maxUpdates && chars <= maxAllTextChars;
}

/** Reads an announcement. */
export async function getAnnouncement(
  kv: KeyValueStore,
  id: AnnouncementId,
): Promise<Announcement | undefined> {
  return (await kv.get<Announcement>(announcementKey(id))).value ?? undefined;
}

/** Lists the latest announcements, newest first. */
export async function listAnnouncements(kv: KeyValueStore): Promise<readonly Announcement[]> {
  const rows = kv.list<Announcement>(
    { prefix: announcementsPrefix() },
    { limit: readAnnouncements, reverse: true },
  );
  return (await Array.fromAsync(rows)).map(({ value }) => value);
}
