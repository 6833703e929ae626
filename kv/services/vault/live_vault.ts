/**
 * The opened keys of providers in the memory of one process, or of one thread of it: follows the epoch of the store.
 *
 * All keys are read and opened when the epoch changes, never on the way of a call. A key that cannot be opened here is
 * reported once, and is missing: its provider does without it.
 */
import type { StoredKeys } from "../../../core/config/catalog_reading.ts";
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import { vaultEpochKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { listStoredKeys, openStoredKey } from "./stored_keys.ts";

/** Parts of a {@linkcode LiveVault}. */
export interface LiveVaultOptions {
  readonly kv: KeyValueStore;
  readonly masterKeys: MasterKeys;
  /** A key cannot be opened here. */
  readonly onUnopened?: (problem: string) => void;
}

type Opened = Awaited<ReturnType<typeof openStoredKey>>;

/** Holds the opened keys, all of one moment. */
export class LiveVault implements StoredKeys {
  readonly #options: LiveVaultOptions;
  #opened: ReadonlyMap<string, Opened> = new Map();
  #onChange = () => {};
  #epoch: string | undefined;
  #following: Promise<void> = Promise.resolve();

  constructor(options: LiveVaultOptions) {
    this.#options = options;
  }

  /** The keys that seal and open. */
  get masterKeys(): MasterKeys {
    return this.#options.masterKeys;
  }

  /** Sets what is called when the keys are others than before. */
  attach(onChange: () => void): void {
    this.#onChange = onChange;
  }

  secretOf(name: string): string | undefined {
    const opened = this.#opened.get(name);
    return opened?.ok === true ? opened.secret : undefined;
  }

  problemOf(name: string): string | undefined {
    const opened = this.#opened.get(name);
    if (opened === undefined) return `there is no stored key ${name}`;
    return opened.ok ? undefined : opened.problem;
  }

  /**
   * Takes over the keys of an epoch. Resolves when that is done.
   *
   * @throws what the store throws; the former keys stay then
   */
  follow(epoch: string | undefined): Promise<void> {
    if (epoch === this.#epoch) return this.#following;
    // One after the other: an answer that was overtaken must not bring former keys back.
    const done = this.#following.then(() => epoch === this.#epoch ? undefined : this.#read());
    // The next one begins whatever becomes of this one.
    this.#following = done.catch(() => {});
    return done;
  }

  /** Asks the store whether keys have changed, and takes them over: for whoever has to know it exactly. */
  async refresh(): Promise<Deno.KvEntryMaybe<string>> {
    const entry = await this.#options.kv.get<string>(vaultEpochKey());
    await this.follow(entry.value ?? undefined);
    return entry;
  }

  async #read(): Promise<void> {
    const { kv, masterKeys, onUnopened } = this.#options;
    // Read before the keys: a change in between leaves an epoch that the next poll finds to be old.
    const epoch = (await kv.get<string>(vaultEpochKey())).value ?? undefined;
    const opened = new Map<string, Opened>();
    for (const key of await listStoredKeys(kv)) {
      opened.set(key.name, await openStoredKey(masterKeys, key));
    }
    const former = this.#opened;
    this.#opened = opened;
    this.#epoch = epoch;
    for (const [name, one] of opened) {
      const before = former.get(name);
      const isKnown = before?.ok === false && !one.ok && before.problem === one.problem;
      if (!one.ok && !isKnown) onUnopened?.(one.problem);
    }
    if (!isSame(former, opened)) this.#onChange();
  }
}

function isSame(one: ReadonlyMap<string, Opened>, other: ReadonlyMap<string, Opened>): boolean {
  return one.size === other.size && [...one].every(([name, opened]) => {
    const now = other.get(name);
    return opened.ok ? now?.ok === true && now.secret === opened.secret : now?.ok === false;
  });
}
