/** The announcements that pages show: read at most once per ten seconds, however many pages are asked for. */
import type { Clock } from "../../../core/lib/time/clock.ts";
import {
  type Announcement,
  listAnnouncements,
} from "../../../kv/people/operators/announcements.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";

/** Milliseconds between two readings. */
const announcementsCacheMs = 10_000;

/** Milliseconds before its beginning from which planned maintenance is shown on every page: three days. */
const shownBeforeMs = 3 * 24 * 3_600_000;

/** Whether every page shows an announcement. */
export function isShown({ startsAtMs, endedAtMs }: Announcement, nowMs: number): boolean {
  return endedAtMs === undefined && startsAtMs - shownBeforeMs <= nowMs;
}

/** Reads announcements for pages. */
export class Announcements {
  readonly #deps: { readonly kv: KeyValueStore; readonly clock: Clock };
  #readAtMs = -Infinity;
  #reading: Promise<void> = Promise.resolve();
  #list: readonly Announcement[] = [];

  constructor(deps: { readonly kv: KeyValueStore; readonly clock: Clock }) {
    this.#deps = deps;
  }

  /** The latest announcements, newest first; those of the last reading while the store fails. */
  async latest(): Promise<readonly Announcement[]> {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#readAtMs > announcementsCacheMs) {
      this.#readAtMs = nowMs;
      this.#reading = this.#read();
    }
    await this.#reading;
    return this.#list;
  }

  async #read(): Promise<void> {
    try {
      this.#list = await listAnnouncements(this.#deps.kv);
    } catch {
      // A page without announcements is better than none; what it needs of the store fails by itself.
    }
  }
}
