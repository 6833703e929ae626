/** Keeps how verifications ended, and says what is known of the books without reading them. */
import { dayMs } from "../../../core/lib/time/durations.ts";
import { vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import { checkpointHeadKey, lastVerificationKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { HeadRow } from "./days/checkpoint_chain.ts";

/** Scopes of a verification: the days that were not sealed, or everything. */
export const verificationScopes = ["daily", "full"] as const;
/** One of them. */
export type VerificationScope = typeof verificationScopes[number];

/** End of a verification. */
export interface EndedVerification {
  readonly atMs: number;
  readonly problems: number;
}

/**
 * Keeps how a verification ended. A full one found what a daily one would have; a daily one says nothing of sealed days,
 * so that it leaves what the last full one found.
 */
export async function noteVerification(
  kv: KeyValueStore,
  isFull: boolean,
  ended: EndedVerification,
): Promise<void> {
  const operation = kv.atomic().set(lastVerificationKey("daily"), ended);
  if (isFull) operation.set(lastVerificationKey("full"), ended);
  await operation.commit();
}

/** State of the books that is known without reading them. */
export interface BooksState {
  /** The end of the last sealed day; `undefined` if none is. */
  readonly sealedUntilMs: number | undefined;
  /** The last verifications that ended. */
  readonly verified: Readonly<Partial<Record<VerificationScope, EndedVerification>>>;
}

/** Reads what is known of the books. */
export async function readBooksState(kv: KeyValueStore): Promise<BooksState> {
  const [head, daily, full] = await kv.getMany<[HeadRow, EndedVerification, EndedVerification]>([
    checkpointHeadKey(),
    lastVerificationKey("daily"),
    lastVerificationKey("full"),
  ]);
  const day = head.value?.day;
  return {
    sealedUntilMs: day === undefined ? undefined : vietnamDayStartMs(day) + dayMs,
    verified: {
      ...daily.value !== null && { daily: daily.value },
      ...full.value !== null && { full: full.value },
    },
  };
}
