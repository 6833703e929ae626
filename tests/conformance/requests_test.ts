/**
 * Every recorded request converts to every other style, and the vendor of that style would accept it; or it is
 * refused, for the reason written down here.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { convertRequest } from "../../core/wire/convert/convert.ts";
import { validateRequest } from "../../sandbox/vendor_validators/validators.ts";
import { describeRecordings, targetStyles } from "./recordings.ts";
import { fetchedFor, routes } from "./routes.ts";

/** Requests that are right, but only at the server they were sent to: their own vendor's schema refuses them. */
const ofOtherServers: Record<string, string> = {
  "chat/deepseek-reasoning-parallel-tools": "messages[3].reasoning_content",
  "chat/deepseek-reasoning-stream": "thinking",
  "chat/openrouter-claude-reasoning-stream": "reasoning",
};

/** Recordings that are not chat calls, with the reason. */
const notCalls: Record<string, string> = {
  "messages/count-tokens-tools": "a count_tokens request has no max_tokens",
};

/** Requests that another style cannot carry, with the style: the field that the refusal names. */
const refused: Record<string, string> = {
  "chat/n-2-tools-stream messages": "n",
  "chat/n-2-tools-stream responses": "n",
  "chat/n-2-tools-stream converse": "n",
  "messages/web-search-citations-thinking chat": "tools.0",
  "responses/web-search chat": "tools.0",
  "messages/web-search-citations-thinking converse": "tools.0",
  "responses/web-search converse": "tools.0",
};

describeRecordings("recorded requests", (recordings) => {
  for (const { name, style, status, request } of recordings) {
    if (request === undefined || status !== 200 || name in notCalls) continue;

    Deno.test(`${name}: the vendor validator of its own style agrees with the vendor`, () => {
      const refusal = validateRequest(style, request);
      const expected = ofOtherServers[name];
      if (expected === undefined) assertEquals(refusal, undefined);
      else assert(refusal?.includes(`'${expected}'`), `${refusal} should name ${expected}`);
    });

    for (const to of targetStyles(style)) {
      Deno.test(`${name}: converts to what a ${to} vendor accepts`, () => {
        for (const capabilities of routes[to]) {
          const options = {
            capabilities,
            upstreamModel: "up-1",
            maxOutputTokens: 32_000,
            ...fetchedFor(to),
          };
          const conversion = convertRequest(style, to, request, options);
          const field = refused[`${name} ${to}`];
          if (field !== undefined) {
            assert(!conversion.ok && conversion.error.param === field);
            continue;
          }
          if (!conversion.ok) throw conversion.error;
          const { body } = conversion.request;
          const told = JSON.stringify({ capabilities, body });
          assertEquals(validateRequest(to, body), undefined, told);
        }
      });
    }
  }
});
