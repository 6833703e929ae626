/** Errors look like the answers of their endpoint. */
import type { ErrorStyle } from "../../core/errors.ts";
import { listStyle } from "./models/models.ts";

/** Errors of the Messages endpoints carry Messages-style bodies; so do those of models, where the list would be of that style. */
export function errorStyleOf(pathname: string, headers: Headers): ErrorStyle {
  if (pathname === "/v1/messages" || pathname.startsWith("/v1/messages/")) return "messages";
  const isModels = pathname === "/v1/models" || pathname.startsWith("/v1/models/");
  return isModels ? listStyle(headers) : "chat";
}
