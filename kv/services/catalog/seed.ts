/** Takes over `gateway.json` at the start of a process: into an empty store, or after the file has changed. */
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { catalogDigest, catalogText } from "./contents.ts";
import { addVersion, declineFile, readHead } from "./versions.ts";
import { inForce } from "../../engine/control/catalog_head.ts";
import { type CatalogHead } from "../../engine/control/catalog_head.ts";

/** What became of the file. */
export interface Seeding {
  readonly head: CatalogHead;
  /** Set if the file has changed, but the store was edited since, so that the file does not count. */
  readonly isFilePassedOver: boolean;
}

/** Attempts while other instances start at the same time. */
const seedAttempts = 5;

/** Whether the catalogue in force is not the file that was taken over last. */
function isEdited(head: CatalogHead, nowMs: number): boolean {
  return head.scheduled !== undefined || inForce(head, nowMs).digest !== head.fileDigest;
}

/** Whether a file has contents that were neither taken over nor declined. */
export function isPassedOver(head: CatalogHead, fileDigest: string, nowMs: number): boolean {
  return head.fileDigest !== fileDigest && inForce(head, nowMs).digest !== fileDigest;
}

/** Makes a version of the file if the store has none, or only versions of the file. */
export async function seedCatalog(
  kv: KeyValueStore,
  fileContents: unknown,
  nowMs: number,
): Promise<Seeding> {
  const text = catalogText(fileContents);
  const fileDigest = await catalogDigest(text);
  for (let attempt = 1;; attempt++) {
    const head = await readHead(kv);
    if (head !== undefined && (head.fileDigest === fileDigest || isEdited(head, nowMs))) {
      return { head, isFilePassedOver: isPassedOver(head, fileDigest, nowMs) };
    }
    const act = { reason: "", nowMs, base: head?.newest ?? 0 };
    const result = await addVersion(kv, { text, fileDigest }, act);
    // An earlier file again, or one that differs in spaces alone, is no new version.
    if (!result.ok && result.reason === "unchanged") await declineFile(kv, fileDigest, act);
    const changed = await readHead(kv);
    if (changed?.fileDigest === fileDigest) return { head: changed, isFilePassedOver: false };
    if (attempt === seedAttempts) throw new Error("the catalogue is being changed by others");
  }
}
