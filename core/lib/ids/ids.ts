/**
 * Branded identifiers: an account id cannot be passed where a key id is expected.
 *
 * All are made of `[a-z0-9_]`, so they are safe in a URL path, a header and a log line.
 *
 * - Folder `core/lib/ids/`: branded identifiers that sort by time.
 * - In: the kind of an id and a time, or text that may be an id.
 * - Out: new ids, checked ids, the time of an id.
 * - Never: takes text for an id of a kind without checking its form.
 */
declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** One customer: the owner of a wallet, keys and usage. `acc_…` */
export type AccountId = Branded<"AccountId">;
/** One API key of an account; not the secret itself. `key_…` */
export type ApiKeyId = Branded<"ApiKeyId">;
/** One call. `req_…`, ascending in time, so receipts written under it append to the store. */
export type RequestId = Branded<"RequestId">;
/** One running process that holds leases on wallets. `ins_…` */
export type InstanceId = Branded<"InstanceId">;
/** One movement of money into or out of a wallet that is not a call. `led_…`, ascending in time. */
export type LedgerId = Branded<"LedgerId">;
/** One video task, as the customer sees it. `video_…` */
export type VideoId = Branded<"VideoId">;
/** One request for a VAT invoice. `inv_…`, ascending in time. */
export type InvoiceId = Branded<"InvoiceId">;
/** One line of the operators' audit log. `aud_…`, ascending in time. */
export type AuditId = Branded<"AuditId">;
/** One line of the activity log of an account. `act_…`, ascending in time. */
export type ActivityId = Branded<"ActivityId">;
/** One action that waits for a second operator. `apr_…`, ascending in time. */
export type ApprovalId = Branded<"ApprovalId">;

/** One announcement to customers. `ann_…`, ascending in time. */
export type AnnouncementId = Branded<"AnnouncementId">;
/** One campaign, from which credit is given to accounts. `cmp_…`, ascending in time. */
export type CampaignId = Branded<"CampaignId">;
/** One voucher code; not the code itself. `vch_…` */
export type VoucherId = Branded<"VoucherId">;
/** One key of the management API; not the secret itself. `mky_…` */
export type ManagementKeyId = Branded<"ManagementKeyId">;
/** One team of an organisation. `team_…` */
export type TeamId = Branded<"TeamId">;
/** One endpoint of a customer that gets webhooks. `whe_…`, ascending in time. */
export type WebhookEndpointId = Branded<"WebhookEndpointId">;
/** One event that webhooks report; the same however often it is sent. `evt_…`, ascending in time. */
export type WebhookEventId = Branded<"WebhookEventId">;

const prefixes = {
  account: "acc_",
  apiKey: "key_",
  request: "req_",
  instance: "ins_",
  ledger: "led_",
  video: "video_",
  invoice: "inv_",
  audit: "aud_",
  activity: "act_",
  approval: "apr_",
  announcement: "ann_",
  campaign: "cmp_",
  voucher: "vch_",
  managementKey: "mky_",
  team: "team_",
  webhookEndpoint: "whe_",
  webhookEvent: "evt_",
} as const;

/** The branded type of each kind of id. */
interface IdTypes {
  account: AccountId;
  apiKey: ApiKeyId;
  request: RequestId;
  instance: InstanceId;
  ledger: LedgerId;
  video: VideoId;
  invoice: InvoiceId;
  audit: AuditId;
  activity: ActivityId;
  approval: ApprovalId;
  announcement: AnnouncementId;
  campaign: CampaignId;
  voucher: VoucherId;
  managementKey: ManagementKeyId;
  team: TeamId;
  webhookEndpoint: WebhookEndpointId;
  webhookEvent: WebhookEventId;
}

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz";
const timeLength = 9; // 36^9 ms reaches the year 5188
const counterLength = 4; // 36^4 ids of one process in one millisecond
const randomLength = 12; // 62 bits: two processes in the same millisecond do not meet

/**
 * Milliseconds by which a clock may step back and ids still ascend. One that steps back further was wrong before: ids
 * follow it, since lists of a day are found by the time in the id.
 */
const maxStepBackMs = 60_000;

/** Lines of the ledger stay in the order in which money moved, whatever the clock: each has the balance after it. */
const neverStepsBack: keyof IdTypes = "ledger";

/** The newest id of a kind. */
interface NewestId {
  atMs: number;
  counter: number;
}

/** Kinds apart: an id may be made for a moment in the past, such as that of a bank notice. */
const newest = new Map<keyof IdTypes, NewestId>();

const pool = new Uint8Array(randomLength * 128);
let poolAt = pool.length;

function randomTail(): string {
  if (poolAt >= pool.length) {
    crypto.getRandomValues(pool);
    poolAt = 0;
  }
  let tail = "";
  // 256 is not a multiple of 36: the bias costs under 0.1 bit of 62, and no id is a secret.
  for (let i = 0; i < randomLength; i++) tail += alphabet[pool[poolAt++]! % 36];
  return tail;
}

/**
 * Creates an id of the given kind.
 *
 * Ids of one kind and process are strictly ascending, even if the clock steps back by up to a minute:
 * receipts in ascending key order commit several times faster than scattered ones.
 *
 * @example
 * ```ts
 * import { newId } from "./ids.ts";
 * const first = newId("request", Date.now());
 * const second = newId("request", Date.now());
 * if (!(first < second)) throw new Error("not ascending");
 * ```
 */
export function newId<Kind extends keyof IdTypes>(kind: Kind, nowMs: number): IdTypes[Kind] {
  let last = newest.get(kind);
  if (last === undefined) {
    last = { atMs: nowMs, counter: 0 };
    newest.set(kind, last);
  } else if (nowMs > last.atMs || (nowMs < last.atMs - maxStepBackMs && kind !== neverStepsBack)) {
    last.atMs = nowMs;
    last.counter = 0;
  } else if (++last.counter >= 36 ** counterLength) {
    last.atMs++;
    last.counter = 0;
  }
  const time = timeText(last.atMs);
  const order = last.counter.toString(36).padStart(counterLength, "0");
  return `${prefixes[kind]}${time}${order}${randomTail()}` as IdTypes[Kind];
}

/**
 * Returns a text that sorts before all ids of this kind created at `atMs` or later.
 *
 * @example
 * ```ts
 * import { beforeIdsOf, newId } from "./ids.ts";
 * const atMs = Date.now();
 * if (!(beforeIdsOf("request", atMs) < newId("request", atMs))) throw new Error("sorts behind");
 * ```
 */
export function beforeIdsOf(kind: keyof IdTypes, atMs: number): string {
  return prefixes[kind] + timeText(atMs);
}

/** Returns the creation time of an id, by the clock of the process that created it. */
export function idTimeMs<Kind extends keyof IdTypes>(kind: Kind, id: IdTypes[Kind]): number {
  const start = prefixes[kind].length;
  return parseInt(id.slice(start, start + timeLength), 36);
}

function timeText(atMs: number): string {
  return atMs.toString(36).padStart(timeLength, "0");
}

/**
 * Parses an id from outside; `undefined` unless it has the right form.
 *
 * @example
 * ```ts
 * import { parseId } from "./ids.ts";
 * if (parseId("account", "../../etc") !== undefined) throw new Error("accepted");
 * ```
 */
export function parseId<Kind extends keyof IdTypes>(
  kind: Kind,
  text: string,
): IdTypes[Kind] | undefined {
  const prefix = prefixes[kind];
  if (!text.startsWith(prefix) || text.length > 64) return undefined;
  return /^[0-9a-z]+$/.test(text.slice(prefix.length)) ? text as IdTypes[Kind] : undefined;
}
