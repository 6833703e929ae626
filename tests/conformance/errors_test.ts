/**
 * Recorded failures reach every client in its own form: none is shown as the client's own fault that is ours, and an
 * error inside a stream never looks like an end.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { errorBody, type ErrorCode } from "../../core/lib/errors/errors.ts";
import type { Style } from "../../core/wire/contract/contract.ts";
import { createConvertingPipe } from "../../core/wire/convert/converting_pipe.ts";
import { decodeProviderError } from "../../core/wire/convert/provider_errors.ts";
import { concatBytes } from "../support/strict_client/strict_client.ts";
import { context, readStream } from "./clients.ts";
import { otherStyles, readRecordings, recordingsFolder } from "./recordings.ts";

/** Recordings of failures are named by the style or by the server. */
function styleOf(name: string): Style {
  if (name.startsWith("messages")) return "messages";
  return name.startsWith("responses") ? "responses" : "chat";
}

const meanings: Record<string, ErrorCode> = {
  "errors/chat-400-bad-request": "invalid_request",
  "errors/chat-400-developer-role": "invalid_request",
  "errors/chat-400-tool-id-too-long": "invalid_request",
  "errors/chat-401": "upstream_unreachable",
  "errors/chat-404-model": "model_not_found",
  "errors/messages-400-effort": "invalid_request",
  "errors/messages-401": "upstream_unreachable",
  "errors/messages-404-model": "model_not_found",
  "errors/messages-429": "rate_limit_exceeded",
  "errors/messages-529": "overloaded",
  "errors/openrouter-429": "rate_limit_exceeded",
  "errors/groq-error-mid-stream": "invalid_request",
  "errors/messages-overloaded-mid-stream": "overloaded",
  "errors/responses-failed-stream": "upstream_unreachable",
};

const folder = recordingsFolder();
if (folder === undefined) {
  Deno.test({
    name: "recorded failures: WIRE_FIXTURES is not set",
    ignore: true,
    fn: () => {},
  });
}

for (const recording of folder === undefined ? [] : readRecordings(folder, "errors", styleOf)) {
  const { name, style, status, answer, stream } = recording;
  const meaning = meanings[name];

  if (stream === undefined) {
    Deno.test(`${name}: is ${meaning ?? "an error"} to the client`, () => {
      const error = decodeProviderError(style, status, JSON.stringify(answer));
      if (meaning !== undefined) assertEquals(error.code, meaning);
      assert(error.status !== 401 && error.status !== 403);
      for (const client of ["messages", "chat"] as const) {
        const body = JSON.stringify(errorBody(error, client, "req_1"));
        assert(!/https?:|api\.|request_id":"req_0|user_REDACTED/.test(body), body);
      }
    });
    continue;
  }

  for (const to of otherStyles(style)) {
    Deno.test(`${name}: a strict ${to} client reads the error`, () => {
      const pipe = createConvertingPipe(style, to, context, {});
      const out = [pipe.push(stream)];
      assertEquals(pipe.reading.state, "error");
      if (meaning !== undefined) assertEquals(pipe.reading.error?.code, meaning);
      out.push(pipe.end());
      const outcome = readStream(to, concatBytes(out));
      assert(outcome.kind === "error");
      assertEquals(outcome.text, pipe.reading.error?.message);
    });
  }
}
