/** The markup of the playground: the conversation with its composer, and the settings beside it. */
import type { Child } from "hono/jsx";
import type { ApiKeyRecord } from "../../../../kv/people/api_keys/api_keys.ts";
import { CsrfField, Icon, SelectField, TextField } from "../../components/mod.ts";
import type { Locale } from "../../text/i18n.ts";
import type { Visitor } from "../../page/visitor.ts";
import {
  imageSizes,
  maxPromptChars,
  playgroundKinds,
  type PlaygroundModel,
  speechFormats,
  usualOutputTokens,
  voices,
} from "./models.ts";
import { keyHeader } from "./relay.ts";
import { playgroundTexts } from "./texts.ts";

/** Parts of the page. */
export interface PlaygroundProps {
  readonly visitor: Visitor;
  readonly baseUrl: string;
  readonly models: readonly PlaygroundModel[];
  readonly keys: readonly ApiKeyRecord[];
  /** The chosen model. */
  readonly model: PlaygroundModel;
  /** The answer of a browser without script. */
  readonly answer?: Child;
}

function options(texts: readonly string[]) {
  return texts.map((value) => ({ value, label: value }));
}

/** The models as groups by kind. */
function ModelField({ models, model, locale }: {
  models: readonly PlaygroundModel[];
  model: PlaygroundModel;
  locale: Locale;
}) {
  const t = playgroundTexts[locale];
  return (
    <div class="field">
      <label for="model">{t.model}</label>
      <select id="model" name="model">
        {playgroundKinds.map((kind) => {
          const ofKind = models.filter((one) => one.kind === kind);
          return ofKind.length > 0 && (
            <optgroup label={t.kinds[kind]} data-of={kind}>
              {ofKind.map(({ id, name }) => (
                <option value={id} selected={id === model.id}>{name}</option>
              ))}
            </optgroup>
          );
        })}
      </select>
      <small class="price-note">{model.price}</small>
    </div>
  );
}

/** The settings of chat models. */
function ChatFields({ models, locale }: { models: readonly PlaygroundModel[]; locale: Locale }) {
  const t = playgroundTexts[locale];
  const efforts = [...new Set(models.flatMap(({ efforts }) => efforts))];
  return (
    <fieldset data-kind="chat">
      <TextField name="system" label={t.system} rows={3} maxlength={maxPromptChars} />
      <div class="field-pair">
        <TextField
          name="temperature"
          label={t.temperature}
          type="number"
          min="0"
          step="0.1"
          inputmode="decimal"
        />
        <TextField
          name="max_tokens"
          label={t.maxTokens}
          type="number"
          min="1"
          step="1"
          inputmode="numeric"
          value={String(usualOutputTokens)}
        />
      </div>
      {efforts.length > 0 && (
        <SelectField
          name="effort"
          label={t.effort}
          isCode
          options={[{ value: "", label: t.effortOwn }, ...options(efforts)]}
        />
      )}
      <div class="needs-script">
        <TextField name="tools" label={t.tools} rows={3} hint={t.toolsHint} />
      </div>
    </fieldset>
  );
}

/** The settings of the other kinds. */
function MediaFields({ models, locale }: { models: readonly PlaygroundModel[]; locale: Locale }) {
  const t = playgroundTexts[locale];
  const videos = models.filter(({ kind }) => kind === "video");
  const seconds = [...new Set(videos.flatMap(({ seconds }) => seconds))].sort((a, b) => a - b);
  const sizes = [...new Set(videos.flatMap(({ sizes }) => sizes))];
  return (
    <>
      <fieldset data-kind="image">
        <div class="field-pair">
          <SelectField name="image_size" label={t.size} options={options(imageSizes)} />
          <SelectField name="n" label={t.count} options={options(["1", "2", "3", "4"])} />
        </div>
      </fieldset>
      <fieldset data-kind="speech">
        <div class="field-pair">
          <SelectField name="voice" label={t.voice} options={options(voices)} />
          <SelectField name="format" label={t.format} options={options(speechFormats)} />
        </div>
      </fieldset>
      {videos.length > 0 && (
        <fieldset data-kind="video">
          <div class="field-pair">
            <SelectField name="seconds" label={t.seconds} options={options(seconds.map(String))} />
            <SelectField name="video_size" label={t.size} options={options(sizes)} />
          </div>
        </fieldset>
      )}
    </>
  );
}

function Settings({ visitor, models, model, keys }: PlaygroundProps) {
  const { locale } = visitor;
  const t = playgroundTexts[locale];
  const chat = models.filter(({ kind }) => kind === "chat");
  return (
    <details class="card playground-settings" open>
      <summary>{t.settings}</summary>
      <ModelField models={models} model={model} locale={locale} />
      <div class="needs-script" data-kind="chat">
        <SelectField
          name="compare"
          label={t.compare}
          options={[
            { value: "", label: t.compareNone },
            ...chat.map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
      </div>
      <SelectField
        name="keyId"
        label={t.key}
        options={keys.map((key) => ({ value: key.id, label: key.name }))}
      />
      <ChatFields models={chat} locale={locale} />
      <MediaFields models={models} locale={locale} />
    </details>
  );
}

/** Form in which messages are written. */
function Composer({ locale }: { locale: Locale }) {
  const t = playgroundTexts[locale];
  return (
    <div class="composer">
      <div id="playground-pictures" class="thumbs" hidden></div>
      <label for="prompt" class="visually-hidden">{t.prompt}</label>
      <textarea
        id="prompt"
        name="prompt"
        rows={3}
        required
        maxlength={maxPromptChars}
        placeholder={t.prompt}
        aria-describedby="playground-price"
      >
      </textarea>
      <div class="composer-row">
        <input type="file" id="playground-file" accept="image/*" multiple hidden />
        <button
          type="button"
          id="playground-attach"
          class="outline secondary small needs-script"
          aria-label={t.attach}
          title={t.attach}
        >
          <Icon name="plus" />
        </button>
        <span id="playground-price" class="muted" role="status">{t.promptHint}</span>
        <button
          type="button"
          id="playground-code"
          class="outline secondary small needs-script"
        >
          {t.code}
        </button>
        <button type="button" id="playground-stop" class="outline secondary small" hidden>
          {t.stop}
        </button>
        <button type="submit" id="playground-send" class="small">{t.send}</button>
      </div>
    </div>
  );
}

/** The playground. Its form works without script for one turn; the script makes a conversation of it. */
export function PlaygroundForm(props: PlaygroundProps) {
  const { visitor, baseUrl, models, answer } = props;
  const t = playgroundTexts[visitor.locale];
  const forScript = {
    baseUrl,
    keyHeader,
    locale: visitor.locale,
    models,
    texts: t.script,
    problems: t.problems,
    actions: t.actions,
  };
  return (
    <form
      method="post"
      action="/playground"
      id="playground"
      class="playground"
      data-playground={JSON.stringify(forScript)}
      data-clear={t.clear}
    >
      <CsrfField visitor={visitor} />
      <section class="card talk" aria-label={t.conversation}>
        <div id="playground-turns" class="turns" role="log" aria-busy="false">
          {answer ?? (
            <div class="talk-start">
              <Icon name="playground" />
              <p class="empty-title">{t.start}</p>
              <p>{t.startText}</p>
            </div>
          )}
        </div>
        <Composer locale={visitor.locale} />
      </section>
      <Settings {...props} />
    </form>
  );
}
