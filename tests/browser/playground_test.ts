/**
 * The playground in a real browser, on a gateway with the sandbox provider: a conversation with its history, pictures
 * and tools, two models side by side, stopping, what is not text, errors with what to do, and code that runs.
 */
import { Buffer } from "node:buffer";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import type { Page } from "playwright-core";
import { browserTest } from "../support/browser/chromium.ts";
import { signUpInBrowser, startMailingGateway } from "../support/browser/new_customer.ts";
import { type Look, looks, problemsOf } from "../support/browser/page_soundness.ts";

const folder = new URL("../../screenshots/", import.meta.url);

const words = {
  en: { receipt: "Receipt", retry: "Retry", edit: "Edit", stopped: "Stopped." },
  vi: { receipt: "Biên nhận", retry: "Thử lại", edit: "Sửa", stopped: "Đã dừng." },
};

/** A red pixel. */
const picture =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

const tools = JSON.stringify([{
  name: "get_weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
}]);

/** The settings are folded on a phone. */
async function openSettings(page: Page): Promise<void> {
  const settings = page.locator(".playground-settings");
  if (await settings.getAttribute("open") === null) await settings.locator("summary").click();
}

async function send(page: Page, text: string): Promise<void> {
  await page.locator("#prompt").fill(text);
  await page.locator("#playground-send").click();
}

/** Sends a message and waits for the figures of every answer to it. */
async function ask(page: Page, text: string, answers = 1): Promise<string> {
  const turns = await page.locator(".turn").count();
  await send(page, text);
  const turn = page.locator(".turn").nth(turns);
  await turn.locator(".figures a").nth(answers - 1).waitFor({ timeout: 20_000 });
  return await turn.innerText();
}

/** The requests that the page sends, as it sends them. */
function watchRequests(page: Page): { readonly path: string; readonly body: string }[] {
  const sent: { path: string; body: string }[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (!pathname.startsWith("/playground/api") || request.method() !== "POST") return;
    sent.push({ path: pathname, body: request.postData() ?? "" });
  });
  return sent;
}

