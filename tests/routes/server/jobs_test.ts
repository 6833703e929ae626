import { assertEquals } from "@std/assert";
import { ledgerWatch } from "../../../routes/server/jobs.ts";

Deno.test("the log learns once when the ledger stops taking writes, and once when it is back", async () => {
  const teller = { healthy: true };
  const said: string[] = [];
  const log = {
    event: (level: string, message: string) => void said.push(`${level}: ${message}`),
  };
  const watch = ledgerWatch({ teller, log });
  for (const healthy of [true, false, false, true, true]) {
    teller.healthy = healthy;
    await watch();
  }
  assertEquals(said, ["error: the ledger takes no writes", "info: the ledger takes writes again"]);
});
