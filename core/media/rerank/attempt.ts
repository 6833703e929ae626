/** Calls that rank documents on a route, and what they cost. */
import { costOfUnits } from "../../billing/price.ts";
import type { AppliedPrice } from "../../billing/usage/receipt.ts";
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import { jsonKey } from "../../lib/json/json_cursor.ts";
import { readCount } from "../../wire/stream/reading.ts";
import type { MediaWork } from "../base/exchange.ts";
import { chargeForInput, type InputCharge, mostInputCost } from "../base/input_charge.ts";
import { type JsonAnswer, jsonWork } from "../base/json_call.ts";
import type { ListAnswer } from "../base/list_answer.ts";
import type { RerankRequest } from "./request.ts";

/** Bytes of a whole answer, which may repeat the documents of the request. */
const maxRerankAnswerBytes = 32 * 1024 * 1024;

/** The list is named differently by vendors. */
const lists = [jsonKey("results"), jsonKey("data")];

/** Describes a call for its routes. An answer that ranks nothing, or more than was sent, is none. */
export function rerankWork(request: RerankRequest): MediaWork<JsonAnswer> {
  return jsonWork({
    request,
    style: "rerank",
    list: lists,
    maxAnswerBytes: maxRerankAnswerBytes,
    accepts: (items) => items > 0 && items <= request.documents,
  });
}

const membersOf = (value: Json | undefined) => isJsonObject(value) ? value : {};

/** Reads the tokens that an answer reports, in the places of several vendors; `undefined` if there are none. */
function reportedTokens({ usage, meta }: ListAnswer): number | undefined {
  const { total_tokens: total, prompt_tokens: prompt, input_tokens: input } = membersOf(usage);
  const { tokens, billed_units: billed } = membersOf(meta);
  return readCount(total) ?? readCount(prompt) ?? readCount(input) ??
    readCount(membersOf(tokens)["input_tokens"]) ?? readCount(membersOf(billed)["input_tokens"]);
}

/** Computes the most that a call can cost. */
export function mostRerankCost(price: AppliedPrice, request: RerankRequest): bigint {
  return price.unit === "search"
    ? costOfUnits(price, request.mostSearches)
    : mostInputCost(price, request.input);
}

/**
 * Prices an answered call: by tokens, by the call, or by searches as the provider counts them, if they are possible.
 * Searches beyond what the documents can be are a claim.
 */
export function chargeForRerank(
  price: AppliedPrice,
  request: RerankRequest,
  answer: ListAnswer,
): InputCharge {
  if (price.unit !== "search") return chargeForInput(price, request.input, reportedTokens(answer));
  const said = readCount(membersOf(membersOf(answer.meta)["billed_units"])["search_units"]);
  const isPossible = said !== undefined && said > 0 && said <= request.mostSearches;
  const units = isPossible ? said : request.searches;
  const priceMicroVnd = costOfUnits(price, units);
  const claimMicroVnd = said !== undefined && said > units ? costOfUnits(price, said - units) : 0n;
  return { units, priceMicroVnd, estimated: said !== undefined && !isPossible, claimMicroVnd };
}
