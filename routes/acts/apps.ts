/** Acts of people and their applications: the consent to a key, and the key that an application gets for its code. */
import { z } from "zod";
import { defined } from "../../core/lib/base/defined.ts";
import {
  appOf,
  type AppScope,
  appScopes,
  hostOf,
  isChallenge,
  isKnownByAddress,
  isVerifierOf,
  mayRedirectTo,
} from "../../core/people/api_keys/app_request.ts";
import {
  activeKeysPerMember,
  keyMadeByForm,
  maxActiveKeys,
  revokeApiKey,
} from "../../kv/people/api_keys/api_key_changes.ts";
import { isActive, listApiKeys } from "../../kv/people/api_keys/api_keys.ts";
import {
  type AppGrant,
  issueAppCode,
  useAppCode,
  wasRepeated,
} from "../../kv/people/api_keys/app_codes.ts";
import { getAccount, hasOnlyBooks, mailReaderOf } from "../../kv/people/accounts/accounts.ts";
import { countTryByAddress, rateRules } from "../auth/sign_in_budgets.ts";
import { actingFor } from "../../kv/people/organisations/organisations.ts";
import {
  fullRefusal,
  keptFormId,
  keyCreation,
  type KeyWithSecret,
  newKey,
  settingRefusals,
  settingsProblem,
} from "./keys.ts";
import { type ActDeps, type Acting, done, operation, perform, refused } from "./operation.ts";

/** Allows an application a key, which it gets for the code that this gives. */
export const appConsent = operation({
  name: "authorizeApp",
  act: "change_keys",
  // The key has one, once the application has got it.
  line: undefined,
  input: newKey.pick({ limits: true, expiresAt: true, readsOnlyOwnCalls: true }).extend({
    clientId: z.string(),
    redirectUri: z.string(),
    challenge: z.string().refine(isChallenge, "must be the SHA-256 of a verifier"),
  }),
  refusals: {
    ...settingRefusals,
    full: fullRefusal,
    app: {
      code: "invalid_request",
      field: "clientId",
      message: "there is no such application, or not at this address",
    },
    closed: { code: "not_found", message: "The organisation was deleted" },
  },
  async run(deps, acting, { clientId, redirectUri, challenge, ...settings }) {
    const { kv, keysPerMember = activeKeysPerMember } = deps;
    const { account, personId, by, actorName, locale, companyId, nowMs } = acting;
    const app = appOf(clientId);
    if (app === undefined || !mayRedirectTo(app, redirectUri)) return refused("app");
    if (hasOnlyBooks(account)) return refused("closed");
    const problem = await settingsProblem(deps, acting, settings);
    if (problem !== undefined) return refused(problem);
    const active = (await listApiKeys(kv, account.id)).filter((key) => isActive(key, nowMs));
    if (active.length >= maxActiveKeys(account, keysPerMember)) return refused("full");
    const { expiresAt, readsOnlyOwnCalls, limits } = settings;
    const scopes = appScopes.filter((scope) => scope === "calls" || readsOnlyOwnCalls === false);
    const key = {
      name: app.name,
      readsOnlyOwnCalls: readsOnlyOwnCalls !== false,
      ...(typeof expiresAt === "number" && { expiresAt: new Date(expiresAt).toISOString() }),
      ...defined({ limits }),
    };
    const grant: AppGrant = {
      ...{ clientId, redirectUri, challenge, scopes, key },
      ...{ accountId: account.id, personId, by, actorName, locale },
      ...defined({ companyId }),
    };
    return done(await issueAppCode(kv, grant, nowMs));
  },
});

/** Request of an application for its key. */
export interface CodeRequest {
  readonly code: string;
  readonly verifier: string;
  /** Absent: the code has to be one of an application that is known by its address. */
  readonly client?: { readonly clientId: string; readonly redirectUri: string } | undefined;
}

/** Outcome of redeeming a code. */
export type Redeemed =
  | { readonly ok: true; readonly made: KeyWithSecret; readonly scopes: readonly AppScope[] }
  /** The words of RFC 6749, 5.2; `spent`: too many codes from one address. */
  | { readonly ok: false; readonly error: "invalid_grant"; readonly description: string }
  | { readonly ok: false; readonly error: "spent"; readonly retryAfterSeconds: number };

