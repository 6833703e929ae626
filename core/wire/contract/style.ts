/** The wire styles of chat that clients speak; providers speak them too. */
export type Style = "messages" | "chat" | "responses" | "gemini";

/** The wire styles of chat that providers speak. Requests in Converse are always converted: no client sends them here. */
export type ProviderStyle = Style | "converse";
