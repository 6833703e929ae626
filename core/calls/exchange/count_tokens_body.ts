import type { ProviderEntry } from "../../catalog/schema.ts";
import { cloudBodyChanges } from "../../clouds/request_form.ts";
import { type ByteParts, joined } from "../../lib/bytes/byte_parts.ts";
import { encodeBase64 } from "../../lib/runtime/mod.ts";
import { withFields, withoutFields } from "../body/changed_body.ts";
import type { JsonBody } from "../body/json_body.ts";

/** Makes the body with which a provider counts the tokens of a Messages request. */
export function countTokensBody(
  body: JsonBody,
  provider: ProviderEntry,
  model: string,
): ByteParts {
  const cloud = provider.kind === "http" ? provider.cloud : undefined;
  const changes = cloudBodyChanges(cloud, "messages", undefined);
  if (cloud === undefined || changes === undefined) return withFields(body, { model });
  if (cloud.name !== "bedrock") {
    // The path at Vertex is the same for all models.
    return withFields(body, { model, ...changes.added });
  }
  // Bedrock takes the body of a call, which must have a bound on output.
  const call = withoutFields(body, changes.removed, {
    ...changes.added,
    ...(body.fields.has("max_tokens") ? {} : { max_tokens: 1 }),
  });
  const input = { input: { invokeModel: { body: encodeBase64(joined(call)) } } };
  return new TextEncoder().encode(JSON.stringify(input));
}
