/**
 * Provider keys of an organisation in its calls. Loaded with the first call of an organisation that has some; all other
 * calls run without this file.
 */
import { makeRoom } from "../../../core/lib/base/make_room.ts";
import { unforeseen } from "../../../core/lib/base/assert.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";
import { mailQueue } from "../../../kv/engine/outbox/outbox.ts";
import { sealOwners } from "../../../core/people/api_keys/seal_owners.ts";
import { type MasterKeys, open } from "../../../core/people/api_keys/seal.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { Credentials } from "../../../core/routing/health/credentials.ts";
import { type OpenedOwnKey, OwnKeyRouter } from "../../../core/routing/own_key_router.ts";
import type { Principal } from "../../../kv/people/api_keys/key_directory.ts";
import { noteOwnKeyRefusal, type OwnKey } from "../../../kv/people/api_keys/own_keys.ts";
import type { Gateway } from "../gateway/gateway.ts";

/** Opened keys, as long as the directory has their rows. */
const opened = new WeakMap<OwnKey, Promise<OpenedOwnKey>>();

async function openKey(
  masterKeys: MasterKeys,
  accountId: AccountId,
  { provider, sealed, fallback }: OwnKey,
): Promise<OpenedOwnKey> {
  const secret = await open(masterKeys, sealed, sealOwners.own_keys(accountId, provider));
  return secret === undefined
    ? { provider, fallback, problem: "cannot be opened: enter it again" }
    : { provider, fallback, secret, rests: restsOf(sealed, secret) };
}

/** Keys whose rests one process, or one thread of it, remembers: some 300 bytes each. */
const maxRemembered = 1_000;

/** Rests of keys, by their sealed form: a key that is entered again begins without one. */
const remembered = new Map<string, Credentials>();

function restsOf(sealed: string, secret: string): Credentials {
  const known = remembered.get(sealed);
  if (known !== undefined) return known;
  makeRoom(remembered, maxRemembered);
  const rests = new Credentials([secret]);
  remembered.set(sealed, rests);
  return rests;
}

function openedKey(masterKeys: MasterKeys, accountId: AccountId, key: OwnKey) {
  let known = opened.get(key);
  if (known === undefined) opened.set(key, known = openKey(masterKeys, accountId, key));
  return known;
}

/** Without an offer, a call that must not go to the operator's routes goes nowhere. */
const notOffered =
  "is not used: the operator offers no keys of your own any more. Remove it to use the operator's";

/** Milliseconds between two tries to tell that a key is refused; the store has what was told. */
const tellEveryMs = hourMs;

/** Moments at which refusals of keys were last told here, as long as the directory has their rows. */
const toldAtMs = new WeakMap<OwnKey, number>();

/** Tells the owner of a key that its provider refused it. No call waits for that. */
function tellRefusal(
  { kv, clock, media, log }: Gateway,
  accountId: AccountId,
  { key, status }: { readonly key: OwnKey | undefined; readonly status: number },
): void {
  const nowMs = clock.nowMs();
  if (key === undefined || nowMs - (toldAtMs.get(key) ?? -Infinity) < tellEveryMs) return;
  toldAtMs.set(key, nowMs);
  noteOwnKeyRefusal(kv, accountId, { provider: key.provider, status, atMs: nowMs }).then(
    (isTold) => isTold && media.wakeUp.nudge(mailQueue.name),
    (error) => log.event("warn", "a refused provider key was not told", unforeseen(error)),
  );
}

/** Returns the gateway for a call of an organisation that has provider keys of its own. */
export async function withOwnKeys(
  gateway: Gateway,
  { accountId, ownKeys = [] }: Pick<Principal, "accountId" | "ownKeys">,
): Promise<Gateway> {
  const { vault, catalog: { current }, config: { region }, random } = gateway;
  const { ownKeyFee } = current;
  const keys = await Promise.all(
    ownKeys.map((key): OpenedOwnKey | Promise<OpenedOwnKey> =>
      ownKeyFee === undefined
        ? { provider: key.provider, fallback: key.fallback, problem: notOffered }
        : openedKey(vault.masterKeys, accountId, key)
    ),
  );
  const router = new OwnKeyRouter({
    router: gateway.router,
    providers: current.providers,
    accountId,
    keys,
    fee: ownKeyFee ?? 0,
    region,
    random,
    clock: gateway.clock,
    onRefused: ({ provider, providerStatus }) =>
      tellRefusal(gateway, accountId, {
        key: ownKeys.find((key) => key.provider === provider),
        status: providerStatus,
      }),
  });
  return { ...gateway, router, ownKeys: router };
}
