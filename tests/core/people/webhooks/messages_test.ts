/** Messages to chats: every event, in every language, in the form of every service. */
import { z } from "zod";
import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import {
  type ChatAddress,
  type ChatKind,
  chatServices,
  destinationKinds,
  saidLine,
  shownAddress,
} from "../../../../core/people/webhooks/destinations.ts";
import {
  eventMessage,
  type MessageReader,
} from "../../../../core/people/webhooks/event_message.ts";
import {
  exampleEvent,
  parseWebhookEvent,
  webhookKinds,
} from "../../../../core/people/webhooks/events.ts";

const chatKinds = destinationKinds.filter((kind) => kind !== "webhook");

const accountId = newId("account", 0);
const baseUrl = "https://gateway.example";
const token = "123456789:AAbbCCddEEff-gg_HHiiJJkkLLmmNNooPPqq";

const addresses: Readonly<Record<ChatKind, ChatAddress>> = {
  slack: { url: "https://hooks.slack.com/services/T0001/B0002/SecretOfTheChannel" },
  telegram: { url: "https://api.telegram.org", bot: { token, chatId: "-1001234" } },
  zalo: {
    url: "https://bot-api.zaloplatforms.com",
    bot: { token, chatId: "6ede9afa66b88fe6d6a9" },
  },
};

/** What each service takes, by its documentation: forms and bounds. */
const plainText = (maxChars: number) =>
  z.strictObject({
    type: z.literal("plain_text"),
    text: z.string().min(1).max(maxChars),
    emoji: z.literal(false),
  });
const slackHeader = z.strictObject({ type: z.literal("header"), text: plainText(150) });
const slackText = z.strictObject({ type: z.literal("section"), text: plainText(3_000) });
const slackLink = z.strictObject({
  type: z.literal("section"),
  text: z.strictObject({ type: z.literal("mrkdwn"), text: z.string().min(1).max(3_000) }),
});
const forms = {
  slack: z.strictObject({
    text: z.string().min(1).max(4_000),
    blocks: z.union([
      z.tuple([slackHeader, slackText, slackLink]),
      z.tuple([slackHeader, slackLink]),
    ]),
  }),
  telegram: z.strictObject({
    chat_id: z.literal("-1001234"),
    text: z.string().min(1),
    parse_mode: z.literal("HTML"),
    link_preview_options: z.strictObject({ is_disabled: z.literal(true) }),
  }),
  zalo: z.strictObject({
    chat_id: z.literal("6ede9afa66b88fe6d6a9"),
    text: z.string().min(1).max(2_000),
  }),
} satisfies Record<ChatKind, z.ZodType>;

const paths: Readonly<Record<ChatKind, string>> = {
  slack: addresses.slack.url,
  telegram: `https://api.telegram.org/bot${token}/sendMessage`,
  zalo: `https://bot-api.zaloplatforms.com/bot${token}/sendMessage`,
};

/** The text of a message as people read it. Telegram counts its characters without markup. */
function readable(kind: ChatKind, body: string): string {
  const unescaped = (text: string) =>
    text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  switch (kind) {
    case "slack": {
      const { text, blocks } = forms.slack.parse(JSON.parse(body));
      return [text, ...blocks.map((block) => block.text.text)].map(unescaped).join("\n");
    }
    case "telegram": {
      const { text } = forms.telegram.parse(JSON.parse(body));
      const [, url = ""] = /<a href="([^"]*)">/.exec(text) ?? [];
      // Nothing is left that looks like a tag, but the two of the form.
      const plain = text.replace(/^<b>([^<]*)<\/b>/, "$1").replace(
        /<a href="[^"<]*">([^<]*)<\/a>$/,
        "$1",
      );
      assert(!plain.includes("<"), plain);
      assert(unescaped(plain).length <= 4_096);
      return unescaped(`${plain} ${url}`);
    }
    case "zalo":
      return forms.zalo.parse(JSON.parse(body)).text;
  }
}

const readers: readonly MessageReader[] = (["en", "vi"] as const).flatMap((locale) =>
  [true, false].flatMap((isTest) =>
    ["Acme <!channel> & Söhne", undefined].map((organisation) => ({
      locale,
      isTest,
      baseUrl,
      accountName: organisation ?? "ann@example.com",
      about: { accountId, ...(organisation !== undefined && { organisation }) },
    }))
  )
);

