/* Answers that are no text: pictures, speech, video. */
import { post, readVideo, videoPath } from "./api.js";
import { showFailure } from "./chat.js";
import { element, filled } from "./dom.js";
import { mostCost } from "./estimate.js";

/* Milliseconds between two questions about a video, and how often: an hour, after which its task fails. */
const videoPollMs = 2_000;
const mostVideoPolls = 1_800;

/** Writes the request of a model that makes pictures, speech or video. */
export function mediaRequest(model, settings, prompt) {
  const { id, kind } = model;
  switch (kind) {
    case "image": {
      const { imageSize: size, n } = settings;
      return { path: "/v1/images/generations", body: { model: id, prompt, size, n } };
    }
    case "speech": {
      const { voice, format } = settings;
      const body = { model: id, input: prompt, voice, response_format: format };
      return { path: "/v1/audio/speech", body };
    }
    case "video": {
      const { seconds, videoSize: size } = settings;
      return { path: "/v1/videos", body: { model: id, prompt, seconds, size } };
    }
  }
}

function downloadLink({ texts }, href, download) {
  return element("a", { href, download, className: "download", textContent: texts.download });
}

/* The kind of a picture by the first characters of its base64. */
function pictureType(base64) {
  if (base64.startsWith("/9j/")) return "jpeg";
  return base64.startsWith("UklGR") ? "webp" : "png";
}

async function showImages(page, place, response, prompt) {
  const { data } = await response.json();
  place.body.replaceChildren(...data.map(({ b64_json: base64, url }, at) => {
    if (base64 === undefined) {
      return element("a", { href: url, target: "_blank", rel: "noopener", textContent: url });
    }
    const type = pictureType(base64);
    const src = `data:image/${type};base64,${base64}`;
    const alt = filled(page.texts.imageAlt, { n: at + 1, prompt: prompt.slice(0, 100) });
    return element(
      "figure",
      { className: "picture" },
      element("img", { src, alt }),
      downloadLink(page, src, `image-${at + 1}.${type}`),
    );
  }));
}

async function showSpeech(page, place, response, { body }) {
  const src = URL.createObjectURL(await response.blob());
  const player = element("audio", { src, controls: true });
  place.body.replaceChildren(
    player,
    downloadLink(page, src, `speech.${body.response_format}`),
  );
}

const unfinished = ["queued", "in_progress"];

function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    }, { once: true });
  });
}

async function showVideo(page, place, response, { keyId, signal }) {
  let video = await response.json();
  const bar = element("progress", { max: 100, attributes: { "aria-label": page.texts.progress } });
  place.body.replaceChildren(element("p", { textContent: page.texts.progress }), bar);
  for (let poll = 0; unfinished.includes(video.status) && poll < mostVideoPolls; poll++) {
    if (video.progress > 0) bar.value = video.progress;
    await pause(videoPollMs, signal);
    video = await readVideo(page, video.id, keyId, signal);
  }
  if (video.status !== "completed") {
    place.body.replaceChildren();
    place.remark(page.texts.videoFailed);
    return;
  }
  const src = videoPath(video.id, "/content", keyId);
  place.body.replaceChildren(
    element("video", { src, controls: true, preload: "metadata", playsInline: true }),
    downloadLink(page, src, "video.mp4"),
  );
}

async function show(page, place, response, call) {
  const { model, request } = call;
  if (model.kind === "image") await showImages(page, place, response, request.body.prompt);
  else if (model.kind === "speech") await showSpeech(page, place, response, request);
  else await showVideo(page, place, response, call);
}

/** Runs a media call into a place. Returns when it has ended, however it did. */
export async function runMedia(page, call, place) {
  let requestId;
  let failure;
  const cost = mostCost(call.model, call.request);
  const paint = () => ({ output: 0, cost });
  place.running(paint);
  const ticking = setInterval(() => place.running(paint), 200);
  try {
    const response = await post(page, call.request, call.keyId, call.signal);
    requestId = response.headers.get("x-request-id");
    await show(page, place, response, call);
  } catch (error) {
    failure = error;
  }
  clearInterval(ticking);
  const figures = failure?.isFree ? place.failed(failure.requestId) : place.ended(requestId);
  if (failure !== undefined) showFailure(page, place, failure);
  await figures;
}
