/**
 * Keeps the presets of organisations: the only prompts that the store has, because they were given to be stored. They are
 * sealed; a list of their names stands in a row of its own, so that it is read without them.
 *
 * Each change makes a version, which never changes afterwards. A call gets its preset from the memory of its process,
 * which follows the epoch of keys.
 */
import { makeRoom } from "../../../core/lib/base/make_room.ts";
import type { Preset } from "../../../core/calls/request/presets.ts";
import { priceNames } from "../../../core/calls/request/route_preferences.ts";
import { ascending } from "../../../core/lib/base/ascending.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { type MasterKeys, open, seal } from "../../../core/people/api_keys/seal.ts";
import { sealOwners } from "../../../core/people/api_keys/seal_owners.ts";
import { bumpKeysEpoch, type Control } from "../../engine/control/control.ts";
import { accountKey, presetKey, presetsKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type Account, hasOnlyBooks, writeAccount } from "../accounts/accounts.ts";
import { addAct, type Done } from "../audit/account_activity.ts";

/** Presets of one organisation: more than a list of them is read for. */
export const maxPresets = 50;

/** Versions of a preset that are kept: with {@linkcode maxPresets} and {@linkcode maxPresetBytes} some 30 MB at most. */
export const maxPresetVersions = 10;

/** Bytes of a preset in JSON: sealed and in base64url it is below the 64 KiB of a value. */
export const maxPresetBytes = 40_000;

/** A preset in the list of an organisation, without its prompt. */
export interface ListedPreset {
  readonly name: string;
  /** That of its newest version. */
  readonly model: string;
  /** The number of its newest version. */
  readonly version: number;
  /** The number of the oldest version that is kept; every one between them is. */
  readonly oldest: number;
  readonly savedAtMs: number;
}

/** A version of a preset as the store has it. */
export interface PresetRow {
  readonly name: string;
  readonly version: number;
  readonly savedAtMs: number;
  readonly sealed: string;
}

/** A version of a preset. */
export interface PresetVersion {
  readonly name: string;
  readonly version: number;
  readonly savedAtMs: number;
  readonly preset: Preset;
}

