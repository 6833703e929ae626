/**
 * `/oauth/authorize`: asks a person whether an application gets an API key, with which budget and until when. `/auth`
 * leads there with the parameters by which tools of other gateways ask. It never redirects to an address that is not one
 * of the application, or without a click of the person, and it shows no key.
 */
import { type Context, Hono } from "hono";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import {
  answerUri,
  appAt,
  type AppRequest,
  appRequestParameters,
  type AskedKey,
  clientIdOf,
  formTargetOf,
  hostOf,
  readAppRequest,
} from "../../../../core/people/api_keys/app_request.ts";
import { accountName } from "../../../../kv/people/accounts/accounts.ts";
import {
  listMemberships,
  type Membership,
} from "../../../../kv/people/organisations/organisations.ts";
import {
  activeKeysPerMember,
  maxActiveKeys,
} from "../../../../kv/people/api_keys/api_key_changes.ts";
import { appConsent } from "../../../acts/apps.ts";
import { shiftDay } from "../../../usage_api/range.ts";
import { Card, Fact, Notice, PostForm, SubmitButton, TextField } from "../../components/mod.ts";
import { notAllowedPage } from "../../frame/error_pages.tsx";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import { formatCount } from "../../text/format.ts";
import { performForm, spentProblem } from "../../visitor/acting.ts";
import { requireAccount } from "../../visitor/identify.ts";
import {
  emptyKeyForm,
  type KeyFormErrors,
  keyFormErrors,
  type KeyFormValues,
  sentKeyForm,
} from "./key_form.tsx";
import { wrongMembers } from "./keys_pages.tsx";
import { keyTexts } from "./texts.ts";
import { defineTexts } from "../../text/i18n.ts";

const appTexts = defineTexts({
  both: {
    app: ["Application", "Ứng dụng"],
    goesTo: ["The key goes to", "Khoá API được gửi đến"],
    organisation: ["Paid by", "Bên trả tiền"],
    others: ["Let another organisation pay:", "Để tổ chức khác trả tiền:"],
    ownMachine: ["a program on this computer", "một chương trình trên máy này"],
    asksFor: ["With the key, the application can:", "Với khoá API, ứng dụng có thể:"],
    calls: [
      "call models, paid from your wallet, and read its own calls",
      "gọi mô hình bằng tiền trong ví của bạn và xem lượt gọi của chính nó",
    ],
    usage: [
      "also read balance, usage and receipts of the whole account",
      "xem cả số dư, mức sử dụng và biên nhận của toàn tài khoản",
    ],
    budget: ["Budget per month in VND", "Ngân sách mỗi tháng (VND)"],
    budgetHint: [
      "Calls above it are refused. Empty: your whole wallet.",
      "Lượt gọi vượt mức sẽ bị từ chối. Để trống: cả ví của bạn.",
    ],
    expiryHint: [
      "The end of that day, Vietnam time. Empty: until you revoke it.",
      "Hết ngày đó, giờ Việt Nam. Để trống: đến khi bạn thu hồi.",
    ],
    allow: ["Allow", "Cho phép"],
    deny: ["Deny", "Từ chối"],
    later: [
      "Change or revoke the key at any time under",
      "Bạn đổi hay thu hồi khoá lúc nào cũng được ở mục",
    ],
    wrongTitle: ["This request is not valid", "Yêu cầu này không hợp lệ"],
    back: ["Back to the application", "Quay lại ứng dụng"],
  },
  en: {
    title: (app: string) => `Give “${app}” an API key?`,
    unverified:
      "The application chose its name itself, and we have not checked it. Go on only if you have just started this there.",
    unknownText:
      "The link names no known application, or an address that is not one of the application. No key was made, and nothing was sent anywhere.",
    wrongText: (app: string) =>
      `“${app}” sent a request that its developers have to correct. No key was made.`,
  },
  vi: {
    title: (app) => `Cấp khoá API cho “${app}”?`,
    unverified:
      "Tên này do ứng dụng tự đặt, chúng tôi chưa kiểm chứng. Chỉ tiếp tục nếu chính bạn vừa bắt đầu việc này ở đó.",
    unknownText:
      "Liên kết không nêu ứng dụng nào hợp lệ, hoặc địa chỉ không phải của ứng dụng đó. Chưa có khoá nào được tạo và không có gì được gửi đi.",
    wrongText: (app) =>
      `“${app}” đã gửi một yêu cầu mà nhà phát triển cần sửa lại. Chưa có khoá nào được tạo.`,
  },
});

/** Path of the page. */
const consentPath = "/oauth/authorize";

