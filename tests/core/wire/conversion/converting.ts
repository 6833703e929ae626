/** Shared by the tests of conversion: one call of each kind with the dull parameters filled in. */
import { assertEquals } from "../../../support/assert.ts";
import { convertAnswer, convertRequest } from "../../../../core/wire/convert/convert.ts";
import type {
  ConversionMemory,
  ConversionOptions,
  PipeContext,
  ProviderStyle,
  RouteCapabilities,
  Style,
} from "../../../../core/wire/contract/contract.ts";
import { validateRequest } from "../../../../sandbox/vendor_validators/validators.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";

export const context: PipeContext = {
  clientModel: "client-model",
  requestId: "req_000000abc0000xyz",
  clientWantsUsage: true,
  nowSeconds: 1_700_000_000,
};

export interface Converted {
  readonly body: JsonObject;
  readonly dropped: readonly string[];
  readonly memory: ConversionMemory;
  readonly betas: readonly string[];
}

/** Converts a request that must convert. The result must be what the real vendor accepts. */
export function converted(
  from: Style,
  to: ProviderStyle,
  body: JsonObject,
  capabilities: RouteCapabilities = {},
  maxOutputTokens = 64_000,
  allow?: ConversionOptions["allow"],
): Converted {
  const conversion = convertRequest(from, to, body, {
    capabilities,
    upstreamModel: "upstream-model",
    maxOutputTokens,
    ...(allow === undefined ? {} : { allow }),
  });
  if (!conversion.ok) throw conversion.error;
  return conversion.request;
}

/** Like {@linkcode converted}, and the real vendor must accept the result. */
export function accepted(
  from: Style,
  to: ProviderStyle,
  body: JsonObject,
  capabilities: RouteCapabilities = {},
): Converted {
  const request = converted(from, to, body, capabilities);
  assertEquals(validateRequest(to, request.body), undefined, JSON.stringify(request.body));
  return request;
}

/** The error of a request that must be refused. */
export function refusal(
  from: Style,
  to: ProviderStyle,
  body: JsonObject,
  capabilities: RouteCapabilities = {},
  allow?: ConversionOptions["allow"],
): GatewayError {
  const conversion = convertRequest(from, to, body, {
    capabilities,
    upstreamModel: "upstream-model",
    maxOutputTokens: 64_000,
    ...(allow === undefined ? {} : { allow }),
  });
  if (conversion.ok) throw new Error(`was converted: ${JSON.stringify(conversion.request.body)}`);
  return conversion.error;
}

export function convertedAnswer(
  from: ProviderStyle,
  to: Style,
  body: JsonObject,
  memory: ConversionMemory = {},
): JsonObject {
  return convertAnswer(from, to, body, context, memory);
}
