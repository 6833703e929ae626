/** The table of wire styles: one entry for each folder. */
import { chatDialect } from "../chat/dialect.ts";
import type { ProviderStyle, Style } from "../contract/contract.ts";
import { converseDialect } from "../converse/dialect.ts";
import type { Dialect, ProviderDialect } from "../stream/dialect.ts";
import { geminiDialect } from "../gemini/dialect.ts";
import { messagesDialect } from "../messages/dialect.ts";
import { responsesDialect } from "../responses/dialect.ts";

const dialects: Readonly<Record<Style, Dialect>> = {
  messages: messagesDialect,
  chat: chatDialect,
  responses: responsesDialect,
  gemini: geminiDialect,
};

/** The dialect of a style that clients speak. */
export function dialectOf(style: Style): Dialect {
  return dialects[style];
}

/** The provider's side of a style. */
export function providerDialectOf(style: ProviderStyle): ProviderDialect {
  return style === "converse" ? converseDialect : dialects[style];
}
