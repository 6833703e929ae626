/** The table of wire styles: one entry for each folder. */
import { chatDialect } from "../chat/dialect.ts";
import type { PipeContext, ProviderStyle, StreamPipe, Style } from "../contract/contract.ts";
import { converseDialect } from "../converse/dialect.ts";
import type { Dialect, ProviderDialect } from "../stream/dialect.ts";
import { geminiDialect } from "../gemini/dialect.ts";
import { messagesDialect } from "../messages/dialect.ts";
import { responsesDialect } from "../responses/dialect.ts";
import { createChatNativePipe } from "../chat/stream/meter.ts";
import { createGeminiNativePipe } from "../gemini/stream/meter.ts";
import { createMessagesNativePipe } from "../messages/stream/meter.ts";
import { createResponsesNativePipe } from "../responses/stream/meter.ts";

/** Properties of a call that a native pipe needs. */
export interface NativePipeContext extends PipeContext {
  /** Chat: the gateway itself asked the upstream for usage, so the client must not see it unless it asked too. */
  readonly injectedUsage: boolean;
  /** Chat: tool calls that break the contract of the style are repaired. */
  readonly repairsCalls?: boolean;
}

/**
 * Creates a pipe for a client that speaks the upstream's style: bytes pass unchanged, usage and state are read.
 *
 * @example
 * ```ts
 * import { createNativePipe } from "./dialects.ts";
 * const pipe = createNativePipe("chat", {
 *   clientModel: "m",
 *   requestId: "req_1",
 *   clientWantsUsage: false,
 *   nowSeconds: 0,
 *   injectedUsage: true,
 * });
 * const sent = 'data: {"choices":[{"delta":{"content":"Hi"}}],"usage":null}\n\ndata: [DONE]\n\n';
 * const passed = new TextDecoder().decode(pipe.push(new TextEncoder().encode(sent)));
 * if (passed !== 'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n') throw new Error(passed);
 * if (new TextDecoder().decode(pipe.end()) !== "data: [DONE]\n\n") throw new Error("the end was not held");
 * ```
 */
export function createNativePipe(style: Style, context: NativePipeContext): StreamPipe {
  switch (style) {
    case "messages":
      return createMessagesNativePipe(context);
    case "chat":
      return createChatNativePipe(context);
    case "responses":
      return createResponsesNativePipe(context);
    case "gemini":
      return createGeminiNativePipe(context);
  }
}

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
