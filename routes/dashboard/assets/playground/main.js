/* Makes a conversation of the form of the playground. */
import { chatRequest } from "./chat.js";
import { openCodeDialog } from "./code_dialog.js";
import { Conversation } from "./conversation.js";
import { actionButton, filled } from "./dom.js";
import { count, inputTokens, money, mostCost } from "./estimate.js";
import { mediaRequest } from "./media.js";
import { Pictures } from "./pictures.js";

/* A screen of this width or less begins with the settings folded, so that the conversation is seen first. */
const narrow = "(max-width: 60rem)";

function byId(id) {
  return document.getElementById(`playground-${id}`);
}

function numberOf(text) {
  const value = Number(String(text ?? "").replace(",", "."));
  return text === "" || !Number.isFinite(value) ? undefined : value;
}

/* The tools as the form has them; `undefined` without any, and an error if they are no list. */
function readTools(text, { texts }) {
  if (text.trim() === "") return undefined;
  let list;
  try {
    list = JSON.parse(text);
  } catch {
    throw new SyntaxError(texts.toolsInvalid);
  }
  if (!Array.isArray(list)) throw new SyntaxError(texts.toolsInvalid);
  // A function may be written alone or as the API wants it.
  return list.map((tool) => tool.type === undefined ? { type: "function", function: tool } : tool);
}

function startPlayground(form) {
  const page = JSON.parse(form.dataset.playground);
  const prompt = form.elements.prompt;
  const models = new Map(page.models.map((model) => [model.id, model]));

  const chosenModels = () => {
    const first = models.get(form.elements.model.value);
    const second = models.get(form.elements.compare.value);
    return first.kind === "chat" && second !== undefined ? [first, second] : [first];
  };
  const settings = () => ({
    models: chosenModels(),
    keyId: form.elements.keyId.value,
    system: form.elements.system.value.trim(),
    temperature: numberOf(form.elements.temperature.value),
    maxTokens: numberOf(form.elements.max_tokens.value) ?? 1,
    effort: form.elements.effort?.value ?? "",
    tools: readTools(form.elements.tools.value, page),
    imageSize: form.elements.image_size.value,
    n: numberOf(form.elements.n.value),
    voice: form.elements.voice.value,
    format: form.elements.format.value,
    seconds: form.elements.seconds?.value,
    videoSize: form.elements.video_size?.value,
  });

  const conversation = new Conversation(page, byId("turns"), {
    settings,
    changed: update,
    edit(user) {
      prompt.value = user.text;
      pictures.urls = user.pictures;
      prompt.focus();
      update();
    },
  });
  const pictures = new Pictures(page, byId("pictures"), () => update());

  /* What would be sent now. */
  function requestNow(model, column, text) {
    const now = settings();
    if (model.kind !== "chat") return mediaRequest(model, now, text);
    const turn = { user: { text, pictures: pictures.urls }, replies: [] };
    return chatRequest(model, now, [...conversation.turns, turn], column);
  }

  function say(text, isProblem = false) {
    const line = byId("price");
    line.textContent = text;
    line.classList.toggle("field-error", isProblem);
  }

  function showPrice() {
    const { texts } = page;
    const chosen = chosenModels();
    const [model] = chosen;
    form.querySelector(".price-note").textContent = chosen.map(({ name, price }) =>
      chosen.length === 1 ? price : `${name}: ${price}`
    ).join("; ");
    let requests;
    try {
      requests = chosen.map((one, column) => requestNow(one, column, prompt.value.trim()));
    } catch (error) {
      return say(error.message, true);
    }
    const cost = money(page, requests.reduce((sum, one, at) => sum + mostCost(chosen[at], one), 0));
    if (model.kind !== "chat") return say(filled(texts.beforeEach, { cost }));
    if (pictures.urls.length > 0 && chosen.some(({ vision }) => !vision)) {
      return say(texts.noVision, true);
    }
    if (chosen.length > 1) return say(filled(texts.beforeTwo, { cost }));
    say(filled(texts.before, { in: count(page, inputTokens(requests[0].body)), cost }));
  }

  /* The lengths and sizes of videos are those of the model. */
  function limitChoices() {
    const { seconds, sizes, efforts } = chosenModels()[0];
    limit(form.elements.seconds, seconds.map(String));
    limit(form.elements.video_size, sizes);
    limit(form.elements.effort, ["", ...efforts]);
  }

  function update() {
    const { isBusy } = conversation;
    byId("send").disabled = isBusy;
    byId("stop").hidden = !isBusy;
    byId("turns").setAttribute("aria-busy", String(isBusy));
    clear.hidden = conversation.turns.length === 0;
    limitChoices();
    showPrice();
  }

  const clear = actionButton(form.dataset.clear, () => {
    conversation.clear();
    prompt.focus();
  });
  byId("turns").before(clear);
  clear.classList.add("clear-turns");

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = prompt.value.trim();
    if (conversation.isBusy || text === "") return;
    try {
      settings();
    } catch (error) {
      return say(error.message, true);
    }
    const user = { text, pictures: pictures.urls };
    prompt.value = "";
    pictures.urls = [];
    conversation.send(user);
    prompt.focus();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(byId("send"));
  });
  form.addEventListener("input", update);
  byId("stop").addEventListener("click", () => conversation.stop());
  byId("code").addEventListener("click", () => {
    try {
      const text = prompt.value.trim() || "Hello!";
      openCodeDialog(page, requestNow(chosenModels()[0], 0, text));
    } catch (error) {
      say(error.message, true);
    }
  });

  const add = async (files) => {
    const problem = await pictures.add(files);
    if (problem !== undefined) say(problem, true);
  };
  byId("attach").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", async (event) => {
    await add(event.target.files);
    event.target.value = "";
  });
  prompt.addEventListener("paste", (event) => {
    const { files } = event.clipboardData;
    if (files.length === 0) return;
    event.preventDefault();
    add(files);
  });
  const talk = form.querySelector(".talk");
  talk.addEventListener("dragover", (event) => event.preventDefault());
  talk.addEventListener("drop", (event) => {
    event.preventDefault();
    add(event.dataTransfer.files);
  });

  form.classList.add("has-script");
  if (matchMedia(narrow).matches) form.querySelector(".playground-settings").open = false;
  update();
}

function limit(select, values) {
  if (select === undefined || select === null || values.length === 0) return;
  for (const option of select.options) {
    option.hidden = option.disabled = !values.includes(option.value);
  }
  if (select.selectedOptions[0]?.disabled) select.value = values[0];
}

const playgroundForm = document.getElementById("playground");
if (playgroundForm !== null) startPlayground(playgroundForm);
