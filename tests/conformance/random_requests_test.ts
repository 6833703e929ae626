/** Random requests of each style convert to what a vendor of every other style accepts, on every kind of route. */
import { assertEquals } from "../support/assert.ts";
import * as fc from "../support/property.ts";
import type { ProviderStyle, Style } from "../../core/wire/contract/contract.ts";
import { convertRequest } from "../../core/wire/convert/convert.ts";
import { validateRequest } from "../../sandbox/vendor_validators/validators.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";
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

/** The least `top_p` that models with fixed sampling take; the others take none. */
const leastTopP: Readonly<Partial<Record<ProviderStyle, number>>> = { messages: 0.99 };

/** A request with sampling, and the paths of its two numbers. */
function sampledRequest(
  style: Style,
  temperature: number,
  topP: number,
): { readonly body: JsonObject; readonly paths: readonly [string, string] } {
  const messages = [{ role: "user", content: "Hi" }];
  const sampling = { temperature, top_p: topP };
  const paths = ["temperature", "top_p"] as const;
  switch (style) {
    case "messages":
      return { body: { model: "m", max_tokens: 9, messages, ...sampling }, paths };
    case "chat":
      return { body: { model: "m", messages, ...sampling }, paths };
    case "responses":
      return { body: { model: "m", input: "Hi", ...sampling }, paths };
    case "gemini":
      return {
        body: {
          model: "m",
          contents: [{ role: "user", parts: [{ text: "Hi" }] }],
          generationConfig: { temperature, topP },
        },
        paths: ["generationConfig.temperature", "generationConfig.topP"],
      };
  }
}

/** A member of a body, wherever its style has the settings of the answer. */
function settingOf(body: JsonObject, names: readonly string[]): Json | undefined {
  const places = [body, body["generationConfig"], body["inferenceConfig"]].filter(isJsonObject);
  return places.flatMap((place) => names.map((name) => place[name]))
    .find((value) => value !== undefined);
}

const fraction = fc.oneof(fc.constantFrom(0, 0.5, 1), fc.double({ min: 0.9, max: 1, noNaN: true }));

for (const from of styles) {
  for (const to of targetStyles(from)) {
    Deno.test(`of a ${from} client's sampling, what a ${to} model with fixed sampling does not take is named`, () => {
      fc.assert(
        fc.property(fraction, fraction, (temperature, topP) => {
          const { body, paths } = sampledRequest(from, temperature, topP);
          const conversion = convertRequest(from, to, body, {
            capabilities: { sampling: "fixed" },
            upstreamModel: "up-1",
            maxOutputTokens: 32_000,
          });
          if (!conversion.ok) throw conversion.error;
          const { body: sent, dropped } = conversion.request;
          const takesTopP = topP >= (leastTopP[to] ?? Infinity);
          assertEquals(settingOf(sent, ["temperature"]), undefined);
          assertEquals(settingOf(sent, ["top_p", "topP"]), takesTopP ? topP : undefined);
          assertEquals(
            paths.filter((path) => dropped.includes(path)),
            paths.filter((_, i) => i === 0 ? temperature !== 1 : !takesTopP && topP !== 1),
          );
        }),
        { numRuns: 50 },
      );
    });
  }
}
