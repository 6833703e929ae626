import { assert, assertEquals } from "../support/assert.ts";
import { troubles, underTrouble } from "../../bench/failing_primary.ts";

for (const trouble of troubles.filter((one) => one !== "none")) {
  Deno.test(
    `a preferred provider that ${trouble} under load: no client notices, every call is charged once`,
    {
      sanitizeOps: false,
      sanitizeResources: false,
    },
    async () => {
      const result = await underTrouble(trouble, { calls: 200, everyMs: 5 });
      assertEquals(result.clientErrors, 0);
      assert(result.breakerOpened, "the breaker did not open");
    },
  );
}
