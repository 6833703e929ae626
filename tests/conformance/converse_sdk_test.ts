/** The vendor's own library writes a converted request as it is, and reads the streams by which this suite judges. */
import {
  BedrockRuntimeClient,
  ConverseCommand,
  type ConverseCommandInput,
  ConverseStreamCommand,
} from "@aws-sdk/client-bedrock-runtime";
import * as fc from "../support/property.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";
import { convertRequest, type Style, withoutPathMembers } from "../../core/wire/mod.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { converseCloud } from "../support/servers/converse_cloud.ts";
import { awsKey, FakeCloud } from "../support/servers/fake_cloud.ts";
import { chatRequest } from "./random_chat.ts";
import { geminiRequest } from "./random_gemini.ts";
import { messagesRequest } from "./random_messages.ts";
import { responsesRequest } from "./random_responses.ts";
import { styles } from "./recordings.ts";
import { fetchedFor, routes } from "./routes.ts";

const requests: Readonly<Record<Style, fc.Arbitrary<JsonObject>>> = {
  messages: messagesRequest,
  chat: chatRequest,
  responses: responsesRequest,
  gemini: geminiRequest,
};

/** Members whose values are data of models and callers, which the library does not know. */
const opaque: ReadonlySet<string> = new Set(["json", "input", "additionalModelRequestFields"]);

/** Puts bytes where the library wants them in place of base64. */
function withBytes(value: Json): unknown {
  if (Array.isArray(value)) return value.map(withBytes);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const isData = (name === "bytes" || name === "redactedContent") && typeof member === "string";
      if (isData) return [name, Uint8Array.fromBase64(member)];
      return [name, opaque.has(name) ? member : withBytes(member ?? null)];
    }),
  );
}

interface SdkRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: BodyInit;
}

function newClient(cloud: FakeCloud): BedrockRuntimeClient {
  return new BedrockRuntimeClient({
    region: "us-east-1",
    endpoint: cloud.origin,
    credentials: awsKey,
    maxAttempts: 1,
    // Over HTTP/1.1: with HTTP/2 the library signs another header than the host.
    requestHandler: {
      async handle({ method, path, headers, body }: SdkRequest) {
        const sent = await fetch(cloud.origin + path, { method, headers, body: body ?? null });
        return {
          response: {
            statusCode: sent.status,
            headers: Object.fromEntries(sent.headers),
            body: sent.body,
          },
        };
      },
    },
  });
}

const options = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "AWS's library sends converted requests unchanged: it knows each of their members",
  options,
  async () => {
    await using cloud = await FakeCloud.start();
    cloud.answer = () => Response.json({ output: {}, stopReason: "end_turn" });
    const client = newClient(cloud);
    for (const from of styles) {
      for (const [i, body] of fc.sample(requests[from], 60).entries()) {
        const conversion = convertRequest(from, "converse", body, {
          capabilities: routes.converse[i % routes.converse.length] ?? {},
          upstreamModel: "m",
          maxOutputTokens: 32_000,
          ...fetchedFor("converse"),
        });
        if (!conversion.ok) throw conversion.error;
        const sent = withoutPathMembers(conversion.request.body);
        const input = { modelId: "m", ...Object(withBytes(sent)) } as ConverseCommandInput;
        await client.send(new ConverseCommand(input));
        assertEquals(
          JSON.parse(cloud.requests.at(-1)?.text ?? ""),
          JSON.parse(JSON.stringify(sent)),
        );
      }
    }
    client.destroy();
  },
);

Deno.test(
  "AWS's library reads the frames of this suite's Bedrock, and signs for it",
  options,
  async () => {
    await using cloud = await FakeCloud.start();
    cloud.answer = converseCloud;
    const client = newClient(cloud);
    const { stream } = await client.send(
      new ConverseStreamCommand({
        modelId: "m",
        messages: [{ role: "user", content: [{ text: "Tell me of rivers" }] }],
      }),
    );
    assert(stream !== undefined);
    let text = "";
    let stop: string | undefined;
    let tokens: number | undefined;
    for await (const event of stream) {
      text += event.contentBlockDelta?.delta?.text ?? "";
      stop = event.messageStop?.stopReason ?? stop;
      tokens = event.metadata?.usage?.outputTokens ?? tokens;
    }
    assertEquals([text, stop], ["You said: Tell me of rivers", "end_turn"]);
    assert(tokens !== undefined && tokens > 0);
    client.destroy();
  },
);
