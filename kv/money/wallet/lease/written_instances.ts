/** Notes which instances a thread writes, so that they can be cleared up when it ends. */
import type { InstanceId } from "../../../../core/lib/ids/ids.ts";
import { instanceOf, instancesPrefix, kindOfKey } from "../../../engine/schema/keys.ts";

const instanceKind = kindOfKey(instancesPrefix());

/** The instances that a thread has registered and not deleted again. */
export class WrittenInstances {
  readonly #ids = new Set<InstanceId>();

  get ids(): ReadonlySet<InstanceId> {
    return this.#ids;
  }

  /** Notes a write that the thread is about to commit. One that fails costs a look at a row that is not there. */
  note(key: Deno.KvKey, isDeletion: boolean): void {
    if (kindOfKey(key) !== instanceKind) return;
    if (isDeletion) this.#ids.delete(instanceOf(key));
    else this.#ids.add(instanceOf(key));
  }
}
