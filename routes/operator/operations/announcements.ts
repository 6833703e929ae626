/** Operations on what customers are told of incidents and planned maintenance. */
import { z } from "zod";
import { parseId } from "../../../core/lib/ids/ids.ts";
import {
  type Announcement,
  announcementKinds,
  listAnnouncements,
  maxAnnouncementTextChars,
  maxAnnouncementTitleChars,
  publishAnnouncement,
  updateAnnouncement,
} from "../../../kv/people/operators/announcements.ts";
import { effectiveMomentForm, effectiveMomentMs } from "./contract/editing.ts";
import { operation, refused, refusedAs } from "./contract/operation.ts";
import { lineText, proseText } from "./contract/texts.ts";

const announcementRow = z.object({
  id: z.string(),
  kind: z.enum(announcementKinds),
  title: z.string(),
  startsAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable().describe("null: it is not over."),
  updates: z.array(z.object({ at: z.iso.datetime(), text: z.string() })).describe("Oldest first."),
});

function rowOf({ id, kind, title, startsAtMs, endedAtMs, updates }: Announcement) {
  return {
    id,
    kind,
    title,
    startsAt: new Date(startsAtMs).toISOString(),
    endedAt: endedAtMs === undefined ? null : new Date(endedAtMs).toISOString(),
    updates: updates.map(({ atMs, text }) => ({ at: new Date(atMs).toISOString(), text })),
  };
}

const text = proseText(maxAnnouncementTextChars);

/** Lists announcements. */
export const latestAnnouncements = operation({
  name: "announcements.list",
  summary: "The latest 20 announcements, newest first",
  effect: "reads",
  input: z.strictObject({}),
  output: z.object({ object: z.literal("list"), data: z.array(announcementRow) }),
  async run({ kv }) {
    const data = (await listAnnouncements(kv)).map(rowOf);
    return { ok: true, body: { object: "list" as const, data } };
  },
});

/** Publishes an announcement. */
export const announce = operation({
  name: "announcements.publish",
  summary: "Publishes an announcement, which all customers see until it ends",
  effect: "acts",
  input: z.strictObject({
    kind: z.enum(announcementKinds),
    title: lineText(maxAnnouncementTitleChars),
    text,
    startsAt: z.string().optional().describe("A time with its zone; absent: now."),
  }),
  output: announcementRow,
  async run({ kv, hintMail }, { kind, title, text, startsAt }, act) {
    const startsAtMs = startsAt === undefined ? act.nowMs : effectiveMomentMs(startsAt, act.nowMs);
    if (startsAtMs === undefined) {
      return refused("startsAt", "invalid_request", `startsAt: ${effectiveMomentForm}`, "startsAt");
    }
    const made = await publishAnnouncement(kv, { kind, title, text, startsAtMs }, act);
    hintMail?.();
    return { ok: true, body: rowOf(made) };
  },
});

const refusals = {
  full: "it has too many updates; end it, and publish another one",
  conflict: "others kept changing it; look again",
} as const;

/** Adds an update to an announcement, which may end it. */
export const addAnnouncementUpdate = operation({
  name: "announcements.update",
  summary: "Adds an update to an announcement, or ends it with one",
  effect: "acts",
  input: z.strictObject({ announcement: z.string(), text, ends: z.boolean().default(false) }),
  output: announcementRow,
  async run({ kv, hintMail }, { announcement, ...update }, act) {
    const id = parseId("announcement", announcement);
    const result = id === undefined ? "missing" : await updateAnnouncement(kv, id, update, act);
    if (typeof result !== "string") {
      hintMail?.();
      return { ok: true, body: rowOf(result) };
    }
    return result === "missing"
      ? refused(result, "not_found", `There is no such announcement: ${announcement}`)
      : refusedAs(result, refusals);
  },
});