const wrongGrant = (description: string) =>
  ({ ok: false, error: "invalid_grant", description }) as const;

/** Whether the client that redeems a code is the one that the person has allowed. */
async function isRightful(
  grant: AppGrant,
  { verifier, client }: CodeRequest,
): Promise<boolean> {
  if (!await isVerifierOf(grant.challenge, verifier)) return false;
  if (client !== undefined) {
    return client.clientId === grant.clientId && client.redirectUri === grant.redirectUri;
  }
  const app = appOf(grant.clientId);
  return app !== undefined && isKnownByAddress(app);
}

/** The person who has allowed it, as they act now: `undefined` if they may not act for the organisation any more. */
async function grantorOf(
  { kv }: ActDeps,
  { accountId, personId, companyId, by, actorName, locale, clientId, redirectUri }: AppGrant,
  { id, address, nowMs }: { readonly id: string; readonly address: string; readonly nowMs: number },
): Promise<Acting | undefined> {
  const person = await getAccount(kv, personId);
  if (
    person === undefined || person.deletedAtMs !== undefined || person.blockedAtMs !== undefined
  ) {
    return undefined;
  }
  const session = { organisationId: accountId, ...defined({ companyId }) };
  const found = await actingFor(kv, person, session);
  if (found?.account.id !== accountId || found.account.blockedAtMs !== undefined) return undefined;
  const host = hostOf(redirectUri);
  const app = { name: appOf(clientId)?.name ?? "", ...defined({ host }) };
  return {
    ...{ account: found.account, personId, roles: [found.role], by, actorName, locale },
    ...{ address, nowMs, formId: id, app },
  };
}

/** Revokes the key of a code that was used twice: one of its users was a thief. */
async function revokeRepeated(
  { kv, control, hintMail }: ActDeps,
  { accountId, personId, by }: AppGrant,
  id: string,
  nowMs: number,
): Promise<void> {
  const formId = keptFormId({ personId, by, formId: id });
  const keyId = formId === undefined ? undefined : await keyMadeByForm(kv, accountId, formId);
  const account = await getAccount(kv, accountId);
  if (keyId === undefined || account === undefined) return;
  const notify = mailReaderOf(account, "key_changed");
  await revokeApiKey(kv, accountId, keyId, nowMs, { doneBy: by, notify });
  hintMail();
  await control.refresh();
}

/**
 * Makes the key of a code, by the operation that makes all keys, as the person who has allowed it: with the rights that
 * the person has now. Any use ends the code; a second one revokes the key.
 */
export async function redeemCode(
  deps: ActDeps,
  request: CodeRequest,
  { address, nowMs }: { readonly address: string; readonly nowMs: number },
): Promise<Redeemed> {
  const { kv } = deps;
  const tries = await countTryByAddress(kv, rateRules.appCodeByAddress, address, nowMs);
  if (!tries.allowed) return { ok: false, error: "spent", ...tries };
  const use = await useAppCode(kv, request.code, nowMs);
  if (use.kind === "unknown") return wrongGrant("The code is wrong or has expired");
  const { id, grant } = use;
  if (use.kind === "repeated") {
    await revokeRepeated(deps, grant, id, nowMs);
    return wrongGrant("The code was used before; the key that it made is revoked");
  }
  if (!await isRightful(grant, request)) {
    return wrongGrant("The code is not for this client, redirect URI or verifier");
  }
  const acting = await grantorOf(deps, grant, { id, address, nowMs });
  if (acting === undefined) {
    return wrongGrant("Who has allowed it may not act for the organisation any more");
  }
  const outcome = await perform(deps, acting, keyCreation, grant.key);
  if (!outcome.ok) {
    const why = "why" in outcome ? outcome.why : outcome.common;
    return why === "spent" && "retryAfterSeconds" in outcome
      ? { ok: false, error: "spent", retryAfterSeconds: outcome.retryAfterSeconds }
      : wrongGrant(
        `No key was made: ${"why" in outcome ? keyCreation.refusals[outcome.why].message : why}`,
      );
  }
  if (await wasRepeated(kv, id)) {
    await revokeRepeated(deps, grant, id, nowMs);
    return wrongGrant("The code was used twice; the key that it made is revoked");
  }
  return { ok: true, made: outcome.body, scopes: grant.scopes };
}
