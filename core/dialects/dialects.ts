/** The table of wire styles: one line per folder. */
import { chatDialect } from "./chat/dialect.ts";
import type { Style } from "./contract.ts";
import type { Dialect } from "./dialect.ts";
import { messagesDialect } from "./messages/dialect.ts";
import { invariant } from "../assert.ts";

const dialects: Readonly<Partial<Record<Style, Dialect>>> = {
  messages: messagesDialect,
  chat: chatDialect,
};

export function dialectOf(style: Style): Dialect {
  const dialect = dialects[style];
  invariant(dialect !== undefined, `there is a dialect for ${style}`);
  return dialect;
}
