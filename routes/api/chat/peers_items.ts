/** Fetches items that a Responses request refers to from the threads that keep them. */
import { Buffer } from "node:buffer";
import { parseJsonBody } from "../../../core/calls/body/json_body.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { Gateway } from "../gateway/gateway.ts";

/** Most items of one request that are fetched: far above the turns of a tool loop. */
const mostItems = 1_000;

/** Whether a body may have references; without them nothing is parsed twice. */
function mayRefer(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes("item_reference");
}

/** Keeps the items here that the request refers to and that another serving thread has. */
export async function fetchPeersItems(
  { peers, recentItems }: Pick<Gateway, "peers" | "recentItems">,
  account: AccountId,
  bytes: Uint8Array,
): Promise<void> {
  if (peers === undefined || !mayRefer(bytes)) return;
  const missing = recentItems.missing(account, parseJsonBody(bytes).outline).slice(0, mostItems);
  if (missing.length === 0) return;
  for (const item of await peers.items(account, missing)) recentItems.keep(account, item);
}