Deno.test("every event has a message of the service's form, in each language, with its page", () => {
  for (const kind of chatKinds) {
    for (const type of webhookKinds) {
      const texts = new Set<string>();
      for (const reader of readers) {
        const what = JSON.stringify({ kind, type, reader });
        const message = eventMessage(exampleEvent(type), reader);
        const { url, body } = chatServices[kind].request(addresses[kind], message);
        assertEquals(url, paths[kind], what);
        assert(!body.includes(token), what);
        const text = readable(kind, body);
        for (const part of [message.title, ...message.paragraphs, message.link.url]) {
          assert(text.includes(part), `${what}: ${part} is not in ${text}`);
        }
        assert(message.link.url.startsWith(`${baseUrl}/`), what);
        assert(message.link.url.endsWith(`?organisation=${accountId}`), what);
        assert(!/undefined|\[object|NaN/.test(text), text);
        assertEquals(/^(?:Test|Gửi thử): /.test(message.title), reader.isTest);
        const { organisation } = reader.about;
        if (organisation !== undefined) assert(text.includes(organisation), what);
        texts.add(text);
      }
      assertEquals(texts.size, readers.length, `${type}: languages and readers differ`);
    }
  }
});

Deno.test("whatever people write, a message keeps its bounds, its link, and no markup of theirs", () => {
  const line = fc.string({ unit: "binary", maxLength: 200 });
  const longText = fc.oneof(
    fc.string({ unit: "binary", maxLength: 2_000 }),
    fc.constantFrom("<!channel> ".repeat(180), "&".repeat(2_000), "ế😀".repeat(600)),
  );
  fc.assert(
    fc.property(line, longText, fc.constantFrom(...chatKinds), (title, text, kind) => {
      const event = parseWebhookEvent({
        type: "incident.opened",
        data: { incident_id: "ann_1", title, text, started_at: "2026-11-28T03:00:00.000Z" },
      });
      for (const reader of readers) {
        const message = eventMessage(event, reader);
        const { body } = chatServices[kind].request(addresses[kind], message);
        assert(readable(kind, body).includes(message.link.url));
        if (kind === "slack") {
          const { blocks, text: notified } = forms.slack.parse(JSON.parse(body));
          const link = blocks[blocks.length - 1]!;
          assert(!/<(?!https:\/\/gateway\.example\/)/.test(link.text.text + notified));
        }
      }
    }),
    { numRuns: 60 },
  );
});

const taken = {
  slack: ["ok", " ok\n", '{"ok":true}'],
  telegram: ['{"ok":true,"result":{"message_id":7}}'],
  zalo: ['{"ok":true,"result":{"message_id":"m","date":1}}'],
} satisfies Record<ChatKind, string[]>;

Deno.test("an answer that does not say ok is a failure, whatever it is", () => {
  const answer = fc.oneof(
    fc.constantFrom(
      "",
      "invalid_payload",
      "no_service",
      "okay",
      "<html>",
      "null",
      "[]",
      "true",
      '"ok"',
      '{"ok":"true"}',
      '{"ok":1}',
      '{"ok":false,"error_code":400,"description":"chat not found"}',
    ),
    fc.string(),
    fc.json(),
  );
  fc.assert(fc.property(answer, fc.constantFrom(...chatKinds), (body, kind) => {
    const isOk = kind === "slack" && body.trim() === "ok";
    assertEquals(chatServices[kind].read(body).isTaken, isOk);
  }));
  for (const kind of chatKinds) {
    for (const body of taken[kind]) {
      assert(chatServices[kind].read(body).isTaken, `${kind} ${body}`);
    }
  }
  assertEquals(
    chatServices.telegram.read(
      '{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 35","parameters":{"retry_after":35}}',
    ),
    { isTaken: false, says: "429 Too Many Requests: retry after 35", retryAfterSeconds: 35 },
  );
});

Deno.test("neither what is shown of an address nor what a service said has a secret of it", () => {
  const around = fc.string({ unit: "binary", maxLength: 30 });
  fc.assert(fc.property(around, around, fc.constantFrom(...chatKinds), (before, after, kind) => {
    const address = addresses[kind];
    const secrets = address.bot === undefined
      ? [address.url, "SecretOfTheChannel"]
      : [token, token.slice(10), `bot${token}/sendMessage`];
    for (const secret of secrets) {
      const said = saidLine(before + secret + after, address);
      assert(!/SecretOfTheChannel|AAbbCCdd/.test(said), said);
      assert(said.length <= 200 && !/\p{Cc}/u.test(said));
    }
    assert(!/Secret|AAbbCC/.test(shownAddress(kind, address.url)));
  }));
});
