/**
 * Re-encrypts the secrets in the store that an older master key sealed, so that the operator can retire that key after a
 * leak, or at a yearly rotation. A repeated run handles only what is left.
 */
import { type MasterKeys, open, seal, sealingKeyId } from "../../../core/people/api_keys/seal.ts";
import {
  type SealedRow,
  type SealOwner,
  sealOwners,
} from "../../../core/people/api_keys/seal_owners.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { rowsOfKindPrefix } from "../../engine/schema/keys.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { SecondFactor } from "../../people/accounts/second_factor.ts";
import type { ApiKeyRecord } from "../../people/api_keys/api_keys.ts";
import type { CompanyOpenId } from "../../people/organisations/company_sign_in.ts";
import type { OwnKey, OwnKeysRow } from "../../people/api_keys/own_keys.ts";
import type { ListedPreset, PresetRow } from "../../people/organisations/presets.ts";
import type { WebhookRow } from "../../people/webhooks/endpoints.ts";
import type { ProofKeyRow } from "../proofs/proof_keys.ts";

/** Returns a secret sealed with the newest master key, or as it is: it is so already, or no master key opens it. */
type Renew = (sealed: string, owner: SealOwner) => Promise<string>;

/** Returns a row with its secrets renewed. `id` is the part of the key behind the kind. */
type RenewRow = (value: unknown, id: string, renew: Renew) => Promise<unknown>;

/** Makes the renewal of a kind of row. What a row holds is known only to whoever wrote it, as with Deno KV. */
function of<Value>(
  renewed: (value: Value, accountId: AccountId, renew: Renew) => Promise<Value>,
): RenewRow {
  return (value, id, renew) => renewed(value as Value, id as AccountId, renew);
}

async function renewedWebhooks(
  row: WebhookRow,
  accountId: AccountId,
  renew: Renew,
): Promise<WebhookRow> {
  const secrets = { ...row.secrets };
  for (const { id } of row.endpoints) {
    const secret = secrets[id];
    if (secret === undefined) continue;
    const { previous } = secret;
    const owner = sealOwners.webhook_endpoints(accountId, id);
    secrets[id] = {
      ...secret,
      sealed: await renew(secret.sealed, owner),
      ...(previous !== undefined && {
        previous: { ...previous, sealed: await renew(previous.sealed, owner) },
      }),
    };
  }
  return { ...row, secrets };
}

async function renewedOwnKeys(
  row: OwnKeysRow,
  organisationId: AccountId,
  renew: Renew,
): Promise<OwnKeysRow> {
  const keys: OwnKey[] = [];
  for (const key of row.keys) {
    const owner = sealOwners.own_keys(organisationId, key.provider);
    keys.push({ ...key, sealed: await renew(key.sealed, owner) });
  }
  return { keys };
}

/**
 * Renewals of each kind of row. `provider_key`: `resealStoredKeys` handles these rows and writes an audit line for each.
 * `expires`: the rows expire within a day.
 */
const renewals: Readonly<Record<SealedRow, RenewRow | "provider_key" | "expires">> = {
  api_key: of<ApiKeyRecord>(async (row, _, renew) =>
    row.sealed === undefined ? row : {
      ...row,
      sealed: await renew(row.sealed, sealOwners.api_key(row.accountId, row.id)),
    }
  ),
  webhook_endpoints: of<WebhookRow>(renewedWebhooks),
  company_openid: of<CompanyOpenId>(async (row, organisationId, renew) => ({
    ...row,
    sealedSecret: await renew(row.sealedSecret, sealOwners.company_openid(organisationId)),
  })),
  own_keys: of<OwnKeysRow>(renewedOwnKeys),
  second_factor: of<SecondFactor>(async (row, accountId, renew) => ({
    ...row,
    sealedSecret: await renew(row.sealedSecret, sealOwners.second_factor(accountId)),
  })),
  proof_key: of<ProofKeyRow>(async (row, _, renew) => ({
    ...row,
    sealed: await renew(row.sealed, sealOwners.proof_key(row.id)),
  })),
  // The list of them has no secret.
  preset: of<PresetRow | readonly ListedPreset[]>(async (row, organisationId, renew) =>
    "sealed" in row
      ? {
        ...row,
        sealed: await renew(row.sealed, sealOwners.preset(organisationId, row.name, row.version)),
      }
      : row
  ),
  provider_key: "provider_key",
  management_answer: "expires",
};