for (const look of looks) {
  const t = words[look.locale];
  await browserTest(
    `a conversation in the playground: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using world = await startMailingGateway();
      const { context, page } = await signUpInBrowser(browser, look, world);
      const problems: string[] = [];
      page.on("pageerror", (error) => problems.push(error.message));
      const shoot = async (name: string) => {
        problems.push(...await problemsOf(page, name));
        const file = `playground-${name}-${look.locale}-${look.theme}-${look.width}.png`;
        await page.screenshot({ path: new URL(file, folder).pathname, fullPage: true });
      };
      const sent = watchRequests(page);
      const lastBody = () => JSON.parse(sent.at(-1)?.body ?? "{}");
      await page.goto(`${world.address}/playground`);
      await shoot("empty");

      await openSettings(page);
      await page.locator("[name=system]").fill("Be brief.");
      await page.locator("[name=temperature]").fill("0.5");
      await page.locator("[name=effort]").selectOption("low");
      const first = await ask(page, "Hello **you**, `x < y` <b>&amp;</b>");
      assertStringIncludes(first, t.receipt);
      const { messages, temperature, reasoning_effort: effort, max_tokens } = lastBody();
      assertEquals(messages[0], { role: "system", content: "Be brief." });
      assertEquals([temperature, effort, max_tokens], [0.5, "low", 2_048]);

      await ask(page, "And again?");
      assertEquals(
        lastBody().messages.map(({ role }: { role: string }) => role),
        ["system", "user", "assistant", "user"],
      );
      await shoot("conversation");

      await page.locator("#playground-file").setInputFiles({
        name: "red.png",
        mimeType: "image/png",
        buffer: Buffer.from(picture, "base64"),
      });
      await page.locator("#playground-pictures img").waitFor();
      await ask(page, "What is this?");
      const seen = lastBody().messages.at(-1).content;
      assertEquals(seen.map(({ type }: { type: string }) => type), ["text", "image_url"]);
      assert(seen[1].image_url.url.startsWith("data:image/jpeg;base64,"));

      await page.getByRole("button", { name: t.edit }).nth(1).click();
      assertEquals(await page.locator("#prompt").inputValue(), "And again?");
      assertEquals(await page.locator(".turn").count(), 1, "later turns are dropped");
      await page.locator("#prompt").fill("");

      await page.getByRole("button", { name: t.retry }).first().click();
      await page.locator(".turn .figures a").first().waitFor();
      assertEquals(lastBody().messages.length, 2);

      await openSettings(page);
      await page.locator("[name=compare]").selectOption("mid-top-1");
      await ask(page, "Who are you?", 2);
      assertEquals(sent.slice(-2).map(({ body }) => JSON.parse(body).model).sort(), [
        "mid-top-1",
        "premium-1",
      ]);
      await shoot("two-models");
      await page.locator("[name=compare]").selectOption("");

      await send(page, "Count [[sandbox:length 2000]] [[sandbox:pace 200]]");
      const stopped = page.locator(".turn").last();
      // The answer has begun, so the page knows the id of its receipt.
      await stopped.locator(".markdown p").first().waitFor();
      await page.locator("#playground-stop").click();
      await stopped.getByText(t.stopped).waitFor();
      await stopped.locator(".figures a").waitFor();
      assertEquals(problems, []);
      await context.close();
    },
  );
}

await browserTest("tools are called, and their results go back", async (browser) => {
  await using world = await startMailingGateway();
  const look: Look = { locale: "en", theme: "light", width: 1280 };
  const { context, page } = await signUpInBrowser(browser, look, world);
  const sent = watchRequests(page);
  await page.goto(`${world.address}/playground`);
  await page.locator("[name=tools]").fill("{broken");
  await send(page, "hi");
  await page.getByText("The tools are not a list in JSON.").waitFor();
  assertEquals(sent, []);
  await page.locator("[name=tools]").fill(tools);
  await ask(page, "What is the weather in Huế? Please call get_weather.");
  await page.getByText("Calls get_weather").waitFor();
  assertEquals(await problemsOf(page, "a call of a tool"), []);
  await page.screenshot({ path: new URL("playground-tools.png", folder).pathname, fullPage: true });
  await page.getByLabel("Result of get_weather").fill("31 °C, sunny");
  await page.getByRole("button", { name: "Send the results" }).click();
  await page.locator(".turn").nth(1).locator(".figures a").waitFor();
  await page.getByText('The tools said "31 °C, sunny"').waitFor();
  const roles = JSON.parse(sent.at(-1)?.body ?? "{}").messages
    .map(({ role }: { role: string }) => role);
  assertEquals(roles, ["user", "assistant", "tool"]);
  await context.close();
});

for (const look of looks) {
  await browserTest(
    `pictures, speech and video come out: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using world = await startMailingGateway();
      const { context, page } = await signUpInBrowser(browser, look, world);
      const problems: string[] = [];
      page.on("pageerror", (error) => problems.push(error.message));
      await page.goto(`${world.address}/playground`);
      await openSettings(page);
      await page.locator("[name=model]").selectOption("image-1");
      await page.locator("[name=n]").selectOption("2");
      await ask(page, "A red boat");
      const images = page.locator(".picture img");
      assertEquals(await images.count(), 2);
      const width = "Promise.all([...document.querySelectorAll('.picture img')].map((img) => " +
        "img.decode().then(() => img.naturalWidth)))";
      assert((await page.evaluate<number[]>(width)).every((pixels) => pixels > 0));

      await page.locator("[name=model]").selectOption("speech-1");
      await ask(page, "Xin chào");
      const length = "new Promise((done) => { const audio = document.querySelector('audio'); " +
        "const say = () => done(audio.duration); " +
        "audio.readyState > 0 ? say() : audio.addEventListener('loadedmetadata', say); })";
      assert(await page.evaluate<number>(length) > 0, "the speech cannot be played");

      const [video] = await page.locator("optgroup[data-of=video] option").evaluateAll(
        (options) => options.map((option) => option.getAttribute("value")),
      );
      await page.locator("[name=model]").selectOption(video ?? "");
      await send(page, "A boat on a river");
      await page.locator("video").waitFor({ timeout: 30_000 });
      const frames = length.replace("'audio'", "'video'");
      assert(await page.evaluate<number>(frames) > 0, "the video cannot be played");
      problems.push(...await problemsOf(page, "media"));
      const file = `playground-media-${look.locale}-${look.theme}-${look.width}.png`;
      await page.screenshot({ path: new URL(file, folder).pathname, fullPage: true });
      assertEquals(problems, []);
      await context.close();
    },
  );
}

await browserTest("errors are in the page's language and say what to do", async (browser) => {
  await using world = await startMailingGateway();
  const look: Look = { locale: "vi", theme: "light", width: 390 };
  const { context, page } = await signUpInBrowser(browser, look, world);
  await page.goto(`${world.address}/playground`);
  const credit = async (vnd: number) => {
    const args = ["credit", "lan@example.com", String(vnd), "--reason", "test"];
    const done = await world.gateway.admin(...args);
    assertEquals(done.code, 0, done.output);
  };
  const notice = (turn: number) => page.locator(".turn").nth(turn).locator(".notice");
  await credit(-20_000);
  await send(page, "x");
  await notice(0).getByText("Ví của bạn không đủ").waitFor();
  const way = notice(0).getByRole("link", { name: "Nạp tiền" });
  assertEquals(await way.getAttribute("href"), "/wallet");
  await credit(20_000);
  await send(page, "x [[sandbox:error-429 7]]");
  await notice(1).getByText("thử lại").waitFor({ timeout: 20_000 });
  await send(page, "x [[sandbox:error-after 3]]");
  await notice(2).getByText("thử lại").waitFor();
  assertEquals(await problemsOf(page, "errors"), []);

  await context.clearCookies();
  await send(page, "x");
  await page.locator(".turn").nth(3).getByText("Bạn đã đăng xuất").waitFor();
  await context.close();
});

