/** `/organisation/provider-keys`: the keys of an organisation for providers, which its calls use first. */
import { type Context, Hono } from "hono";
import { percentOfFee } from "../../../../core/billing/own_key_fee.ts";
import { defineTexts } from "../../text/i18n.ts";
import {
  listOwnKeys,
  maxOwnKeyChars,
  maxOwnKeys,
  type OwnKey,
} from "../../../../kv/people/api_keys/own_keys.ts";
import { ownKeyProviders, ownKeyRemoval, ownKeySetting } from "../../../acts/own_keys.ts";
import {
  Badge,
  Card,
  CheckboxField,
  DataTable,
  Notice,
  PostForm,
  RowForm,
  SelectField,
  SubmitButton,
  TextField,
  Time,
} from "../../components/mod.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import { performForm, refusalView } from "../../visitor/acting.ts";

/** Path of the page. */
export const ownKeysPath = "/organisation/provider-keys";

export const ownKeysTexts = defineTexts({
  both: {
    title: ["Provider keys", "Khoá nhà cung cấp"],
    keys: ["Your keys", "Khoá của bạn"],
    add: ["Add or replace a key", "Thêm hoặc thay khoá"],
    provider: ["Provider", "Nhà cung cấp"],
    key: ["Key", "Khoá"],
    state: ["State", "Trạng thái"],
    fallback: ["Without an answer", "Khi không có trả lời"],
    fallsBack: ["goes on to our routes", "chuyển sang route của chúng tôi"],
    fails: ["the call fails", "lượt gọi báo lỗi"],
    tested: ["works", "dùng được"],
    untested: ["not tested", "chưa kiểm tra được"],
    set: ["Set", "Thời điểm đặt"],
    save: ["Try and save", "Kiểm tra và lưu"],
    remove: ["Remove", "Xoá"],
    none: ["No keys yet.", "Chưa có khoá nào."],
    back: ["Back to the organisation", "Về trang tổ chức"],
    removed: ["The key is removed.", "Đã xoá khoá."],
    missing: ["There is no key for this provider.", "Không có khoá cho nhà cung cấp này."],
    saved: ["The provider takes the key. It is saved.", "Nhà cung cấp chấp nhận khoá. Đã lưu."],
    providerInvalid: [
      "This provider takes no keys of organisations.",
      "Nhà cung cấp này không nhận khoá của tổ chức.",
    ],
    keyInvalid: [
      "Enter the key as the provider shows it, without spaces.",
      "Nhập khoá đúng như nhà cung cấp hiển thị, không có khoảng trắng.",
    ],
    keyRefused: ["The provider refuses this key.", "Nhà cung cấp từ chối khoá này."],
  },
  en: {
    lead: "Calls use your own contracts first: the provider bills you, and we charge a fee.",
    notOffered: "The operator does not offer this at present.",
    fee: (percent: number) =>
      `For a call that your key served we charge ${percent} % of the model's price.`,
    keyHint:
      "It is tried, sealed and never shown again. Leave it empty to change only what follows.",
    fallbackLabel: "If my key gives no answer, go on to your routes at the price of the model",
    savedUntested:
      "The key is saved. The provider did not say whether it takes it: the first call shows it.",
    full: `There are ${maxOwnKeys} keys already. Remove one first.`,
    removeOne: (provider: string) => `Remove the key for ${provider}`,
    removeSure: (provider: string) =>
      `Remove the key for ${provider}? It is gone for good, and calls go to our routes.`,
    refusedWith: (status: number) => `refused: status ${status}`,
  },
  vi: {
    lead:
      "Lượt gọi dùng hợp đồng của bạn trước: nhà cung cấp tính tiền bạn, chúng tôi chỉ thu một khoản phí.",
    notOffered: "Hiện đơn vị vận hành không hỗ trợ tính năng này.",
    fee: (percent) => `Với lượt gọi dùng khoá của bạn, chúng tôi thu ${percent} % giá của model.`,
    keyHint:
      "Khoá được kiểm tra, niêm phong và không bao giờ hiện lại. Để trống nếu chỉ đổi lựa chọn bên dưới.",
    fallbackLabel:
      "Nếu khoá của tôi không cho kết quả, chuyển sang route của bạn theo giá của model",
    savedUntested:
      "Đã lưu khoá. Nhà cung cấp không cho biết có chấp nhận khoá hay không: lượt gọi đầu tiên sẽ cho biết.",
    full: `Đã có ${maxOwnKeys} khoá. Hãy xoá bớt một khoá.`,
    removeOne: (provider) => `Xoá khoá cho ${provider}`,
    removeSure: (provider) =>
      `Xoá khoá cho ${provider}? Khoá mất hẳn và lượt gọi đi qua route của chúng tôi.`,
    refusedWith: (status) => `bị từ chối: status ${status}`,
  },
});

/** The form as it was sent, and what is wrong with it. */
interface FormState {
  readonly provider: string;
  readonly fallback: boolean;
  readonly errors: { readonly provider?: string; readonly key?: string };
}

