// What a test is given: a page of the app, and the few things tests do with it. Elements are found as people find them:
// by the words on a button or a label.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const images = fileURLToPath(new URL("../../docs/images/", import.meta.url));

/** An error unless `condition` holds. */
export function assert(condition, message) {
  if (!condition) throw new Error(message);
}

/** Opens a page for one test. */
export async function makeContext(browser, address, { pictures, page: asked }) {
  const errors = [];
  const wanted = { width: 1280, height: 900, dark: false, ...asked };
  const page = await browser.newPage(wanted);
  const others = [];
  const fresh = async () => {
    const other = await browser.newPage(wanted);
    others.push(other);
    return other;
  };
  const context = aboutPage(browser.name, page, address, errors, pictures);
  return {
    ...context,
    /** A page in another profile, as another reader has it. */
    freshProfile: async () => aboutPage(browser.name, await fresh(), address, errors, pictures),
    /** Another tab of this profile. */
    anotherTab: async () => aboutPage(browser.name, await page.tab(), address, errors, pictures),
    close: async () => {
      for (const each of [...others, page]) await each.close();
    },
  };
}

/** What can be done with one page. */
function aboutPage(browser, page, address, errors, pictures) {
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(String(error.stack ?? error)));

  const context = {
    browser,
    address,
    errors,
    page,

    /** Opens a place of the app, such as "train?seed=3". */
    async open(place) {
      await page.goto(`${address}#/${place}`);
      await page.evaluate(() => document.readyState);
      await context.until(() => document.querySelector("main h1") !== null, undefined, "the page's title");
    },

    /** Waits until a function, run in the page, gives something true; gives that. */
    async until(body, argument, what = String(body), seconds = 60) {
      const end = performance.now() + seconds * 1000;
      for (;;) {
        // A page that is being opened anew has nothing to say yet.
        const value = await page.evaluate(body, argument).catch((error) => {
          if (!/context was destroyed/i.test(error.message)) throw error;
        });
        if (value) return value;
        assert(performance.now() < end, `waited ${seconds} s for: ${what}`);
        await new Promise((done) => setTimeout(done, 60));
      }
    },

    /** Presses the enabled button with these words. */
    async press(words) {
      await context.until(
        (words) => {
          const named = (button) => button.textContent.trim() === words || button.getAttribute("aria-label") === words;
          const button = [...document.querySelectorAll("button, a, summary")].find(
            (each) => named(each) && !each.disabled && each.getAttribute("aria-disabled") !== "true",
          );
          button?.click();
          return button !== undefined;
        },
        words,
        `the button “${words}”`,
      );
    },

    /** Puts a value into the control with this label. */
    async fill(label, value) {
      await context.until(
        ([label, value]) => {
          const found = [...document.querySelectorAll("label")].find((each) => each.textContent.trim().startsWith(label));
          const control = found && (found.control ?? document.getElementById(found.htmlFor));
          if (!control || control.disabled) return false;
          if (control.type === "checkbox") {
            if (control.checked !== value) control.click();
            return true;
          }
          const kind = control instanceof HTMLSelectElement ? HTMLSelectElement : HTMLInputElement;
          Object.getOwnPropertyDescriptor(kind.prototype, "value").set.call(control, String(value));
          control.dispatchEvent(new Event(control instanceof HTMLSelectElement ? "change" : "input", { bubbles: true }));
          return true;
        },
        [label, value],
        `the control “${label}”`,
      );
    },

    /** Waits until the page shows these words. */
    sees: (words, seconds = 60) =>
      context.until((words) => document.body.innerText.includes(words), words, `the words “${words}”`, seconds),

    /** The text of the page, shortened. */
    seen: () => page.evaluate(() => document.querySelector("main")?.innerText.replace(/\s+/g, " ").slice(0, 1500) ?? ""),

    /** Saves what the page shows as docs/images/web-<name>.png, if pictures were asked for. */
    async picture(name) {
      if (!pictures) return;
      mkdirSync(images, { recursive: true });
      await page.screenshot(`${images}web-${name}.png`);
    },

    /** Fails if axe finds a fault of accessibility. */
    async accessible() {
      const source = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
      await page.evaluate(source);
      const faults = await page.evaluate(async () => {
        const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
        return violations.map(
          ({ id, help, nodes }) =>
            `${id}: ${help}: ${nodes
              .slice(0, 3)
              .map((node) => `${node.html.slice(0, 160)} (${node.failureSummary.replace(/\s+/g, " ")})`)
              .join(" | ")}`,
        );
      });
      assert(faults.length === 0, `axe finds:\n    ${faults.join("\n    ")}`);
    },
  };
  return context;
}
