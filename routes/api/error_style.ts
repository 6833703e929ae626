/** Chooses the style of errors by endpoint. */
import type { ErrorStyle } from "../../core/errors.ts";
import type { HttpRequest } from "../http/http_request.ts";
import { listStyle } from "./models/models.ts";

/**
 * Returns the style of errors for a path: Messages for its endpoints, and for models if the list would have that
 * style.
 */
export function errorStyleOf(pathname: string, headers: HttpRequest["headers"]): ErrorStyle {
  if (pathname === "/v1/messages" || pathname.startsWith("/v1/messages/")) return "messages";
  const isModels = pathname === "/v1/models" || pathname.startsWith("/v1/models/");
  return isModels ? listStyle(headers) : "chat";
}
