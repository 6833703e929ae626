/** Random requests of each style convert to what a vendor of every other style accepts, on every kind of route. */
import { assertEquals } from "../support/assert.ts";
import * as fc from "../support/property.ts";
import type { Style } from "../../core/wire/contract/contract.ts";
import { convertRequest } from "../../core/wire/convert/convert.ts";
import { validateRequest } from "../../sandbox/vendor_validators/validators.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { chatRequest } from "./random_chat.ts";
import { geminiRequest } from "./random_gemini.ts";
import { messagesRequest } from "./random_messages.ts";
import { responsesRequest } from "./random_responses.ts";
import { styles, targetStyles } from "./recordings.ts";
import { fetchedFor, routes } from "./routes.ts";

const requests: Record<Style, fc.Arbitrary<JsonObject>> = {
  messages: messagesRequest,
  chat: chatRequest,
  responses: responsesRequest,
  gemini: geminiRequest,
};

for (const from of styles) {
  for (const to of targetStyles(from)) {
    Deno.test(`a random ${from} request converts to what a ${to} vendor accepts`, () => {
      fc.assert(
        fc.property(requests[from], fc.constantFrom(...routes[to]), (body, capabilities) => {
          const options = {
            capabilities,
            upstreamModel: "up-1",
            maxOutputTokens: 32_000,
            ...fetchedFor(to),
          };
          const conversion = convertRequest(from, to, body, options);
          if (!conversion.ok) throw conversion.error;
          const converted = conversion.request.body;
          assertEquals(validateRequest(to, converted), undefined, JSON.stringify(converted));
        }),
        { numRuns: 400 },
      );
    });

    Deno.test(`a random ${from} request converts to ${to} the same way every time`, () => {
      fc.assert(
        fc.property(requests[from], fc.constantFrom(...routes[to]), (body, capabilities) => {
          const options = {
            capabilities,
            upstreamModel: "up-1",
            maxOutputTokens: 32_000,
            ...fetchedFor(to),
          };
          const before = JSON.stringify(body);
          const first = convertRequest(from, to, body, options);
          const second = convertRequest(from, to, body, options);
          assertEquals(JSON.stringify(first), JSON.stringify(second));
          // The next route may need the client's original body.
          assertEquals(JSON.stringify(body), before);
        }),
        { numRuns: 100 },
      );
    });
  }
}
