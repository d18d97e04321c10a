/** A run's result as a picture of its own, in the size that chats show: name, figures, settings in words, curve, pictures. */

import { percent } from "../../ui/write.js";
import type { Assessment } from "../../work/messages.js";
import type { Run } from "../../work/run.js";
import { settingsInWords } from "../../work/words.js";
import { measureOf, testMeasure } from "./measures.js";

export const [CARD_WIDTH, CARD_HEIGHT] = [1200, 630] as const;
const [INK, SOFT, WARM, COLD, LINE, PAPER, GOOD, BAD] = [
  ...["#2a2320", "#6b5f58", "#b8420f", "#1f6f8b", "#e4dcd3", "#fbf8f4", "#3f7d20", "#b3261e"],
] as const;

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const text = (x: number, y: number, size: number, words: string, more = `fill="${INK}"`) =>
  `<text x="${x}" y="${y}" font-size="${size}" ${more}>${escaped(words)}</text>`;

/** What a screen reader says of the card: all its words. */
export function cardWords(run: Run): string {
  const { result } = run;
  const figures = result === undefined ? "" : ` ${testMeasure(run)} ${percent(result.accuracy)}, loss ${result.loss.toFixed(4)}.`;
  return `${run.name}.${figures} ${settingsInWords(run).join(". ")}.`;
}

/** A chart's place on the card. */
const [LEFT, TOP, WIDTH, HEIGHT] = [640, 250, 500, 250];

/** At most so many points of a curve. */
const MOST_POINTS = 250;

/** Training and looks at other items, from 0 to 1 upwards. */
function curves({ curve, steps }: Run, measure: string): string {
  const last = Math.max(steps, curve.step.at(-1) ?? 0, 1);
  const line = (xs: readonly number[], ys: readonly number[], look: string) => {
    const each = Math.ceil(xs.length / MOST_POINTS) || 1;
    const points = xs.flatMap((x, place) => {
      const y = ys[place] ?? Number.NaN;
      if (!Number.isFinite(y) || (place % each !== 0 && place !== xs.length - 1)) return [];
      return [`${(LEFT + (WIDTH * x) / last).toFixed(1)},${(TOP + HEIGHT * (1 - Math.min(Math.max(y, 0), 1))).toFixed(1)}`];
    });
    return `<polyline fill="none" stroke-width="3" stroke-linejoin="round" ${look} points="${points.join(" ")}"/>`;
  };
  const grid = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const y = TOP + HEIGHT * (1 - share);
    const tick = text(LEFT - 10, y + 6, 17, `${100 * share} %`, `fill="${SOFT}" text-anchor="end"`);
    return `<line x1="${LEFT}" x2="${LEFT + WIDTH}" y1="${y}" y2="${y}" stroke="${LINE}"/>${tick}`;
  });
  return [
    text(LEFT, TOP - 16, 20, measure, `fill="${SOFT}"`),
    text(LEFT + WIDTH, TOP - 16, 18, "training", `fill="${WARM}" text-anchor="end"`),
    ...(curve.testStep.length > 0
      ? [text(LEFT + WIDTH - 90, TOP - 16, 18, "not trained with", `fill="${COLD}" text-anchor="end"`)]
      : []),
    ...grid,
    line(curve.step, curve.accuracy, `stroke="${WARM}"`),
    line(curve.testStep, curve.testAccuracy, `stroke="${COLD}" stroke-dasharray="10 6"`),
  ].join("\n");
}

/** Pictures of items with the answers to them. */
function answers({ samples }: Assessment, classes: readonly string[], pictures: readonly string[]): string {
  return pictures
    .map((address, place) => {
      const sample = samples[place];
      if (sample === undefined) return "";
      const x = 60 + place * 56;
      const said = cut(classes[sample.answer] ?? "", 6);
      const look = `fill="${sample.answer === sample.label ? GOOD : BAD}" text-anchor="middle"`;
      return `<image x="${x}" y="502" width="46" height="46" href="${address}" image-rendering="pixelated"/>${text(x + 23, 572, 18, said, look)}`;
    })
    .join("\n");
}

/** The confusion matrix as squares: labels down, answers across. */
function confusion(rows: readonly (readonly number[])[]): string {
  const side = Math.min(84 / Math.max(rows.length, 1), 20);
  return rows
    .flatMap((row, label) => {
      const total = Math.max(
        row.reduce((sum, value) => sum + value, 0),
        1,
      );
      return row.map((value, answer) => {
        const strength = Math.sqrt(value / total).toFixed(2);
        const colour = label === answer ? GOOD : BAD;
        const place = `x="${(60 + answer * side).toFixed(1)}" y="${(494 + label * side).toFixed(1)}"`;
        return `<rect ${place} width="${(side - 1).toFixed(1)}" height="${(side - 1).toFixed(1)}" fill="${colour}" opacity="${strength}"/>`;
      });
    })
    .join("\n");
}

/** Predictions of a number against what it is. */
function scatter(pairs: Float32Array): string {
  const [low, high] = [Math.min(...pairs), Math.max(...pairs)];
  const place = (value: number) => (84 * (value - low)) / (high - low || 1);
  const points = Array.from({ length: Math.min(pairs.length / 2, 200) }, (_, index) => {
    const [is, said] = [place(pairs[2 * index] ?? 0), place(pairs[2 * index + 1] ?? 0)];
    return `<circle cx="${(62 + 2 * is).toFixed(1)}" cy="${(578 - said).toFixed(1)}" r="2.5" fill="${WARM}" opacity="0.6"/>`;
  });
  return `<line x1="62" y1="578" x2="230" y2="494" stroke="${SOFT}" stroke-dasharray="4 4"/>${points.join("")}`;
}

/** The card. `pictures` are addresses of the first items as pictures, where they are pictures. */
export function cardSvg(run: Run, pictures: readonly string[]): string {
  const { result, assessment, set } = run;
  const seen =
    assessment === undefined
      ? ""
      : pictures.length > 0
        ? answers(assessment, set?.classes ?? [], pictures)
        : assessment.pairs !== undefined
          ? scatter(assessment.pairs)
          : confusion(assessment.confusion);
  const error = result?.error === undefined ? "" : `, error ${Number(result.error.toPrecision(3))}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${CARD_WIDTH}" height="${CARD_HEIGHT}" viewBox="0 0 ${CARD_WIDTH} ${CARD_HEIGHT}" font-family="system-ui, sans-serif">
<title>${escaped(cardWords(run))}</title>
<rect width="${CARD_WIDTH}" height="${CARD_HEIGHT}" fill="${PAPER}"/>
<rect width="16" height="${CARD_HEIGHT}" fill="${WARM}"/>
${text(60, 92, 42, cut(run.name, 50), `fill="${INK}" font-weight="650"`)}
${text(60, 230, 112, result === undefined ? "–" : percent(result.accuracy), `fill="${WARM}" font-weight="700"`)}
${text(64, 274, 26, `${testMeasure(run)}${result === undefined ? "" : `, loss ${result.loss.toFixed(4)}${error}`}`, `fill="${SOFT}"`)}
${settingsInWords(run)
  .map((words, place) => text(60, 336 + 38 * place, 23, cut(words, 46)))
  .join("\n")}
${curves(run, measureOf(run) === "accuracy" ? "Accuracy" : "R²")}
${seen}
${text(CARD_WIDTH - 60, 586, 20, `Flambeau, ${new Date(run.date).toISOString().slice(0, 10)}`, `fill="${SOFT}" text-anchor="end"`)}
</svg>
`;
}
