/**
 * Requests that between them hold every member a vendor's own schema knows, each with a value that asks for something.
 * Members that other styles refuse stand in small requests of their own.
 */
import type { Style } from "../../../../core/wire/contract/contract.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { wholeChatRequests } from "./whole_chat_requests.ts";
import { wholeGeminiRequests } from "./whole_gemini_requests.ts";
import { wholeMessagesRequests } from "./whole_messages_requests.ts";
import { wholeResponsesRequests } from "./whole_responses_requests.ts";

export const wholeRequests: Readonly<Record<Style, readonly JsonObject[]>> = {
  messages: wholeMessagesRequests,
  chat: wholeChatRequests,
  responses: wholeResponsesRequests,
  gemini: wholeGeminiRequests,
};
