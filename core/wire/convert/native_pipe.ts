import { createChatNativePipe } from "../chat/stream/native_pipe.ts";
import type { PipeContext, StreamPipe, Style } from "../contract/contract.ts";
import { createGeminiNativePipe } from "../gemini/stream/native_pipe.ts";
import { createMessagesNativePipe } from "../messages/stream/native_pipe.ts";
import { createResponsesNativePipe } from "../responses/stream/native_pipe.ts";

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
 * import { createNativePipe } from "./native_pipe.ts";
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
