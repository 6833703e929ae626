/** Connects editing with a running gateway. */
import type { Gateway } from "../../api/gateway/gateway.ts";
import type { CatalogEditing } from "./editing.ts";

/** Returns what editing needs of a running gateway. */
export function editingOf({ kv, clock, catalog, config, control }: Gateway): CatalogEditing {
  return {
    kv,
    clock,
    read: catalog.read,
    fileContents: config.fileContents,
    refresh: () => control.refresh(),
  };
}
