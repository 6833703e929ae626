/** Forms of API keys, of vendors and of this gateway, to recognise a key that a client put in the wrong place. */

/** Keys and tokens that begin with a word of their vendor, as parts of a regular expression. */
export const keyForms: readonly string[] = [
  // OpenAI, Anthropic, OpenRouter, DeepSeek, Moonshot, Alibaba …
  String.raw`sk[-_](?=[\w*-]*[\d*])[\w*-]{6,}`,
  // Stripe's form, Together, Perplexity, Cerebras, Groq, xAI, NVIDIA, Replicate, Hugging Face, Fireworks
  String
    .raw`(?:pk|rk|key|tgp|tok|pplx|csk|gsk|xai|nvapi|r8|hf|fw|fpk|fk|jina|pa|vp|nb|cpk|rc|dapi|esecret)[-_](?=[\w*-]*[\d*])[\w*-]{6,}`,
  // Databricks
  String.raw`dapi[0-9a-f]{16,}`,
  // Google
  String.raw`AIza[\w-]{10,}`,
  String.raw`(?:ya29|AQ)\.[\w-]{10,}`,
  // AWS, Alibaba, Tencent, Baidu, Volcengine
  String.raw`(?:AKIA|ASIA|ABSK|AIDA|AROA|LTAI|AKID|AKLT)[\w+/=]{8,}`,
  String.raw`bce-v3/[\w/-]{8,}`,
  // GitHub
  String.raw`(?:gh[opusr]|github_pat)_\w{10,}`,
  // JSON Web Tokens
  String.raw`eyJ[\w-]{8,}(?:\.[\w-]+){0,2}`,
  String.raw`Bearer\s+\S+`,
];

const key = new RegExp(`(?<![\\w-])(?:${keyForms.join("|")})`, "g");

/** Characters from which a text of such a form is taken for a key: names of models and teams are shorter. */
const minKeyChars = 20;

/** Whether a part of a text is random, as no name is: twelve letters and digits, mixed, without a break. */
function isRandom(text: string): boolean {
  return text.split(/[^A-Za-z0-9]/).some((part) =>
    part.length >= 12 && /\d/.test(part) && /[A-Za-z]/.test(part)
  );
}

const isKey = (found: string) => found.length >= minKeyChars && isRandom(found);

/** Whether a text that is no secret by its place holds a key: in the name of a model, in a tag. */
export function holdsKey(text: string): boolean {
  return text.match(key)?.some(isKey) ?? false;
}

/**
 * Masks the keys in such a text.
 *
 * @example
 * ```ts
 * import { withoutKeys } from "./key_forms.ts";
 * if (withoutKeys("sk-ant-api03-AbCdEf0123456789") !== "[removed]") throw new Error("kept");
 * if (withoutKeys("pa-2026-quarterly-report") !== "pa-2026-quarterly-report") throw new Error("lost");
 * ```
 */
export function withoutKeys(text: string): string {
  return text.replace(key, (found) => isKey(found) ? "[removed]" : found);
}
