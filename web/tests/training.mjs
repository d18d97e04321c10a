// What tests of the page Train do and look at.

/** The value beside a name of the figures. */
export const figure = ({ page }, name) =>
  page.evaluate((name) => {
    const found = [...document.querySelectorAll(".figures dt")].find((each) => each.textContent === name);
    return found?.nextElementSibling?.textContent ?? "";
  }, name);

/** Waits until the run has taken so many steps. */
export const reaches = ({ until }, step, seconds = 80) =>
  until(
    (step) => {
      const found = /step ([\d\s]+) of/.exec(document.querySelector(".controls .progress")?.textContent ?? "");
      return found !== null && Number(found[1].replace(/\s/g, "")) >= step;
    },
    step,
    `step ${step}`,
    seconds,
  );

export const stepNow = ({ page }) =>
  page.evaluate(() =>
    Number(/step ([\d\s]+) of/.exec(document.querySelector(".controls .progress")?.textContent ?? "")?.[1].replace(/\s/g, "")),
  );

/** Waits until the run is over: Start is back. */
export const finishes = ({ until }, seconds = 90) =>
  until(
    () =>
      [...document.querySelectorAll("button")].some((each) => each.textContent === "Start" && !each.disabled) &&
      !document.querySelector(".controls .progress-fill.unknown") &&
      /(Done|Stopped|Failed)/.test(document.querySelector(".controls .progress")?.textContent ?? ""),
    undefined,
    "the end of the run",
    seconds,
  );

/** A table of 8 × 8 pictures in two classes: bright above or bright below. */
export function pictureTable() {
  const names = [...Array.from({ length: 64 }, (_, place) => `p${place}`), "label"];
  const rows = Array.from({ length: 120 }, (_, row) => {
    const above = row % 2 === 0;
    const pixels = Array.from({ length: 64 }, (_, place) => (place < 32 === above ? 200 : 20) + ((row * 7 + place * 13) % 30));
    return [...pixels, above ? "above" : "below"].join(",");
  });
  return { name: "pictures.csv", mimeType: "text/csv", buffer: Buffer.from([names.join(","), ...rows].join("\n")) };
}

/** Moves the slider of the rate to this power of ten, and waits until the worker has said from which step on. */
export async function slideRate({ page, until }, power, rate) {
  await page.evaluate((power) => {
    const slider = document.querySelector(".rate input");
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(slider, String(power));
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  }, power);
  await until((rate) => document.body.innerText.includes(`Learning rate ${rate} from step`), rate, `the rate ${rate}`);
}

/** The rows of the curves' table, losses and gradients to the last digit, without those columns that no two runs share: number, name and time. */
export async function lossesOf({ page, press }) {
  const { bytes } = await page.download(() => press("Export CSV"));
  const rows = bytes.toString().trim().split("\n").slice(1);
  return rows.map((row) => {
    const [gradient, rate, accuracy, loss, , epoch, step, part] = row.split(",").reverse();
    return [part, step, epoch, loss, accuracy, rate, gradient].join();
  });
}

/** The weights of the run as a file's bytes. */
export const weightsOf = async ({ page, press }) => (await page.download(() => press("Export the model"))).bytes;
