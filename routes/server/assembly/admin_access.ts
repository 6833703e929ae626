/** Opens the socket of the administrator's commands. */
import { errorLine, loadedOnce } from "../../../core/lib/base/assert.ts";
import type { AdminDeps } from "../../operator/cli/commands/admin_deps.ts";
import { adminSocketPath, serveAdminSocket } from "../../operator/cli/socket.ts";
import { unnamedOrigin } from "../../../core/trade/proofs/signed_day.ts";
import type { ArchivedStore } from "../../../kv/services/archive/open_archive.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";

/** The open socket, or why there is none. */
export type AdminAccess =
  | { readonly ok: true; stop(): Promise<void> }
  | { readonly ok: false; readonly problem: string };

/** Serves the administrator's commands on a socket beside a local store. */
export async function openAdmin(
  gateway: Gateway,
  { masterKeys, store }: Pick<AdminDeps, "masterKeys"> & { readonly store: ArchivedStore },
  stopping: AbortSignal,
): Promise<AdminAccess> {
  if (gateway.config.store.kind !== "file") return { ok: true, stop: async () => {} };
  const path = adminSocketPath(gateway.config);
  try {
    // Loaded with the first command.
    const app = loadedOnce(async () => {
      const [{ createAdminApp }, { storeReadings }, { operationDepsOf }] = await Promise.all([
        import("../../operator/cli/app.ts"),
        import("../../operator/cli/commands/admin_deps.ts"),
        import("../../operator/operations/contract/operation.ts"),
      ]);
      return createAdminApp({
        ...operationDepsOf(gateway),
        ...gateway,
        masterKeys,
        keysPerMember: gateway.config.keysPerMember,
        origin: gateway.config.baseUrl ?? unnamedOrigin,
        snapshot: store.snapshot,
        parts: store.parts,
        retention: gateway.config.retention,
        beginReading: storeReadings({ ...gateway, stopping }),
      });
    });
    const socket = await serveAdminSocket(path, async (request) => (await app()).fetch(request));
    return { ok: true, stop: socket.stop };
  } catch (error) {
    return { ok: false, problem: `Cannot serve ${path}: ${errorLine(error)}` };
  }
}
