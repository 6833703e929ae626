/**
 * The catalogue that this process, or this thread of it, serves: follows the head of the store.
 *
 * A version is read, checked and prepared as a whole before anything of it is used; then one step without an await puts
 * it in force. What cannot be served here (a secret that this process lacks, damaged contents) leaves the former version
 * in force and is reported until the head names another. A version with a moment is prepared before it, so that all
 * instances change at their own clocks.
 */
import {
  keysOfProvider,
  type ProviderKey,
  type ProviderKeys,
  type ReadCatalog,
  type ServableCatalog,
  type StoredKeys,
  withStoredKeys,
} from "../../../core/config/catalog_reading.ts";
import type { Catalog } from "../../../core/catalog/catalog.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import { systemTimer, type Timer } from "../../../core/lib/time/deadlines.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { catalogDigest, catalogText, readContents } from "./contents.ts";
import { readVersion } from "./versions.ts";
import { type CatalogHead, type HeadVersion, inForce } from "../../engine/control/catalog_head.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";

/** Milliseconds of the longest wait of one timer: those of the machine overflow after 24 days. */
const longestTimerMs = 6 * hourMs;

/** Why a version is not in force here. */
export interface RefusedVersion {
  readonly version: number;
  readonly problems: readonly string[];
}

/**
 * Prepares a part of the gateway for a catalogue; returns what puts it in force, without an await.
 */
export type PrepareCatalog = (next: ServableCatalog) => Promise<() => void>;

/** Parts of a {@linkcode LiveCatalog}. */
export interface LiveCatalogOptions {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  readonly timer?: Timer;
  /** The catalogue at the start, whose version is the store's if it was read there. */
  readonly initial: ServableCatalog;
  /** Contents of which {@linkcode LiveCatalogOptions.initial} was made, if that was `gateway.json`. */
  readonly fileContents: unknown;
  readonly read: ReadCatalog;
  /** The keys of providers that are sealed in the store. */
  readonly storedKeys: StoredKeys;
  /** A version was put in force. */
  readonly onChange?: (version: number) => void;
  /** A version cannot be served here. */
  readonly onRefused?: (refused: RefusedVersion) => void;
}

interface Prepared extends HeadVersion {
  readonly next: ServableCatalog;
  readonly commit: () => void;
}

/** Holds one catalogue at a time and replaces it as a whole. */
export class LiveCatalog {
  readonly #options: LiveCatalogOptions;
  readonly #parts: PrepareCatalog[] = [];
  readonly #timer: Timer;
  #served: ServableCatalog;
  #head: CatalogHead | undefined;
  #prepared: Prepared | undefined;
  #refused: RefusedVersion | undefined;
  #following: Promise<void> = Promise.resolve();
  #stopTimer = () => {};
  #isClosed = false;

  constructor(options: LiveCatalogOptions) {
    this.#options = options;
    this.#timer = options.timer ?? systemTimer;
    this.#served = options.initial;
  }

  /** The catalogue in force. A call takes it once, at its beginning. */
  get current(): Catalog {
    return this.#served.catalog;
  }

