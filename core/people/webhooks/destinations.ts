/** Destinations of events: signed to a server, or to a chat in the form of its service. One table has all services. */
import { z } from "zod";
import { tryParseExactly } from "../../lib/json/exact_json.ts";
import type { EventMessage } from "./event_message.ts";

/** The kinds of destinations, in the order of pages and documents. */
export const destinationKinds = ["webhook", "slack", "telegram", "zalo"] as const;

/** A kind of destination: a server that gets signed webhooks, or a chat. */
export type DestinationKind = typeof destinationKinds[number];

/** A chat service. */
export type ChatKind = Exclude<DestinationKind, "webhook">;

/** The servers of services in whose chats a bot writes, unless its owner names another server. */
export const botServers = {
  telegram: "https://api.telegram.org",
  zalo: "https://bot-api.zaloplatforms.com",
} as const satisfies Partial<Record<ChatKind, string>>;

/** A service in whose chats a bot writes. Those of others have an address to which all is posted. */
export type BotKind = keyof typeof botServers;

/** Whether a bot writes to a destination. */
export function hasBot(kind: DestinationKind): kind is BotKind {
  return Object.hasOwn(botServers, kind);
}

/** Address of the messages of an endpoint. Sealed as a whole, so that a token goes to no other address or chat. */
export interface ChatAddress {
  /** The address itself, or the server of a bot. */
  readonly url: string;
  readonly bot?: { readonly token: string; readonly chatId: string } | undefined;
}

const chatAddress = z.object({
  url: z.string(),
  bot: z.object({ token: z.string(), chatId: z.string() }).optional(),
});

/** Writes an address to be sealed. */
export function chatAddressText({ url, bot }: ChatAddress): string {
  return JSON.stringify({ url, bot });
}

/** Reads an unsealed address. Throws what zod throws. */
export function readChatAddress(text: string): ChatAddress {
  return chatAddress.parse(JSON.parse(text));
}

/** Tokens of bots at Telegram and Zalo: a number, a colon, and a secret that needs no escape in a path. */
export const botToken = /^\d{1,30}:[\w-]{10,200}$/;

/** Characters of the id of a chat: far more than the services use. */
export const maxChatIdChars = 65;

/** Chats: a number (negative for groups), the `@name` of a channel, or an id in letters. */
export const chatIdForm = /^(?:-?\d{1,20}|@?\w{1,64})$/;

/** A message in the form of its service. */
export interface ChatRequest {
  readonly url: string;
  readonly body: string;
}

/** The answer of a service. */
export interface ChatAnswer {
  /** Whether it has taken the message. */
  readonly isTaken: boolean;
  /** In its own words; empty: it said nothing. */
  readonly says: string;
  /** The pause that it asks for. */
  readonly retryAfterSeconds?: number | undefined;
}

/** The forms of a chat service. */
interface ChatService {
  readonly request: (address: ChatAddress, message: EventMessage) => ChatRequest;
  readonly read: (body: string) => ChatAnswer;
}

