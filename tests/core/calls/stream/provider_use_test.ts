import { assertEquals } from "../../../support/assert.ts";
import { type EndedReading, providerUseOf } from "../../../../core/calls/bounds/chat_charge.ts";
import { noTokens } from "../../../../core/billing/tokens/token_bounds.ts";

const charged = { ...noTokens, input: 10, output: 40 };
const reported = { ...noTokens, input: 12, cacheRead: 88, output: 3 };

function reading(some: Partial<EndedReading> = {}): EndedReading {
  return {
    usage: reported,
    usageRejected: false,
    outputBytes: 160,
    sawOutput: true,
    stopReason: "stop",
    ...some,
  };
}

const use = (
  outcome: "completed" | "client_gone" | "broken",
  read: EndedReading | undefined,
  carriedTier?: string,
) => providerUseOf({ outcome, reading: read, charged, carriedTier });

Deno.test("the provider's whole report counts, also beyond what is charged", () => {
  assertEquals(use("completed", reading()), { usage: reported });
});

Deno.test("a stream that ended early has consumed the reported prompt and the output that arrived", () => {
  const early = reading({ stopReason: undefined });
  assertEquals(use("client_gone", early), { usage: { ...reported, output: 40 } });
  assertEquals(use("broken", early), { usage: { ...reported, output: 40 } });
  assertEquals(use("client_gone", reading()), { usage: reported }, "the end had been reported");
});

Deno.test("without a report the gateway's own count is the best there is", () => {
  assertEquals(use("completed", reading({ usage: undefined })), { usage: charged });
  assertEquals(use("client_gone", undefined), { usage: charged });
});

Deno.test("the tier that ran counts, else the one that the route was asked for", () => {
  assertEquals(use("completed", reading({ serviceTier: "PRIORITY" }), "flex").tier, "priority");
  assertEquals(use("completed", reading({ serviceTier: "default" }), "flex").tier, undefined);
  assertEquals(use("completed", reading(), "flex").tier, "flex");
  assertEquals(use("completed", reading(), "default").tier, undefined);
});
