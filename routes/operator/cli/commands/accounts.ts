/** Commands on accounts that no program may send: creation, API keys, second factors. */
import type { Hono } from "hono";
import { z } from "zod";
import { normaliseEmail } from "../../../../core/people/accounts/email_address.ts";
import { createAccount } from "../../../../kv/people/accounts/accounts.ts";
import { operatorDoer } from "../../../../kv/people/audit/account_activity.ts";
import { organisationFacts } from "../../../../kv/people/organisations/organisations.ts";
import { keyCreation, keyRevocation } from "../../../acts/keys.ts";
import {
  type ActDeps,
  type Acting,
  type Operation,
  perform,
  refusalError,
} from "../../../acts/operation.ts";
import type { ActName } from "../../../acts/spending.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import { forgetSecondFactor } from "../../../../kv/people/accounts/second_factor.ts";
import { namedAccount, requireAccount } from "../../operations/contract/named_account.ts";
import { readInput } from "../../operations/contract/operation.ts";
import { type AdminDeps, readJson } from "./admin_deps.ts";
import { defined } from "../../../../core/lib/base/defined.ts";

// Commands on API keys.

/** The name of a key that was given none. */
const defaultKeyName = "admin";

const keyBody = z.looseObject({});

/** The machine's owner, who acts for the owner of an organisation. */
async function actingFor(
  { kv, clock }: Pick<AdminDeps, "kv" | "clock">,
  text: string,
): Promise<Acting> {
  const named = await namedAccount(kv, text);
  if (!named.ok) throw named.error;
  const { account } = named;
  return {
    account,
    personId: organisationFacts(account).ownerId,
    roles: ["owner"],
    by: operatorDoer(commandLine),
    operator: commandLine,
    actorName: commandLine.email,
    address: "",
    locale: account.locale ?? "vi",
    nowMs: clock.nowMs(),
  };
}

type KeyDeps = Pick<
  AdminDeps,
  "kv" | "clock" | "masterKeys" | "control" | "catalog" | "hintMail" | "keysPerMember"
>;

/** Performs an act on the keys of an account; the id of a key is what the path names so. */
async function performed<
  Name extends ActName,
  Input extends z.ZodType,
  Body,
  Why extends string,
>(
  deps: KeyDeps,
  account: string,
  act: Operation<Name, Input, Body, Why>,
  sent: unknown,
): Promise<Body> {
  const { catalog, hintMail = () => {}, ...rest } = deps;
  const find = (id: string) => catalog?.current.find(id);
  const providers = catalog?.current.providers ?? {};
  const actDeps: ActDeps = { ...rest, catalog: { find, providers }, hintMail };
  const outcome = await perform(actDeps, await actingFor(deps, account), act, sent);
  if (outcome.ok) return outcome.body;
  throw refusalError(act.refusals, outcome, (field) => field === "id" ? "key" : field);
}

/** Adds `/accounts/{account}/keys`. */
export function addKeyRoutes(app: Hono, deps: KeyDeps): void {
  app.post("/accounts/:account/keys", async (context) => {
    const sent = { name: defaultKeyName, ...readInput(keyBody, await readJson(context)) };
    const account = context.req.param("account");
    const { record, secret } = await performed(deps, account, keyCreation, sent);
    return context.json({ id: record.id, name: record.name, key: secret });
  });

  app.delete("/accounts/:account/keys/:key", async (context) => {
    const { account, key } = context.req.param();
    const { id } = await performed(deps, account, keyRevocation, { id: key });
    return context.json({ id, revoked: true });
  });
}

/** Body of `account create`. */
export const accountBody = z.strictObject({
  email: z.string().transform(normaliseEmail).refine(
    (email) => email !== undefined,
    "must be an e-mail address",
  ).optional(),
});

/** Adds `POST /accounts` and, below an account, its second factor. */
export function addAccountRoutes(
  app: Hono,
  { kv, clock }: Pick<AdminDeps, "kv" | "clock">,
): void {
  app.post("/accounts", async (context) => {
    const { email } = readInput(accountBody, await readJson(context));
    const account = await createAccount(kv, {
      nowMs: clock.nowMs(),
      by: commandLine,
      ...defined({ email }),
    });
    return context.json(account);
  });

  app.delete("/accounts/:account/second-factor", async (context) => {
    const id = await requireAccount(kv, context.req.param("account"));
    await forgetSecondFactor(kv, id, { operator: commandLine, nowMs: clock.nowMs() });
    return context.json({ id, secondFactor: "forgotten" });
  });
}