  /** Secrets of the providers in force, with the stored keys as they are now. */
  get providerKeys(): ProviderKeys {
    return withStoredKeys(this.#served, this.#options.storedKeys);
  }

  /** The keys of one provider in force. */
  keysOf(provider: string): readonly ProviderKey[] {
    return keysOfProvider(this.#served, this.#options.storedKeys, provider);
  }

  /** The head of the store as it was read last. */
  get head(): CatalogHead | undefined {
    return this.#head;
  }

  /** The version that the head names and that cannot be served here. */
  get refused(): RefusedVersion | undefined {
    return this.#refused;
  }

  /** Reads contents as a version that this process could serve. */
  get read(): ReadCatalog {
    return this.#options.read;
  }

  /** Adds a part that changes with the catalogue. */
  attach(prepare: PrepareCatalog): void {
    this.#parts.push(prepare);
    // It was prepared without this part.
    this.#prepared = undefined;
  }

  /**
   * Puts in force what the head names. Resolves when that is done.
   *
   * @throws what the store throws; the former version stays in force then
   */
  follow(head: CatalogHead | undefined): Promise<void> {
    // An answer that was overtaken by a later one must not bring its version back.
    if (head === undefined || head.newest < (this.#head?.newest ?? 0)) return this.#following;
    this.#head = head;
    this.#forgetWithdrawn(head);
    if (!this.#isBehind(head)) return this.#following;
    const done = this.#following.then(() => this.#catchUp());
    // The next one begins whatever becomes of this one.
    this.#following = done.catch(() => {});
    return done;
  }

  #forgetWithdrawn({ version, scheduled }: CatalogHead): void {
    const isNamed = (one: number | undefined) => one === version || one === scheduled?.version;
    if (!isNamed(this.#refused?.version)) this.#refused = undefined;
    if (!isNamed(this.#prepared?.version)) this.#prepared = undefined;
  }

  #isBehind(head: CatalogHead): boolean {
    const due = inForce(head, this.#options.clock.nowMs());
    const { scheduled } = head;
    return this.#isMissing(due) ||
      (scheduled !== undefined && scheduled.version !== due.version &&
        this.#prepared?.version !== scheduled.version && this.#isMissing(scheduled));
  }

  #isMissing({ version }: HeadVersion): boolean {
    return version !== this.current.version && version !== this.#refused?.version;
  }

  async #catchUp(): Promise<void> {
    const head = this.#head;
    if (head === undefined || this.#isClosed) return;
    const { clock } = this.#options;
    const due = inForce(head, clock.nowMs());
    if (this.#isMissing(due)) {
      const prepared = this.#prepared?.version === due.version
        ? this.#prepared
        : await this.#prepare(due);
      if (prepared !== undefined) this.#putInForce(prepared);
    }
    const { scheduled } = head;
    if (scheduled === undefined || scheduled.version === due.version) {
      this.#stopTimer();
      return;
    }
    if (this.#isMissing(scheduled)) this.#prepared = await this.#prepare(scheduled);
    this.#wait(scheduled.effectiveFromMs);
  }

  /** Looks again at the moment of a version. */
  #wait(untilMs: number): void {
    this.#stopTimer();
    if (this.#isClosed) return;
    const delayMs = Math.min(Math.max(0, untilMs - this.#options.clock.nowMs()), longestTimerMs);
    this.#stopTimer = this.#timer.start(() => {
      // A store that fails now is asked again by the next poll of the head.
      this.follow(this.#head).catch(() => {});
      if (this.#head?.scheduled !== undefined && this.#options.clock.nowMs() < untilMs) {
        this.#wait(untilMs);
      }
    }, delayMs);
  }

  async #prepare({ version, digest }: HeadVersion): Promise<Prepared | undefined> {
    const reading = await this.#read({ version, digest });
    if (!reading.ok) {
      this.#refuse({ version, problems: reading.problems });
      return undefined;
    }
    const commits = await Promise.all(this.#parts.map((prepare) => prepare(reading)));
    return { version, digest, next: reading, commit: () => commits.forEach((commit) => commit()) };
  }

  async #read({ version, digest }: HeadVersion): Promise<ReturnType<ReadCatalog>> {
    const { kv, initial, fileContents, read } = this.#options;
    const name = `catalogue version ${version}`;
    const isFile = initial === this.#served && initial.catalog.version === undefined &&
      await catalogDigest(catalogText(fileContents)) === digest;
    // Nothing is in use yet that another object of the same contents would have to take over.
    if (isFile) return { ...initial, ok: true, catalog: { ...initial.catalog, version } };
    const row = await readVersion(kv, version);
    const contents = row?.digest === digest ? await readContents(kv, row) : undefined;
    if (contents === undefined) {
      return { ok: false, problems: [`${name}: its contents are missing or damaged`] };
    }
    return read(contents, name, { version, former: this.current });
  }

  #putInForce({ version, next, commit }: Prepared): void {
    commit();
    this.#served = next;
    this.#prepared = undefined;
    this.#options.onChange?.(version);
  }

  #refuse(refused: RefusedVersion): void {
    this.#refused = refused;
    this.#options.onRefused?.(refused);
  }

  close(): void {
    this.#isClosed = true;
    this.#stopTimer();
  }
}