/** Result of one page of rows. */
export interface ResealedPage {
  /** Secrets that were sealed anew, by the kind of their rows. */
  readonly resealed: Readonly<Partial<Record<SealedRow, number>>>;
  /** Rows with a secret that no master key opens, or that others kept changing. */
  readonly problems: readonly string[];
  /** Start of the next page; absent behind the last row. */
  readonly next?: string;
}

/** Rows of one page: what is done between two answers takes some hundred milliseconds. */
const pageRows = 500;

/** Tries of a row that others change at the same time. */
const writeAttempts = 5;

class Page {
  readonly #kv: KeyValueStore;
  readonly #masterKeys: MasterKeys;
  readonly problems: string[] = [];
  resealed = 0;

  constructor(kv: KeyValueStore, masterKeys: MasterKeys) {
    this.#kv = kv;
    this.#masterKeys = masterKeys;
  }

  /** Seals one row anew, by what is there when it is written. */
  async renew(read: Deno.KvEntry<unknown>, row: RenewRow): Promise<void> {
    const [kind, id] = read.key.map(String);
    const name = read.key.map(String).join("/");
    let entry: Deno.KvEntryMaybe<unknown> = read;
    let count = 0;
    let lost: string | undefined;
    const outcome = await compareAndSet<boolean>(async (attempt) => {
      if (attempt > 0) entry = await this.#kv.get(read.key);
      if (entry.value === null) return { done: false };
      [count, lost] = [0, undefined];
      const value = await row(entry.value, id ?? "", async (sealed, owner) => {
        const keyId = sealingKeyId(sealed);
        if (keyId === this.#masterKeys.sealing.id) return sealed;
        const secret = await open(this.#masterKeys, sealed, owner);
        if (secret === undefined) {
          lost = keyId;
          return sealed;
        }
        count++;
        return await seal(this.#masterKeys, secret, owner);
      });
      if (count === 0) return { done: true };
      const { ok } = await this.#kv.atomic().check(entry).set(read.key, value).commit();
      return ok ? { done: true } : "again";
    }, { attempts: writeAttempts });
    if (outcome === "conflict") {
      this.problems.push(`${name}: others are changing it; repeat the command`);
    } else this.resealed += count;
    if (lost !== undefined) {
      this.problems.push(
        `${name}: no configured master key opens this ${kind}, which ${lost} sealed`,
      );
    }
  }
}

const kinds = Object.keys(renewals) as readonly SealedRow[];

/**
 * Seals the secrets of a page of rows anew.
 *
 * @param after the `next` of the page before; none: from the beginning
 */
export async function resealSecrets(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  after?: string,
): Promise<ResealedPage> {
  const [kind = kinds[0], cursor = ""] = after?.split(" ") ?? [];
  const at = kinds.findIndex((one) => one === kind);
  const name = kinds[at];
  if (name === undefined) return { resealed: {}, problems: [] };
  const following = kinds[at + 1];
  const behind = following === undefined ? {} : { next: `${following} ` };
  const renewal = renewals[name];
  if (typeof renewal === "string") return { resealed: {}, problems: [], ...behind };
  const page = new Page(kv, masterKeys);
  const rows = kv.list<unknown>(
    { prefix: rowsOfKindPrefix(name) },
    { limit: pageRows, batchSize: pageRows, ...(cursor !== "" && { cursor }) },
  );
  let read = 0;
  for await (const entry of rows) {
    await page.renew(entry, renewal);
    read++;
  }
  const { resealed, problems } = page;
  const rest = read < pageRows ? behind : { next: `${name} ${rows.cursor}` };
  return { resealed: resealed === 0 ? {} : { [name]: resealed }, problems, ...rest };
}