/** Runs code in a folder of its own and returns what it prints. */
async function run(
  folder: string,
  [command, ...args]: readonly [string, ...string[]],
  key: string,
): Promise<string> {
  const { stdout, stderr } = await new Deno.Command(command, {
    args,
    cwd: folder,
    env: { GATEWAY_API_KEY: key },
  }).output();
  const decoder = new TextDecoder();
  return decoder.decode(stdout) + decoder.decode(stderr);
}

/** How the code of each language is run; a language that this machine lacks is left out. */
const runners: readonly {
  readonly language: string;
  readonly file: string;
  readonly command: readonly [string, ...string[]];
}[] = [
  { language: "curl", file: "call.sh", command: ["sh", "call.sh"] },
  { language: "Python", file: "call.py", command: ["python3", "call.py"] },
  {
    language: "TypeScript",
    file: "call.ts",
    command: [Deno.execPath(), "run", "--no-config", "-A", "call.ts"],
  },
  { language: "Go", file: "call.go", command: ["go", "run", "call.go"] },
];

async function isInstalled(command: string): Promise<boolean> {
  const { code } = await new Deno.Command("sh", { args: ["-c", `command -v ${command}`] }).output();
  return code === 0;
}

await browserTest("what is copied as code runs in four languages", async (browser) => {
  await using world = await startMailingGateway();
  const look: Look = { locale: "en", theme: "dark", width: 1280 };
  const { context, page } = await signUpInBrowser(browser, look, world);
  const key = (await page.locator("#secret").textContent())!.trim();
  await page.goto(`${world.address}/playground`);
  await page.locator("[name=system]").fill("You're `brief`: \"$HOME\" \\n 'quoted' ${x} 😀");
  const text = "It's \"quoted\", $HOME, `date`, ${x}, \\n, 😀 'JSON'";
  await page.locator("#prompt").fill(text);
  await page.locator("#playground-code").click();
  const dialog = page.getByRole("dialog");
  assertEquals(await problemsOf(page, "code"), []);
  await page.screenshot({ path: new URL("playground-code.png", folder).pathname });
  const place = await Deno.makeTempDir();
  for (const { language, file, command } of runners) {
    if (!await isInstalled(command[0])) continue;
    await dialog.getByRole("button", { name: language, exact: true }).click();
    const code = await dialog.locator("code").textContent();
    await Deno.writeTextFile(`${place}/${file}`, code!);
    const printed = await run(place, command, key);
    assertStringIncludes(printed.replaceAll('\\"', '"').replaceAll("\\\\", "\\"), text, language);
  }
  await dialog.getByRole("button", { name: "Close" }).click();

  await page.locator("[name=model]").selectOption("speech-1");
  await page.locator("#playground-code").click();
  for (const { language, file, command } of runners.slice(0, 3)) {
    if (!await isInstalled(command[0])) continue;
    await dialog.getByRole("button", { name: language, exact: true }).click();
    await Deno.writeTextFile(`${place}/${file}`, (await dialog.locator("code").textContent())!);
    const printed = await run(place, command, key);
    assert((await Deno.stat(`${place}/speech.mp3`)).size > 500, `${language}: ${printed}`);
    await Deno.remove(`${place}/speech.mp3`);
  }
  await Deno.remove(place, { recursive: true });
  await context.close();
});

await browserTest("without script the playground answers one turn", async (browser) => {
  await using world = await startMailingGateway();
  const look: Look = { locale: "en", theme: "light", width: 1280 };
  const { context: scripted } = await signUpInBrowser(browser, look, world);
  const context = await browser.newContext({ locale: "en-US", javaScriptEnabled: false });
  await context.addCookies(await scripted.cookies());
  const page = await context.newPage();
  await page.goto(`${world.address}/playground`);
  assert(!await page.locator("#playground-code").isVisible(), "a button that does nothing");
  assert(!await page.locator("[name=image_size]").isVisible(), "a field of another kind");
  await page.locator("#prompt").fill("Hello <b>you</b>");
  await page.locator("#playground-send").click();
  await page.locator(".reply").getByText("You said: Hello <b>you</b>").waitFor();
  await page.locator(".reply").getByRole("link", { name: "Receipt" }).waitFor();
  await page.locator("[name=model]").selectOption("image-1");
  await page.locator("[name=image_size]").waitFor();
  await page.locator("#prompt").fill("A boat");
  await page.locator("#playground-send").click();
  await page.locator(".reply img").waitFor();
  await context.close();
  await scripted.close();
});
