/** The path of a đồng as a picture: the wallet before, while and after a call, with the sums of an example. */
import type { Catalog } from "../../../../core/catalog/catalog.ts";
import { Money } from "../../components/mod.ts";
import type { Locale } from "../../text/i18n.ts";
import { costOfCall } from "./calculator.tsx";
import { landingTexts } from "./landing_texts.ts";

/** The example: a top-up, and a call whose answer is a quarter of what it may be at most. */
const example = {
  topUpMicroVnd: 200_000_000_000n,
  input: 2_000,
  output: 500,
  mostOutput: 2_000,
} as const;

/** Widths of the picture's parts, in hundredths of the wallet; wide enough to be seen, so not to scale. */
const drawn = { held: 36, paid: 12 } as const;

/** A wallet: what is free, what is held, what was paid. */
function Wallet({ held = 0, paid = 0 }: { held?: number; paid?: number }) {
  const free = 100 - held - paid;
  return (
    <svg class="purse" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">
      <rect class="purse-free" width={free} height="12" />
      <rect class="purse-held" x={free} width={held} height="12" />
      <rect class="purse-paid" x={free + held} width={paid} height="12" />
    </svg>
  );
}

/** The picture; without sums where the default model is not priced by the token. */
export function MoneyPath({ catalog, locale }: { catalog: Catalog; locale: Locale }) {
  const t = landingTexts[locale];
  const { defaultModel: model } = catalog;
  const priced = model.price.unit === "token";
  const cost = (output: number) =>
    priced ? costOfCall({ model, input: example.input, output }) : undefined;
  const [held, paid] = [cost(example.mostOutput), cost(example.output)];
  const pictures = [
    { wallet: <Wallet />, sum: example.topUpMicroVnd },
    { wallet: <Wallet held={drawn.held} />, sum: held },
    { wallet: <Wallet paid={drawn.paid} />, sum: paid },
    {
      wallet: <Wallet paid={drawn.paid} />,
      sum: paid === undefined ? undefined : example.topUpMicroVnd - paid,
    },
  ];
  return (
    <ol class="money-path">
      {t.steps.map(({ title, text, sum: label }, at) => {
        const { wallet, sum } = pictures[at] ?? {};
        return (
          <li>
            {wallet}
            <h3>{title}</h3>
            {sum !== undefined && (
              <p class="money-path-sum">
                {label} <Money microVnd={sum} locale={locale} />
              </p>
            )}
            <p>{text}</p>
          </li>
        );
      })}
    </ol>
  );
}