/** Shortens a text to so many code units, between two characters. */
function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return `${text.slice(0, maxChars - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** Escapes what Slack and Telegram read as markup, mentions of everybody included. */
function escaped(text: string): string {
  return text.replace(/[&<>]/g, (sign) => escapes[sign] ?? sign);
}

/** Characters of a header and of a section of Slack. */
const maxSlackHeaderChars = 150;
const maxSlackSectionChars = 3_000;

/** Characters of a message to Telegram (counted without markup) and to Zalo. */
const maxTelegramChars = 4_096;
const maxZaloChars = 2_000;

/** Characters of a title in a message: a name of an organisation, and what happened to a thing with a name. */
const maxTitleChars = 500;

/** The title and the paragraphs of a message, in so many characters with what stands around them. */
function within({ title, paragraphs, link }: EventMessage, maxChars: number) {
  const head = cut(title, maxTitleChars);
  // Two blank lines, and a space between the label and the address.
  const around = head.length + link.label.length + link.url.length + 6;
  return { head, text: cut(paragraphs.join("\n\n"), maxChars - around) };
}

/** The form of the answers of bots, at Telegram and at Zalo. */
const botAnswer = z.object({
  ok: z.boolean(),
  description: z.string().optional(),
  error_code: z.number().optional(),
  parameters: z.object({ retry_after: z.number().positive().optional() }).optional(),
});

function readBotAnswer(body: string): ChatAnswer {
  const { data } = botAnswer.safeParse(tryParseExactly(body));
  if (data === undefined) return { isTaken: false, says: body };
  const { ok, description = "", error_code, parameters } = data;
  const code = error_code === undefined ? "" : `${error_code} `;
  return {
    isTaken: ok,
    says: ok ? "ok" : `${code}${description}`.trim(),
    retryAfterSeconds: parameters?.retry_after,
  };
}

/** Builds a request to the method of a bot that sends a message. */
function botRequest(
  { url, bot }: ChatAddress,
  message: Readonly<Record<string, unknown>>,
): ChatRequest {
  if (bot === undefined) throw new TypeError("A bot needs a token and a chat");
  return {
    url: `${url}/bot${bot.token}/sendMessage`,
    body: JSON.stringify({ chat_id: bot.chatId, ...message }),
  };
}

/** All chat services. */
export const chatServices: Readonly<Record<ChatKind, ChatService>> = {
  slack: {
    request({ url }, { title, paragraphs, link }) {
      // Texts that people write get no markup.
      const plain = (text: string, maxChars: number) =>
        ({ type: "plain_text", text: cut(text, maxChars), emoji: false }) as const;
      const text = paragraphs.join("\n\n").trim();
      const linked = `<${escaped(link.url)}|${escaped(link.label)}>`;
      const blocks = [
        { type: "header", text: plain(title, maxSlackHeaderChars) },
        // An empty one is refused.
        ...(text === "" ? [] : [{ type: "section", text: plain(text, maxSlackSectionChars) }]),
        { type: "section", text: { type: "mrkdwn", text: linked } },
      ];
      // The text is for notifications, and for servers that show no blocks.
      return { url, body: JSON.stringify({ text: escaped(cut(title, maxTitleChars)), blocks }) };
    },
    // Workflows answer with JSON, incoming webhooks with a word.
    read: (body) =>
      body.trimStart().startsWith("{")
        ? readBotAnswer(body)
        : { isTaken: body.trim() === "ok", says: body },
  },
  telegram: {
    request(address, message) {
      const { head, text } = within(message, maxTelegramChars);
      const { label, url } = message.link;
      return botRequest(address, {
        text: `<b>${escaped(head)}</b>\n\n${escaped(text)}\n\n<a href="${escaped(url)}">${
          escaped(label)
        }</a>`,
        parse_mode: "HTML",
        link_preview_options: { is_disabled: true },
      });
    },
    read: readBotAnswer,
  },
  zalo: {
    request(address, message) {
      const { head, text } = within(message, maxZaloChars);
      const { label, url } = message.link;
      return botRequest(address, { text: `${head}\n\n${text}\n\n${label}: ${url}` });
    },
    read: readBotAnswer,
  },
};

/** Address as pages and logs show it: of one that is a secret itself, only the server. */
export function shownAddress(kind: ChatKind, url: string): string {
  return hasBot(kind) ? url : `${new URL(url).origin}/…`;
}

/** Characters of an answer that the log keeps. */
const maxSaidChars = 200;

/** Returns what a service said as one line for the log, without the secrets of the address if it repeats them. */
export function saidLine(says: string, { url, bot }: ChatAddress): string {
  const { pathname, search } = new URL(url);
  const secrets = bot === undefined ? [`${pathname}${search}`, pathname, ...pathname.split("/")] : [
    bot.token,
    bot.token.slice(bot.token.indexOf(":") + 1),
  ];
  // Short parts of a path, such as "services", are no secrets.
  const minSecretChars = 9;
  const without = secrets.filter((secret) => secret.length >= minSecretChars)
    .reduce((text, secret) => text.replaceAll(secret, "…"), says);
  return cut(without.replace(/[\s\p{Cc}]+/gu, " ").trim(), maxSaidChars);
}
