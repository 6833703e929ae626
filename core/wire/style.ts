/** The wire styles of chat. */
export type Style = "messages" | "chat" | "responses" | "gemini";
