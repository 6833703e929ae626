/** The step between a form that moves money and the movement: the dossier, and one button. */
import type { PendingAct } from "../../../../kv/services/operations/approvals.ts";
import { type Dossier, readDossier } from "../../../../kv/services/operations/dossier.ts";
import { PostForm, SubmitButton } from "../../../dashboard/components/mod.ts";
import { formatMoney } from "../../../dashboard/text/format.ts";
import { balanceIn, type OperatorDeps } from "../base/deps.ts";
import { type OperatorContext, operatorOf, renderOperatorPage } from "../base/frame.tsx";
import { frameTexts } from "../base/texts.ts";
import { DossierView, seenField } from "./dossier_view.tsx";
import { dossierTexts } from "./texts.ts";

/** A movement that waits for its confirmation. */
interface Confirmation {
  /** Where the form is sent, again. */
  readonly action: string;
  /** What the form said. */
  readonly fields: Readonly<Record<string, string>>;
  /** The page to return to. */
  readonly back: string;
  /** The entry of the navigation. */
  readonly under: string;
  readonly problem?: string | undefined;
  /** The page for an account, order or notice that is not there, or closed. */
  readonly gone: () => Response | Promise<Response>;
}

/** Shows what would move, with the button that moves it. It works without script: it is a page with a form. */
export async function confirmAct(
  c: OperatorContext,
  deps: OperatorDeps,
  act: PendingAct,
  confirmation: Confirmation,
) {
  const dossier = await readDossier(deps.kv, act, {
    operator: operatorOf(c),
    nowMs: deps.clock.nowMs(),
    balanceOf: balanceIn(deps),
  });
  return dossier === undefined
    ? await confirmation.gone()
    : await confirmationPage(c, deps, dossier, confirmation);
}

async function confirmationPage(
  c: OperatorContext,
  { clock, topup }: OperatorDeps,
  dossier: Dossier,
  { action, fields, back, under, problem }: Confirmation,
) {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const t = dossierTexts[locale];
  const { amountMicroVnd } = dossier.money;
  const isDebit = amountMicroVnd < 0n;
  const magnitude = isDebit ? -amountMicroVnd : amountMicroVnd;
  const amount = formatMoney(magnitude, locale);
  const isOwn = dossier.warnings.includes("own_account");
  return await renderOperatorPage(
    c,
    {
      title: t.check,
      lead: t.checkLead,
      under,
      problem: problem ?? (isOwn ? frameTexts[locale].problems.beneficiary : undefined),
    },
    <DossierView
      dossier={dossier}
      asked={[[frameTexts[locale].reason, fields["reason"] ?? ""]]}
      nowMs={clock.nowMs()}
      locale={locale}
    >
      {magnitude > topup.approvalAboveMicroVnd && (
        <p class="muted">{t.needsSecond(formatMoney(topup.approvalAboveMicroVnd, locale))}</p>
      )}
      <div class="actions">
        {!isOwn && (
          <PostForm visitor={visitor} action={action}>
            {Object.entries(fields).map(([name, value]) => (
              <input key={name} type="hidden" name={name} value={value} />
            ))}
            <input type="hidden" name={seenField} value={dossier.mark} />
            <SubmitButton tone={isDebit ? "danger" : "primary"}>
              {isDebit ? t.debit(amount) : t.credit(amount)}
            </SubmitButton>
          </PostForm>
        )}
        <a href={back}>{t.back}</a>
      </div>
    </DossierView>,
  );
}
