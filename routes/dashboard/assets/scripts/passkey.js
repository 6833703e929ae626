/*
 * Passkeys: a form asks the gateway what the authenticator is to sign, then the browser for its answer, and sends that
 * as its field "credential". Such forms are hidden until this script finds that the browser can do it here.
 */
"use strict";

const bytesOf = (text) =>
  Uint8Array.from(
    atob(text.replaceAll("-", "+").replaceAll("_", "/")),
    (char) => char.charCodeAt(0),
  );
const textOf = (buffer) =>
  btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join(""))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const withBytes = (credentials) =>
  (credentials ?? []).map((one) => ({ ...one, id: bytesOf(one.id) }));

async function create(options) {
  const credential = await navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: bytesOf(options.challenge),
      user: { ...options.user, id: bytesOf(options.user.id) },
      excludeCredentials: withBytes(options.excludeCredentials),
    },
  });
  const { response } = credential;
  return {
    id: credential.id,
    rawId: textOf(credential.rawId),
    type: credential.type,
    response: {
      clientDataJSON: textOf(response.clientDataJSON),
      attestationObject: textOf(response.attestationObject),
      transports: response.getTransports?.() ?? [],
    },
  };
}

async function get(options) {
  const credential = await navigator.credentials.get({
    publicKey: {
      ...options,
      challenge: bytesOf(options.challenge),
      allowCredentials: withBytes(options.allowCredentials),
    },
  });
  const { response } = credential;
  return {
    id: credential.id,
    rawId: textOf(credential.rawId),
    type: credential.type,
    response: {
      clientDataJSON: textOf(response.clientDataJSON),
      authenticatorData: textOf(response.authenticatorData),
      signature: textOf(response.signature),
      userHandle: response.userHandle === null ? null : textOf(response.userHandle),
    },
  };
}

/* The options; undefined if the browser goes to another page, such as that which confirms first. */
async function askGateway(form) {
  const answer = await fetch(`${form.action}/options`, {
    method: "POST",
    headers: { "x-csrf-token": form.elements.csrf.value },
  });
  if (answer.redirected) {
    location.assign(answer.url);
    return undefined;
  }
  const { options, problem } = await answer.json();
  if (options === undefined) throw new Error(problem);
  return options;
}

const isPossible = (form) =>
  isSecureContext && typeof PublicKeyCredential === "function" &&
  form.dataset.passkeyOrigin === location.origin;

for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (!isPossible(form)) continue;
  form.hidden = false;
  for (const other of document.querySelectorAll("[data-passkey-missing]")) other.hidden = true;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.getAttribute("aria-busy") === "true") return;
    const words = JSON.parse(form.dataset.passkeyWords);
    const problem = form.querySelector("[data-passkey-problem]");
    problem.hidden = true;
    form.setAttribute("aria-busy", "true");
    try {
      const options = await askGateway(form);
      if (options === undefined) return;
      const credential = await (form.dataset.passkey === "create" ? create : get)(options);
      form.elements.credential.value = JSON.stringify(credential);
      form.submit();
    } catch (error) {
      problem.textContent = words[error.name] ?? (error.name === "Error" ? error.message : "");
      if (problem.textContent === "") problem.textContent = words.other;
      problem.hidden = false;
    } finally {
      form.removeAttribute("aria-busy");
    }
  });
}
