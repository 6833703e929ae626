/** Errors of Anthropic's API. */
import { coded, counting, type VendorErrors, weak, worded } from "./row.ts";

/** Anthropic. Its types are also those of vendors that offer the Messages style. */
export const anthropic: VendorErrors = {
  vendor: "Anthropic",
  shape: "anthropic",
  source: "https://platform.claude.com/docs/en/api/errors",
  rows: [
    coded("account", 401, "authentication_error", "invalid x-api-key"),
    coded("account", 402, "billing_error", "There is an issue with your billing"),
    coded("account", 403, "permission_error", "OAuth token has been revoked.", {
      form:
        /^(?:OAuth (?:token has (?:expired|been revoked)|authentication is currently not allowed)|Account is no longer a member of the organi[sz]ation)/i,
      source: "https://github.com/Wei-Shaw/sub2api/issues/342",
    }),
    coded("access", 403, "permission_error", "Your API key does not have permission to use this"),
    coded("too_large", 413, "request_too_large", "Request exceeds the maximum size"),
    coded(
      "afford",
      429,
      "rate_limit_error",
      "Extra usage is required for long context requests.",
      {
        form: /^Extra usage is required for long context/i,
        source: "https://platform.claude.com/docs/en/api/rate-limits",
      },
    ),
    coded(
      "rate",
      429,
      "rate_limit_error",
      "This request would exceed the rate limit of 40,000 input tokens per minute.",
    ),
    coded("timeout", 504, "timeout_error", "The request timed out"),
    coded("capacity", 529, "overloaded_error", "Overloaded"),
    weak("broken", 500, "api_error", "Internal server error"),
    weak("model", 404, "not_found_error", "model: claude-x"),
    coded("account", 400, "enforced_spend_limit_reached", "You have reached your spend limit", {
      more: { details: { error_code: "enforced_spend_limit_reached" } },
    }),
    worded(
      "account",
      400,
      /^Your credit balance is too low/i,
      "Your credit balance is too low to access the Anthropic API.",
      { source: "https://github.com/anthropics/claude-code/issues/4684" },
    ),
    worded(
      "account",
      400,
      /^You have reached your specified (?:API |workspace API )?usage limits/i,
      "You have reached your specified API usage limits. You will regain access on 2026-01-01.",
    ),
    worded(
      "account",
      400,
      /^This organization has been disabled/i,
      "This organization has been disabled.",
    ),
    worded(
      "account",
      400,
      /^This credential is only authorized for use with/i,
      "This credential is only authorized for use with Claude Code and cannot be used for other API requests.",
    ),
    worded(
      "account",
      401,
      /^OAuth (?:authentication is currently not supported|token has (?:expired|been revoked))/i,
      "OAuth authentication is currently not supported.",
    ),
    worded(
      "content",
      400,
      /^Output blocked by content filtering policy/i,
      "Output blocked by content filtering policy",
    ),
    worded(
      "prompt",
      400,
      counting(String.raw`prompt is too long: {used} tokens > {most} maximum`),
      "prompt is too long: 210000 tokens > 200000 maximum",
    ),
    worded(
      "cap",
      400,
      counting(
        String
          .raw`input length and ${"`"}max_tokens${"`"} exceed context limit: {used} \+ {cap} > {most}`,
      ),
      "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
      { source: "https://github.com/anthropics/claude-code/issues/228" },
    ),
    worded(
      "cap",
      400,
      /^max_tokens: \d[\d,]{0,14} > \d/i,
      "max_tokens: 99999 > 64000, which is the maximum allowed number of output tokens for claude-x",
    ),
    worded(
      "ability",
      400,
      /^'?claude-[\w.-]{1,60}'? does not support (?<lacks>[\w ]{1,40})/i,
      "'claude-x' does not support image input.",
      { source: "https://platform.claude.com/docs/en/build-with-claude/vision" },
    ),
  ],
};
