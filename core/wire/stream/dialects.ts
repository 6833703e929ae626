/** The table of wire styles: one entry for each folder. */
import { chatDialect } from "../chat/dialect.ts";
import type { Style } from "../contract.ts";
import type { Dialect } from "./dialect.ts";
import { geminiDialect } from "../gemini/dialect.ts";
import { messagesDialect } from "../messages/dialect.ts";
import { responsesDialect } from "../responses/dialect.ts";

const dialects: Readonly<Record<Style, Dialect>> = {
  messages: messagesDialect,
  chat: chatDialect,
  responses: responsesDialect,
  gemini: geminiDialect,
};

/** The dialect of a style. */
export function dialectOf(style: Style): Dialect {
  return dialects[style];
}
