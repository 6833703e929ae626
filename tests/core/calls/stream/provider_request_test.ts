import { assertEquals } from "../../../support/assert.ts";
import {
  providerRequest,
  type ProviderRequestInput,
} from "../../../../core/calls/exchange/provider_request.ts";
import { providerSchema } from "../../../../core/catalog/schema.ts";

const provider = providerSchema.parse({
  kind: "http",
  baseUrl: "https://provider.example/",
  apiKeyEnv: "PROVIDER_KEY",
});

function headersOf(some: Partial<ProviderRequestInput> = {}): Record<string, string> {
  const { headers } = providerRequest({
    provider,
    style: "chat",
    secret: "one",
    body: new Uint8Array(),
    stream: false,
    clientHeader: () => undefined,
    ...some,
  });
  return Object.fromEntries(headers);
}

Deno.test("what is made once for a route never mixes up credentials, styles or ways to answer", () => {
  for (let time = 0; time < 2; time++) {
    assertEquals(headersOf().authorization, "Bearer one");
    assertEquals(headersOf({ secret: "two" }).authorization, "Bearer two");
    assertEquals(headersOf({ stream: true }).accept, "text/event-stream");
    assertEquals(headersOf().accept, "application/json");
    assertEquals(headersOf({ style: "messages" })["anthropic-version"], "2023-06-01");
    assertEquals(headersOf()["anthropic-version"], undefined);
    assertEquals(headersOf({ body: null })["content-type"], undefined);
    assertEquals(headersOf()["content-type"], "application/json");
  }
});

Deno.test("a client's own version and betas travel, and do not stay for others", () => {
  const clientHeader = (name: string) => ({ "anthropic-beta": "mine" })[name];
  assertEquals(headersOf({ style: "messages", clientHeader })["anthropic-beta"], "mine");
  assertEquals(headersOf({ style: "messages" })["anthropic-beta"], undefined);
  assertEquals(headersOf({ style: "chat", clientHeader })["anthropic-beta"], undefined);
});