async function ownKeysPage(
  c: Context<DashboardEnv>,
  { kv, catalog }: DashboardDeps,
  { form, problem }: { readonly form?: FormState; readonly problem?: string } = {},
): Promise<Response> {
  const visitor = c.get("visitor");
  const t = ownKeysTexts[visitor.locale];
  const keys = await listOwnKeys(kv, c.get("signedIn").account.id);
  const providers = ownKeyProviders(catalog);
  const done = c.req.query("done");
  const notices = { saved: t.saved, untested: t.savedUntested, removed: t.removed };
  const notice = Object.entries(notices).find(([name]) => name === done)?.[1];
  return await renderPage(
    c,
    {
      title: t.title,
      lead: t.lead,
      status: form === undefined && problem === undefined ? 200 : 422,
    },
    <>
      {notice !== undefined && <Notice tone="success">{notice}</Notice>}
      {problem !== undefined && <Notice tone="danger">{problem}</Notice>}
      <Card title={t.keys}>
        {keys.length === 0 ? <p class="muted">{t.none}</p> : <Keys keys={keys} visitor={visitor} />}
      </Card>
      <Card title={t.add}>
        {providers === undefined ? <p class="muted">{t.notOffered}</p> : (
          <>
            <p class="muted">{t.fee(percentOfFee(catalog.ownKeyFee ?? 0))}</p>
            <PostForm visitor={visitor} action={ownKeysPath}>
              <SelectField
                name="provider"
                label={t.provider}
                value={form?.provider ?? ""}
                options={providers.map((name) => ({ value: name, label: name }))}
                error={form?.errors.provider}
                isCode
              />
              <TextField
                name="key"
                label={t.key}
                hint={t.keyHint}
                type="password"
                autocomplete="off"
                maxlength={maxOwnKeyChars}
                error={form?.errors.key}
              />
              <CheckboxField
                name="fallback"
                label={t.fallbackLabel}
                checked={form?.fallback === true}
              />
              <SubmitButton>{t.save}</SubmitButton>
            </PostForm>
          </>
        )}
      </Card>
      <p>
        <a href="/organisation">← {t.back}</a>
      </p>
    </>,
  );
}

function Keys({ keys, visitor }: { keys: readonly OwnKey[]; visitor: Visitor }) {
  const { locale } = visitor;
  const t = ownKeysTexts[locale];
  return (
    <DataTable
      label={t.keys}
      rows={keys}
      columns={[
        { head: t.provider, cell: ({ provider }) => <span translate="no">{provider}</span> },
        { head: t.key, cell: ({ fingerprint }) => <code>{fingerprint}</code> },
        { head: t.state, cell: (key) => <KeyState of={key} visitor={visitor} /> },
        { head: t.fallback, cell: ({ fallback }) => fallback ? t.fallsBack : t.fails },
        { head: t.set, cell: ({ setAtMs }) => <Time atMs={setAtMs} locale={locale} /> },
        {
          head: t.remove,
          hiddenHead: true,
          kind: "buttons",
          cell: ({ provider }) => (
            <RowForm
              visitor={visitor}
              action={`${ownKeysPath}/remove`}
              confirm={t.removeSure(provider)}
              field={["provider", provider]}
              label={t.removeOne(provider)}
            >
              {t.remove}
            </RowForm>
          ),
        },
      ]}
    />
  );
}

function KeyState({ of: { isTested, problem }, visitor: { locale } }: {
  of: OwnKey;
  visitor: Visitor;
}) {
  const t = ownKeysTexts[locale];
  if (problem === undefined) {
    return <Badge tone={isTested ? "good" : "neutral"}>{isTested ? t.tested : t.untested}</Badge>;
  }
  return (
    <>
      <Badge tone="bad">{t.refusedWith(problem.status)}</Badge>{" "}
      <Time atMs={problem.atMs} locale={locale} />
    </>
  );
}

async function setKey(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const { locale } = c.get("visitor");
  const t = ownKeysTexts[locale];
  const posted = await readForm(c);
  const [provider, key, fallback] = [
    posted.text("provider"),
    posted.text("key"),
    posted.text("fallback") === "yes",
  ];
  const sent = { provider, fallback, ...(key !== "" && { key }) };
  const outcome = await performForm(c, deps, ownKeySetting, sent);
  if (outcome.ok) {
    const done = key === "" || outcome.body.isTested ? "saved" : "untested";
    return c.redirect(`${ownKeysPath}?done=${done}`, 303);
  }
  type View = { readonly form?: FormState; readonly problem?: string };
  const wrong = (errors: FormState["errors"]): View => ({ form: { provider, fallback, errors } });
  const view = refusalView<keyof typeof ownKeySetting.refusals, View>(outcome, locale, {
    refusals: {
      not_offered: { problem: t.notOffered },
      provider: wrong({ provider: t.providerInvalid }),
      key: wrong({ key: t.keyInvalid }),
      refused: wrong({ key: t.keyRefused }),
      full: { problem: t.full },
    },
    fields: {
      provider: wrong({ provider: t.providerInvalid }),
      key: wrong({ key: t.keyInvalid }),
    },
    spent: (problem) => ({ problem }),
    otherwise: { problem: t.notOffered },
  });
  return await ownKeysPage(c, deps, view);
}

async function removeKey(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const { locale } = c.get("visitor");
  const id = (await readForm(c)).text("provider");
  const outcome = await performForm(c, deps, ownKeyRemoval, { id });
  if (outcome.ok) return c.redirect(`${ownKeysPath}?done=removed`, 303);
  const missing = ownKeysTexts[locale].missing;
  const problem = refusalView(outcome, locale, {
    refusals: { missing },
    spent: (words) => words,
    otherwise: missing,
  });
  return await ownKeysPage(c, deps, { problem });
}

/** Registers the page. */
export function createOwnKeysPages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get(ownKeysPath, (c) => ownKeysPage(c, deps))
    .post(ownKeysPath, (c) => setKey(c, deps))
    .post(`${ownKeysPath}/remove`, (c) => removeKey(c, deps));
}
