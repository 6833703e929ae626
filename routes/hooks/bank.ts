/**
 * `POST /hooks/bank/{provider}`: receives notices of bank movements.
 *
 * Status: 404 for a provider without a secret, 401 for a wrong or old signature, 413 for a body
 * larger than any notice, 503 if the notice could not be stored (the provider then sends it again),
 * and `200 {"success":true}` for every stored notice, including known, outgoing, unmatched and
 * unreadable ones.
 *
 * - Folder `routes/hooks/`: webhooks: of providers of bank notices to the gateway, and of the gateway to customers.
 * - In: signed notices; deliveries that are due.
 * - Out: notices in the intake of `kv/money/payments/`, and a status for the sender; signed events at endpoints.
 * - Never: answers 200 for a genuine notice that was not written down, or posts to an address that is not public.
 */
import { Hono } from "hono";
import type { Clock } from "../../core/lib/time/clock.ts";
import type { Deadlines } from "../../core/lib/time/deadlines.ts";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { newId, type RequestId } from "../../core/lib/ids/ids.ts";
import type { BankHook } from "../../core/trade/bank/bank_notice.ts";
import type { BankIntake } from "../../kv/money/payments/bank_intake.ts";
import { withCommonHeaders } from "../http/own_headers.ts";
import { errorResponse } from "../http/error_response.ts";
import { readRequestBody } from "../http/body/request_body.ts";

/** Bytes of a bank notice: one is under 4 KiB, the rest is room for long statement texts. */
const maxBankNoticeBytes = 64 * 1024;

/** Needs of the endpoint. */
export interface BankHookDeps {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** Only providers whose secret is set; see `sepayHook` and `cassoHook`. */
  readonly hooks: readonly BankHook[];
  readonly intake: BankIntake;
  /** Called for each refused or failed notice, without its body. */
  readonly report: (problem: HookProblem) => void;
}

/** A notice that was refused or could not be stored. */
export interface HookProblem {
  readonly provider: string;
  readonly what: "forged" | "stale" | "not_written";
  readonly error?: unknown;
}

/** Builds the routes for all providers of bank notices. */
export function createBankHookRoutes(deps: BankHookDeps): Hono {
  const app = new Hono();
  app.post("/hooks/bank/:provider", async (c) => {
    const requestId = newId("request", deps.clock.nowMs());
    try {
      return await takeNotice(deps, c.req.raw, c.req.param("provider"), requestId);
    } catch (error) {
      return errorResponse(error, "chat", requestId);
    }
  });
  return app;
}

async function takeNotice(
  deps: BankHookDeps,
  request: Request,
  provider: string,
  requestId: RequestId,
): Promise<Response> {
  // The body is read even if the notice is refused: with an unread body the server would drop the
  // connection.
  const body = new Uint8Array(
    await readRequestBody(request, deps.deadlines, { maxBytes: maxBankNoticeBytes }),
  );
  const hook = deps.hooks.find(({ source }) => source === provider);
  if (hook === undefined) throw new GatewayError("not_found", "No such path");
  const check = await hook.verify({ headers: request.headers, body, nowMs: deps.clock.nowMs() });
  if (check !== "genuine") {
    deps.report({ provider, what: check });
    throw new GatewayError("invalid_api_key", "The signature is missing, wrong or too old");
  }
  try {
    await writeDown(deps.intake, hook, body);
  } catch (error) {
    deps.report({ provider, what: "not_written", error });
    throw new GatewayError("maintenance", "The notice could not be stored; send it again", {
      cause: error,
    });
  }
  return withCommonHeaders(Response.json({ success: true }), requestId);
}

async function writeDown(
  intake: BankIntake,
  hook: BankHook,
  body: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const raw = new TextDecoder().decode(body);
  const notice = hook.read(body);
  if (!notice.ok) {
    await intake.keepUnreadable(hook.source, notice.reason, raw);
    return;
  }
  for (const event of notice.events) await intake.take(event, raw);
}
