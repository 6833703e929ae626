/** Chooses the style of errors by endpoint. */
import type { ErrorStyle } from "../../core/lib/errors/errors.ts";
import type { HttpRequest } from "../http/body/http_request.ts";
import { isGeminiClient, isGeminiPath } from "./models/query_key.ts";
import { listStyle } from "./models/models.ts";

/**
 * Returns the style of errors for a path: Messages and Gemini for their endpoints, and for models if the list would have that
 * style.
 */
export function errorStyleOf(pathname: string, headers: HttpRequest["headers"]): ErrorStyle {
  if (isGeminiPath(pathname)) return "gemini";
  if (pathname === "/v1/messages" || pathname.startsWith("/v1/messages/")) return "messages";
  const isModels = pathname === "/v1/models" || pathname.startsWith("/v1/models/");
  if (!isModels) return "chat";
  return isGeminiClient(headers) ? "gemini" : listStyle(headers);
}
