/** What a client reads of a task that a provider could not finish. */
import { assertEquals } from "../../../support/assert.ts";
import { videoAdapterOf } from "../../../../core/catalog/entries/video_rules.ts";
import { readSighting } from "../../../../core/media/video/upstream_requests.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";

const adapter = videoAdapterOf({});

const errorOf = (error: JsonObject) =>
  readSighting(adapter, { id: "u1", status: "failed", error }, 0).error;

Deno.test("a failed video keeps the provider's words, without ids of the operator", () => {
  assertEquals(
    errorOf({
      code: "InputTextSensitiveContentDetected",
      message: "The prompt may be sensitive. Request ID: 021718067849899d92fcbe0865fdffdd",
    }),
    {
      code: "InputTextSensitiveContentDetected",
      message: "The prompt may be sensitive. Request ID: [removed]",
    },
  );
});

Deno.test("an account without balance is no matter of the client's", () => {
  const general = { code: "generation_failed", message: "The provider could not make this video." };
  assertEquals(
    errorOf({ code: "AccountOverdueError", message: "Your account 2100000000 is overdue" }),
    general,
  );
  assertEquals(errorOf({ code: "failed", message: "Your account is suspended" }), general);
  assertEquals(
    errorOf({ code: "021718067849899d92fcbe0865fdffdd", message: "No frames" }),
    { code: "generation_failed", message: "No frames" },
  );
});
