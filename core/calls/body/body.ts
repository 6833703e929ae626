/**
 * Bodies of media requests, JSON or a form, kept as received so that they can be forwarded
 * unchanged.
 */
import { type FetchedUrl, fetchedUrls } from "../../net/remote/fetched_urls.ts";
import { type JsonBody, parseJsonBody } from "./json_body.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { fieldsOfForm, fieldsOfJson, type MediaFields } from "./fields.ts";
import { type FormPart, multipartBoundary, partText, readForm } from "./multipart.ts";

/** The body of a media request: JSON, or the parts of a form. */
export type MediaBody =
  | { readonly kind: "json"; readonly json: JsonBody }
  | {
    readonly kind: "form";
    readonly bytes: Uint8Array;
    readonly boundary: string;
    readonly parts: readonly FormPart[];
  };

/**
 * Reads a body by its content type.
 *
 * @throws {GatewayError} `unsupported_media_type`, `invalid_json` or `invalid_request`
 */
export function readMediaBody(bytes: Uint8Array, contentType: string): MediaBody {
  const boundary = multipartBoundary(contentType);
  if (boundary !== undefined) {
    return { kind: "form", bytes, boundary, parts: readForm(bytes, boundary) };
  }
  if (!/^\s*application\/(?:[a-z0-9.+-]+\+)?json\s*(?:;|$)/i.test(contentType)) {
    throw new GatewayError(
      "unsupported_media_type",
      "The content type must be application/json or multipart/form-data",
      { param: "content-type" },
    );
  }
  return { kind: "json", json: parseJsonBody(bytes) };
}

/**
 * Returns the fields of a body in either format.
 *
 * @throws {GatewayError} `invalid_request` for a form with another spelling of a field that decides
 * the cost
 */
export function fieldsOfBody(body: MediaBody): MediaFields {
  return body.kind === "json" ? fieldsOfJson(body.json.value) : fieldsOfForm(body.parts);
}

/**
 * Finds the URLs in a body that a provider may fetch.
 *
 * @throws {GatewayError} as {@linkcode fetchedUrls}
 */
export function urlsOfBody(body: MediaBody): readonly FetchedUrl[] {
  if (body.kind === "json") return fetchedUrls(body.json.outline, new Set(), true);
  const texts = body.parts.filter(({ fileName }) => fileName === undefined);
  return texts.flatMap((part) => fetchedUrls({ [part.name]: partText(part) }, new Set(), true));
}
