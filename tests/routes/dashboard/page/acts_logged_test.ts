/**
 * Every form that changes something names its line in the activity log, or why it has none. Operations declare theirs.
 */
import { assert, assertEquals } from "../../../support/assert.ts";
import {
  type ActivityAct,
  activityActs,
  isActivityAct,
} from "../../../../kv/people/audit/account_activity.ts";
import { activityTexts } from "../../../../routes/dashboard/customer/activity/activity_texts.ts";
import { pageActOf, pageActs } from "../../../../routes/dashboard/page/page_acts.ts";
import { openDashboardWorld } from "../../../support/worlds/dashboard_world.ts";
import { noNetwork } from "../../../support/worlds/dashboard_world.ts";

/** Why an act has no line. */
interface Reason {
  readonly why: string;
}

/** The acts in the log, the first of them in most cases; or why there is none. */
type Logged = ActivityAct | readonly ActivityAct[] | Reason;

const because = (why: string): Reason => ({ why });
const mailOnly = because("sends a mail, whose link does the act");
const asksOnly = because("makes a challenge, which a later form answers");
const callsOnly = because("calls models, which have receipts");
const noAccount = because("is about an address without an account");

/** The forms that are no operation, by method and path as they are registered. */
const forms: Readonly<Record<string, Logged>> = {
  "POST /keys/:id/show": "api_key_shown",
  "POST /usage/views": because("keeps a filter of one person, which grants nothing"),
  "POST /usage/views/remove": because("keeps a filter of one person, which grants nothing"),
  "POST /invoices/shared": because("shows an invoice to who has its link"),
  "POST /invoices/shared/files/:fileId": because("shows an invoice to who has its link"),
  "POST /playground": callsOnly,
  "POST /playground/api/v1/chat/completions": callsOnly,
  "POST /playground/api/v1/images/generations": callsOnly,
  "POST /playground/api/v1/audio/speech": callsOnly,
  "POST /playground/api/v1/videos": callsOnly,
  "POST /incident-mails": noAccount,
  "POST /incident-mails/confirm": noAccount,
  "POST /account/password": "password_changed",
  "POST /account/password/link": mailOnly,
  "POST /account/email": mailOnly,
  "POST /account/email/confirm": "email_changed",
  "POST /account/confirm": because(
    "lets a session change things for a while; the changes have lines",
  ),
  "POST /account/security/passkeys/options": asksOnly,
  "POST /account/security/passkeys": "passkey_added",
  "POST /account/security/passkeys/remove": "passkey_removed",
  "POST /account/security/app": "app_added",
  "POST /account/security/app/off": "app_removed",
  "POST /account/security/recovery-codes": "recovery_codes_made",
  "POST /account/sessions/sign-out": "sessions_ended",
  "POST /account/sessions/sign-out-others": "sessions_ended",
  "POST /account/mails": "mails_changed",
  "POST /account/delete": "deletion_requested",
  "POST /organisation/delete": because("deletes the log with the organisation"),
  "POST /organisations": "organisation_made",
  "POST /organisations/switch": "signed_in",
  "POST /organisations/accept": ["member_joined", "signed_in"],
  "POST /organisations/decline": "invitation_withdrawn",
  "POST /organisations/leave": "member_removed",
  "POST /mails/off": "mails_changed",
  "POST /sign-in": ["signed_in", "sign_in_failed", "new_browser"],
  "POST /sign-in/company": because("shows the way to the provider, whose answer signs in"),
  "POST /sign-out": "signed_out",
  "POST /sign-in/passkey/options": asksOnly,
  "POST /sign-in/passkey": "signed_in",
  "POST /sign-in/second-factor": ["signed_in", "second_factor_failed", "recovery_code_used"],
  "POST /sign-in/second-factor/passkey": "signed_in",
  "POST /sign-in/second-factor/passkey/options": asksOnly,
  "POST /sign-in/link": mailOnly,
  "POST /sign-in/mail": "signed_in",
  "POST /sign-up": mailOnly,
  "POST /verify": "signed_in",
  "POST /forgot": mailOnly,
  "POST /reset": ["password_changed", "signed_in"],
  "POST /preferences": because("keeps language and theme, which grant nothing"),
};

/** Pages and jobs that do something with a GET, or without a request. */
const others: Readonly<Record<string, Logged>> = {
  "GET /auth/openid/callback": ["signed_in", "identity_added"],
  "GET /activity.csv": "activity_exported",
  "GET /wallet/statements/:file": "statement_exported",
  "GET /account/data.ndjson": "data_exported",
  "an operator blocks": ["account_blocked", "account_unblocked", "account_signed_out"],
  "an operator limits an account": "rate_limits_changed",
  "an operator forgets a second factor": "second_factor_forgotten",
};

function actsOf(logged: Logged): readonly ActivityAct[] {
  if (typeof logged === "string") return [logged];
  return "why" in logged ? [] : logged;
}

Deno.test("each form that is no operation names its line in the activity log, or why it has none", async () => {
  await using world = await openDashboardWorld({ companySignIn: noNetwork });
  const served = world.routes.filter(({ method }) => method !== "GET" && method !== "ALL")
    .filter(({ method, path }) => pageActOf(method, path)?.operation === undefined)
    .map(({ method, path }) => `${method} ${path}`)
    .filter((route) => !route.startsWith("POST /operator"));
  assertEquals([...new Set(served)].sort(), Object.keys(forms).sort());
});

Deno.test("each kind of line is that of an act, and has a text", () => {
  const ofOperations = pageActs.flatMap(({ operation }) => operation?.line ?? []);
  const inTables = [forms, others].flatMap((table) => Object.values(table)).flatMap(
    actsOf,
  );
  const named = [...inTables, ...ofOperations];
  assertEquals(activityActs.filter((act) => !named.includes(act)), []);
  assert(named.every(isActivityAct));
  for (const { acts } of Object.values(activityTexts)) {
    assertEquals(new Set(Object.values(acts)).size, activityActs.length, "no two read alike");
  }
});
