import { openSqliteArchive } from "../../../../kv/money/archive/sqlite_archive.ts";
import { testRetention } from "./retaining.ts";

testRetention("files", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-retention-" });
  const archive = await openSqliteArchive(folder);
  return {
    kv: await Deno.openKv(":memory:"),
    archive: {
      archive,
      async [Symbol.asyncDispose]() {
        await archive.close();
        await Deno.remove(folder, { recursive: true });
      },
    },
  };
}, { permissions: { read: true, write: true } });
