/** Writes a version of the catalogue for programs. */
import { defined } from "../../../core/lib/base/defined.ts";
import type { CatalogVersion } from "../../../kv/services/catalog/versions.ts";

/** The row of a version, without its contents. */
export function versionJson(
  { version, author, reason, createdAtMs, effectiveFromMs, parent, rollbackTo, digest }:
    CatalogVersion,
) {
  return {
    version,
    author,
    reason,
    created_at: new Date(createdAtMs).toISOString(),
    effective_from: new Date(effectiveFromMs).toISOString(),
    ...defined({ parent, rollback_to: rollbackTo }),
    digest,
  };
}
