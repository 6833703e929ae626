/* Estimates of tokens and costs before and while a call runs; the exact figures come from its receipt. */
import { moneyText } from "../scripts/figures.js";

/* Bytes of a token: fewer than most texts have, so that the estimate before a call is rather too high. */
const bytesPerToken = 3;
/* Tokens of a picture: what large ones cost with most models. */
const tokensPerPicture = 1_500;

/** The language of the page, as numbers are written in it. */
export function tagOf(page) {
  return page.locale === "vi" ? "vi-VN" : "en-GB";
}

/** Formats VND in the language of the page. */
export function money(page, vnd) {
  return moneyText(vnd, tagOf(page));
}

/** Formats a count in the language of the page. */
export function count(page, number) {
  return new Intl.NumberFormat(tagOf(page)).format(number);
}

/** Estimates the tokens of a text. */
export function tokensOf(text) {
  return Math.ceil(new TextEncoder().encode(text).length / bytesPerToken);
}

function partTokens(content) {
  if (typeof content === "string") return tokensOf(content);
  return (content ?? []).reduce(
    (sum, part) => sum + (part.type === "text" ? tokensOf(part.text) : tokensPerPicture),
    0,
  );
}

/** Estimates the input tokens of a chat request. */
export function inputTokens({ messages, tools }) {
  const told = messages.reduce((sum, { content }) => sum + partTokens(content), 0);
  return told + (tools === undefined ? 0 : tokensOf(JSON.stringify(tools)));
}

/** The most that a request may cost, about, in VND. */
export function mostCost({ estimate }, { body }) {
  switch (estimate.unit) {
    case "token":
      return inputTokens(body) * estimate.input + (body.max_tokens ?? 0) * estimate.output;
    case "each":
      return estimate.each * (body.n ?? 1);
    case "length": {
      const seconds = Number(body.seconds);
      const tier = estimate.tiers.find(({ from, to }) => seconds >= from && seconds <= to);
      return tier?.each ?? 0;
    }
  }
}

/** What a running chat call costs so far, about, in VND. */
export function costSoFar({ estimate }, input, output) {
  if (estimate.unit === "each") return estimate.each;
  return estimate.unit === "token" ? input * estimate.input + output * estimate.output : 0;
}