/** The budget of a month that the form begins with, in VND: enough to try a tool, and little to lose. */
const usualMonthlyVnd = 100_000;
/** Days for which the key works that the form begins with. */
const usualDays = 90;

interface ConsentState {
  readonly values: KeyFormValues;
  readonly errors?: KeyFormErrors;
  readonly problem?: string | undefined;
}

type Env = Context<DashboardEnv>;

function freshForm(c: Env, { clock }: DashboardDeps): KeyFormValues {
  return {
    ...emptyKeyForm,
    monthlyLimit: formatCount(usualMonthlyVnd, c.get("visitor").locale),
    expiry: shiftDay(vietnamDay(clock.nowMs()), usualDays),
    reading: "own",
  };
}

/** The parameters of a request, to send it again. */
function requestParameters(
  { clientId, redirectUri, challenge, scopes, state }: AskedKey,
): [name: string, value: string][] {
  const values: Readonly<Record<typeof appRequestParameters[number], string | undefined>> = {
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    response_mode: undefined,
    code_challenge: challenge,
    code_challenge_method: "S256",
    scope: scopes.join(" "),
    state,
  };
  return appRequestParameters.flatMap((name): [string, string][] => {
    const value = values[name];
    return value === undefined ? [] : [[name, value]];
  });
}

/** Switches to another organisation of the person, and comes back to the same request. */
function OtherOrganisations({ asked, visitor, others }: {
  readonly asked: AskedKey;
  readonly visitor: Visitor;
  readonly others: readonly Membership[];
}) {
  const path = `${consentPath}?${new URLSearchParams(requestParameters(asked))}`;
  return (
    <PostForm visitor={visitor} action="/organisations/switch">
      <input type="hidden" name="next" value={path} />
      <p class="muted">{appTexts[visitor.locale].others}</p>
      <div class="actions">
        {others.map(({ account }) => (
          <button
            type="submit"
            name="organisation"
            value={account.id}
            class="outline secondary small"
          >
            {accountName(account)}
          </button>
        ))}
      </div>
    </PostForm>
  );
}

async function consentPage(
  c: Env,
  deps: DashboardDeps,
  asked: AskedKey,
  { values, errors = {}, problem }: ConsentState,
): Promise<Response> {
  const visitor = c.get("visitor");
  const { account, person } = c.get("signedIn");
  const others = (await listMemberships(deps.kv, person))
    .filter((one) => one.account.id !== account.id);
  const t = appTexts[visitor.locale];
  const keyT = keyTexts[visitor.locale];
  const { name } = asked.app;
  const host = hostOf(asked.redirectUri);
  const isWrong = problem !== undefined || Object.keys(errors).length > 0;
  // The answer to the form is a redirect to the application, which browsers count as a target of the form.
  c.set("formTarget", formTargetOf(asked.redirectUri));
  return await renderPage(
    c,
    { title: t.title(name), narrow: true, outsideNavigation: true, status: isWrong ? 422 : 200 },
    <Card>
      {problem !== undefined && <Notice tone="danger">{problem}</Notice>}
      <dl class="facts">
        <Fact name={t.app}>{name}</Fact>
        <Fact name={t.goesTo}>{host === undefined ? t.ownMachine : <code>{host}</code>}</Fact>
        <Fact name={t.organisation}>{accountName(account)}</Fact>
      </dl>
      {others.length > 0 && <OtherOrganisations asked={asked} visitor={visitor} others={others} />}
      <Notice tone="warning">{t.unverified}</Notice>
      <p>{t.asksFor}</p>
      <ul>
        <li>{t.calls}</li>
      </ul>
      <PostForm visitor={visitor} action={consentPath}>
        {requestParameters(asked).map(([name, value]) => (
          <input type="hidden" key={name} name={name} value={value} />
        ))}
        {asked.scopes.includes("usage") && (
          <label>
            <input
              type="checkbox"
              name="usage"
              value="yes"
              checked={values.reading === "account"}
            />{" "}
            {t.usage}
          </label>
        )}
        <TextField
          name="monthlyLimit"
          label={t.budget}
          value={values.monthlyLimit}
          inputmode="numeric"
          autocomplete="off"
          hint={t.budgetHint}
          error={errors.monthlyLimit}
        />
        <TextField
          name="expiry"
          type="date"
          label={keyT.expiry}
          value={values.expiry}
          min={vietnamDay(deps.clock.nowMs())}
          hint={t.expiryHint}
          error={errors.expiry}
        />
        <div class="actions">
          <SubmitButton>{t.allow}</SubmitButton>
          <a href={answerUri(asked, deps.baseUrl, { error: "access_denied" })}>{t.deny}</a>
        </div>
      </PostForm>
      <p class="muted">
        {t.later} <a href="/keys">{keyT.title}</a>.
      </p>
    </Card>,
  );
}

