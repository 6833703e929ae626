/** `store: true` is honoured by no route, since nothing is stored; the answer says so. */
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { accepted } from "./converting.ts";

const prompts: Readonly<Record<"chat" | "responses", JsonObject>> = {
  chat: { messages: [{ role: "user", content: "Hi" }] },
  responses: { input: "Hi" },
};

Deno.test("a converted request that wants to be stored is not, and store is named", () => {
  for (const from of ["chat", "responses"] as const) {
    for (const to of ["messages", "chat", "responses", "gemini", "converse"] as const) {
      if (to === from) continue;
      const body = { model: "m", ...prompts[from] };
      const asked = accepted(from, to, { ...body, store: true });
      assert(asked.body["store"] !== true, `${from} to ${to}`);
      assertEquals(asked.dropped, ["store"], `${from} to ${to}`);
      assertEquals(accepted(from, to, { ...body, store: false }).dropped, [], `${from} to ${to}`);
    }
  }
});