/** Writes an amount of a highest price. */
function amountText(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

/** Reads the amounts of highest prices; nothing else in a preset is called so. */
function withAmount(name: string, value: unknown): unknown {
  const isPrice = priceNames.some((one) => one === name);
  return isPrice && typeof value === "string" ? BigInt(value) : value;
}

/** Lists the presets of an organisation, by name. */
export async function listPresets(
  kv: KeyValueStore,
  organisationId: AccountId,
): Promise<readonly ListedPreset[]> {
  return (await kv.get<readonly ListedPreset[]>(presetsKey(organisationId))).value ?? [];
}

/**
 * Reads a version of a preset.
 *
 * @param version default: the newest
 * @returns `undefined`: there is none, or no master key opens it
 */
export async function readPreset(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  organisationId: AccountId,
  { name, version }: { readonly name: string; readonly version: number | undefined },
): Promise<PresetVersion | undefined> {
  const wanted = version ??
    (await listPresets(kv, organisationId)).find((one) => one.name === name)?.version;
  if (wanted === undefined) return undefined;
  const { value } = await kv.get<PresetRow>(presetKey(organisationId, name, wanted));
  if (value === null) return undefined;
  const owner = sealOwners.preset(organisationId, name, wanted);
  const text = await open(masterKeys, value.sealed, owner);
  if (text === undefined) return undefined;
  const preset: Preset = JSON.parse(text, withAmount);
  return { name, version: wanted, savedAtMs: value.savedAtMs, preset };
}

/** Saves the next version of a preset, or the first of a new one. */
export async function savePreset(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  organisationId: AccountId,
  { name, preset, ...done }: Done & { readonly name: string; readonly preset: Preset },
): Promise<PresetVersion | "gone" | "too_many" | "too_large"> {
  const text = JSON.stringify(preset, amountText);
  if (new TextEncoder().encode(text).length > maxPresetBytes) return "too_large";
  const { nowMs: savedAtMs } = done;
  return await writeAccount<PresetVersion | "gone" | "too_many">(async () => {
    const [account, list] = await kv.getMany<[Account, readonly ListedPreset[]]>([
      accountKey(organisationId),
      presetsKey(organisationId),
    ]);
    if (account.value === null || hasOnlyBooks(account.value)) return { done: "gone" };
    const presets = list.value ?? [];
    const former = presets.find((one) => one.name === name);
    if (former === undefined && presets.length >= maxPresets) return { done: "too_many" };
    const version = (former?.version ?? 0) + 1;
    const oldest = Math.max(former?.oldest ?? 1, version - maxPresetVersions + 1);
    const { model } = preset;
    const listed = [
      ...presets.filter((one) => one !== former),
      { name, model, version, oldest, savedAtMs },
    ].sort((one, other) => ascending(one.name, other.name));
    const sealed = await seal(masterKeys, text, sealOwners.preset(organisationId, name, version));
    const row: PresetRow = { name, version, savedAtMs, sealed };
    const operation = bumpKeysEpoch(kv.atomic()).check(account, list)
      .set(list.key, listed).set(presetKey(organisationId, name, version), row);
    if (former !== undefined && former.oldest < oldest) {
      operation.delete(presetKey(organisationId, name, former.oldest));
    }
    addAct(operation, organisationId, "presets_changed", done, {
      subject: name,
      before: former === undefined ? {} : { version: former.version, model: former.model },
      after: { version, model },
    });
    const { ok } = await operation.commit();
    return ok ? { done: { name, version, savedAtMs, preset } } : "again";
  });
}

/** Deletes a preset with all its versions; returns whether there was one. */
export async function deletePreset(
  kv: KeyValueStore,
  organisationId: AccountId,
  name: string,
  done: Done,
): Promise<boolean> {
  return await writeAccount<boolean>(async () => {
    const list = await kv.get<readonly ListedPreset[]>(presetsKey(organisationId));
    const former = list.value?.find((one) => one.name === name);
    if (former === undefined) return { done: false };
    const others = (list.value ?? []).filter((one) => one !== former);
    const operation = bumpKeysEpoch(kv.atomic()).check(list);
    if (others.length === 0) operation.delete(list.key);
    else operation.set(list.key, others);
    for (let version = former.oldest; version <= former.version; version++) {
      operation.delete(presetKey(organisationId, name, version));
    }
    const { version, model } = former;
    const before = { version, model };
    addAct(operation, organisationId, "presets_changed", done, { subject: name, before });
    return (await operation.commit()).ok ? { done: true } : "again";
  });
}

/** Presets that one process keeps: some 10 MB of usual prompts. */
const maxBookPresets = 1_000;

/** The presets that were called lately, in the memory of one process, or of one thread of it. */
export class PresetBook {
  readonly #kv: KeyValueStore;
  readonly #masterKeys: MasterKeys;
  readonly #control: Pick<Control, "freshKeysEpoch">;
  readonly #known = new Map<string, PresetVersion>();
  #epoch: string | undefined;

  constructor(
    kv: KeyValueStore,
    masterKeys: MasterKeys,
    control: Pick<Control, "freshKeysEpoch">,
  ) {
    this.#kv = kv;
    this.#masterKeys = masterKeys;
    this.#control = control;
  }

  /** Lists the presets of an organisation in their newest versions, by name. */
  async list(organisationId: AccountId): Promise<readonly PresetVersion[]> {
    const versions = await Promise.all(
      (await listPresets(this.#kv, organisationId)).map(({ name }) =>
        this.find(organisationId, { name, version: undefined })
      ),
    );
    return versions.filter((one) => one !== undefined);
  }

  /** Finds a version of a preset of an organisation; without a version the newest. */
  async find(
    organisationId: AccountId,
    called: { readonly name: string; readonly version: number | undefined },
  ): Promise<PresetVersion | undefined> {
    const epoch = this.#control.freshKeysEpoch();
    if (epoch !== this.#epoch) {
      this.#known.clear();
      this.#epoch = epoch;
    }
    const id = `${organisationId}/${called.name}@${called.version ?? ""}`;
    const known = epoch === undefined ? undefined : this.#known.get(id);
    if (known !== undefined) return known;
    const found = await readPreset(this.#kv, this.#masterKeys, organisationId, called);
    // One that was read before a change belongs to the epoch before it.
    if (found === undefined || epoch === undefined || epoch !== this.#epoch) return found;
    makeRoom(this.#known, maxBookPresets);
    this.#known.set(id, found);
    return found;
  }
}
