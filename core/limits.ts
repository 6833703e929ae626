/**
 * Every bound of the gateway, with its reason. Nothing loops, queues, retries or buffers without one of these.
 */
export const limits = {
  /** Request bodies: 20 MB, measured on bytes read, so chunked bodies count too. */
  requestBodyBytes: 20 * 1024 * 1024,
  /** Longest model name we look at: names come from strangers and end up in maps and headers. */
  modelNameChars: 256,
  /** Longest time of one call, streams included. */
  callMs: 15 * 60_000,
  /** An order of a video is known again for a day: what clients and vendors agree on. */
  idempotencyKeptMs: 24 * 3_600_000,
  /** One that is under way may be begun anew after this: its call cannot run any more. */
  idempotencyClaimMs: 16 * 60_000,
} as const;