/** Shows why a request is invalid. A link reports it to the application only when the person follows it: anyone can register one. */
async function wrongRequestPage(
  c: Env,
  { baseUrl }: DashboardDeps,
  request: Exclude<AppRequest, { readonly kind: "asked" }>,
): Promise<Response> {
  const t = appTexts[c.get("visitor").locale];
  const words = request.kind === "unknown"
    ? `invalid_request: ${request.parameter}`
    : `${request.error}: ${request.description}`;
  return await renderPage(
    c,
    { title: t.wrongTitle, narrow: true, outsideNavigation: true, status: 400 },
    <Card>
      <p>{request.kind === "unknown" ? t.unknownText : t.wrongText(request.caller.app.name)}</p>
      <p>
        <code>{words}</code>
      </p>
      {request.kind === "wrong" && (
        <p>
          <a
            href={answerUri(request.caller, baseUrl, {
              error: request.error,
              error_description: request.description,
            })}
          >
            {t.back}
          </a>
        </p>
      )}
    </Card>,
  );
}

async function askForConsent(c: Env, deps: DashboardDeps): Promise<Response> {
  const request = readAppRequest(new URL(c.req.url).searchParams);
  return request.kind === "asked"
    ? await consentPage(c, deps, request.asked, { values: freshForm(c, deps) })
    : await wrongRequestPage(c, deps, request);
}

async function allow(c: Env, deps: DashboardDeps): Promise<Response> {
  const { locale } = c.get("visitor");
  const keyT = keyTexts[locale];
  const form = await readForm(c);
  const request = readAppRequest(
    new URLSearchParams(
      appRequestParameters.flatMap((name) =>
        form.all(name).map((value): [string, string] => [name, value])
      ),
    ),
  );
  if (request.kind !== "asked") return await wrongRequestPage(c, deps, request);
  const { asked } = request;
  const { clientId, redirectUri, challenge } = asked;
  const mayRead = asked.scopes.includes("usage") && form.text("usage") === "yes";
  const values: KeyFormValues = {
    ...emptyKeyForm,
    monthlyLimit: form.text("monthlyLimit"),
    expiry: form.text("expiry"),
    reading: mayRead ? "account" : "own",
  };
  const sent = { clientId, redirectUri, challenge, ...sentKeyForm(values, emptyKeyForm) };
  const outcome = await performForm(c, deps, appConsent, sent);
  if (outcome.ok) {
    return c.redirect(answerUri(asked, deps.baseUrl, { code: outcome.body }), 303);
  }
  const errors = keyFormErrors(values, wrongMembers(appConsent, outcome), keyT);
  if (Object.keys(errors).length > 0) return await consentPage(c, deps, asked, { values, errors });
  if ("why" in outcome && outcome.why === "full") {
    const { keysPerMember = activeKeysPerMember } = deps;
    const problem = keyT.full(maxActiveKeys(c.get("signedIn").account, keysPerMember));
    return await consentPage(c, deps, asked, { values, problem });
  }
  const problem = spentProblem(outcome, locale);
  return problem === undefined
    ? await notAllowedPage(c)
    : await consentPage(c, deps, asked, { values, problem });
}

/** Leads a tool that sends its user with a `callback_url` to the same page: its address is its name. */
function leadToConsent(c: Env): Response {
  const query = new URL(c.req.url).searchParams;
  const [callbackUrl = "", ...more] = query.getAll("callback_url");
  const app = more.length === 0 ? appAt(callbackUrl) : undefined;
  const asked = new URLSearchParams({ response_type: "code", scope: "calls" });
  if (app !== undefined) {
    asked.set("client_id", clientIdOf(app));
    asked.set("redirect_uri", callbackUrl);
  }
  for (const name of ["code_challenge", "code_challenge_method", "state"]) {
    for (const value of query.getAll(name)) asked.append(name, value);
  }
  return c.redirect(`${consentPath}?${asked}`, 303);
}

function createConsentPages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get(consentPath, requireAccount, (c) => askForConsent(c, deps))
    .post(consentPath, requireAccount, (c) => allow(c, deps))
    .get("/auth", leadToConsent);
}

export const consentPages: PageDeclaration<DashboardDeps> = { routes: createConsentPages };
