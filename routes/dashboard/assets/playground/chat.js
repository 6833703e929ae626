/* One chat answer: the request of a turn, and its stream read into text, reasoning and calls of tools. */
import { events, post, problemOfError } from "./api.js";
import { element, filled } from "./dom.js";
import { costSoFar, inputTokens, tokensOf } from "./estimate.js";
import { renderMarkdown } from "./markdown.js";

/** The message of a user with its pictures. */
function userMessage({ text, pictures }, model) {
  const seen = model.vision ? pictures : [];
  if (seen.length === 0) return { role: "user", content: text };
  return {
    role: "user",
    content: [
      { type: "text", text },
      ...seen.map((url) => ({ type: "image_url", image_url: { url } })),
    ],
  };
}

function assistantMessage({ text, calls }) {
  const made = calls.filter((call) => call !== undefined);
  return {
    role: "assistant",
    content: text === "" ? null : text,
    ...(made.length > 0 && {
      tool_calls: made.map(({ id, name, args }) => ({
        id,
        type: "function",
        function: { name, arguments: args },
      })),
    }),
  };
}

/* The messages of one turn in one column; turns of the other column alone are not part of it. */
function messagesOfTurn({ user, results, replies, column: only }, column, model) {
  if (only !== undefined && only !== column) return [];
  const said = results === undefined
    ? [userMessage(user, model)]
    : results.map(({ id, text }) => ({ role: "tool", tool_call_id: id, content: text }));
  const reply = replies[column] ?? replies[0];
  const hasAnswer = reply !== undefined && (reply.text !== "" || reply.calls.length > 0);
  return hasAnswer ? [...said, assistantMessage(reply)] : said;
}

/** Writes the request of the last of some turns. */
export function chatRequest(model, settings, turns, column) {
  const { system, temperature, maxTokens, effort, tools } = settings;
  const messages = turns.flatMap((turn) => messagesOfTurn(turn, column, model));
  return {
    path: "/v1/chat/completions",
    body: {
      model: model.id,
      messages: [...system === "" ? [] : [{ role: "system", content: system }], ...messages],
      max_tokens: Math.min(maxTokens, model.maxOutput),
      ...(temperature !== undefined && model.temperature && { temperature }),
      ...(model.efforts.includes(effort) && { reasoning_effort: effort }),
      ...(tools !== undefined && { tools }),
    },
  };
}

/* Adds the pieces of calls of tools, which come by index. */
function takeCalls(reply, pieces) {
  for (const { index = 0, id, function: { name, arguments: args } = {} } of pieces ?? []) {
    const call = reply.calls[index] ??= { id: "", name: "", args: "" };
    if (id) call.id = id;
    if (name) call.name += name;
    if (args) call.args += args;
  }
}

function takeChunk(page, reply, chunk) {
  if (chunk.error) throw problemOfError(page, chunk.error);
  const delta = chunk.choices?.[0]?.delta ?? {};
  reply.text += delta.content ?? delta.refusal ?? "";
  reply.reasoning += delta.reasoning_content ?? delta.reasoning ?? "";
  takeCalls(reply, delta.tool_calls);
}

function prettyArguments(args) {
  try {
    return JSON.stringify(JSON.parse(args), undefined, 2);
  } catch {
    return args;
  }
}

/* The body of an answer as far as it has come. What the reader has opened stays open. */
function showReply(page, place, reply) {
  const { texts } = page;
  const wasOpen = place.body.querySelector("details")?.open === true;
  const reasoning = reply.reasoning === "" ? [] : [
    element(
      "details",
      { open: wasOpen },
      element("summary", { textContent: texts.reasoning }),
      element("div", { className: "plain-text", textContent: reply.reasoning }),
    ),
  ];
  place.body.replaceChildren(
    ...reasoning,
    ...renderMarkdown(reply.text, texts),
    ...reply.calls.filter((call) => call !== undefined).map(({ name, args }) =>
      element(
        "div",
        { className: "tool-call" },
        element("strong", { textContent: filled(texts.toolCall, { name }) }),
        element("pre", {
          tabIndex: 0,
          textContent: prettyArguments(args),
          attributes: { role: "group", "aria-label": filled(texts.toolCall, { name }) },
        }),
      )
    ),
  );
}

/** Asks for the results of the calls of an answer; `send` gets them. */
export function askForResults(page, place, reply, send) {
  const { texts } = page;
  const fields = reply.calls.map(({ id, name }) => ({
    id,
    name,
    field: element("textarea", {
      rows: 2,
      attributes: { "aria-label": filled(texts.toolResult, { name }) },
      placeholder: filled(texts.toolResult, { name }),
    }),
  }));
  const box = element("div", { className: "tool-results" }, ...fields.map(({ field }) => field));
  const button = element("button", {
    type: "button",
    className: "small",
    textContent: texts.sendResults,
  });
  button.addEventListener("click", () => {
    box.remove();
    send(fields.map(({ id, name, field }) => ({ id, name, text: field.value })));
  });
  box.append(button);
  place.body.append(box);
}

/** Runs a chat call into a place. Returns when it has ended, however it did. */
export async function runChat(page, { model, request, keyId, signal }, reply, place) {
  const input = inputTokens(request.body);
  const paint = () => {
    showReply(page, place, reply);
    const output = tokensOf(reply.text + reply.reasoning);
    return { output, cost: costSoFar(model, input, output) };
  };
  const body = { ...request.body, stream: true, stream_options: { include_usage: true } };
  let requestId;
  let failure;
  place.running(paint);
  try {
    const response = await post(page, { ...request, body }, keyId, signal);
    requestId = response.headers.get("x-request-id");
    for await (const data of events(response.body)) {
      if (data === "[DONE]") break;
      takeChunk(page, reply, JSON.parse(data));
      place.running(paint);
    }
  } catch (error) {
    failure = error;
  }
  const figures = failure?.isFree ? place.failed(failure.requestId) : place.ended(requestId);
  if (failure !== undefined) showFailure(page, place, failure);
  else if (reply.text === "" && reply.calls.length === 0) place.remark(page.texts.empty);
  await figures;
}

/** Shows why a call ended early. */
export function showFailure(page, place, failure) {
  if (failure.name === "AbortError") place.remark(page.texts.stopped);
  else place.problem(failure);
}
