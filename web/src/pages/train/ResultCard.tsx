/** A run's result as a picture to be copied or saved. */

import { useEffect, useMemo, useState } from "react";
import { Button, colourOf, fileName, saveFile } from "../../ui/index.js";
import { messageOf } from "../../work/errors.js";
import type { Run } from "../../work/runs.js";
import { CARD_HEIGHT, CARD_WIDTH, cardSvg, cardWords } from "./cardSvg.js";

/** Pictures on a card. */
const MOST_PICTURES = 9;

/** The first items as addresses of pictures; none where they are no pictures. */
function picturesOf({ assessment, set }: Run): string[] {
  const [, height = 0, width = 0] = set?.shape ?? [];
  if (height === 0 || set?.number !== undefined) return [];
  return (assessment?.samples ?? []).slice(0, MOST_PICTURES).map(({ pixels }) => {
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    const context = canvas.getContext("2d");
    const picture = new ImageData(width, height);
    const area = width * height;
    for (let place = 0; place < area; place += 1) {
      const planes = [0, 1, 2].map((plane) => 255 * (pixels[place + plane * area] ?? 0));
      const colour = pixels.length >= 3 * area ? planes : colourOf(pixels[place] ?? 0, "ink", "light");
      picture.data.set([...colour, 255], 4 * place);
    }
    context?.putImageData(picture, 0, 0);
    return canvas.toDataURL();
  });
}

/** The card as a PNG. */
async function toPng(svg: string): Promise<Blob> {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image(CARD_WIDTH, CARD_HEIGHT);
    image.src = address;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: CARD_WIDTH, height: CARD_HEIGHT });
    canvas.getContext("2d")?.drawImage(image, 0, 0, CARD_WIDTH, CARD_HEIGHT);
    const png = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve));
    if (png === null) throw new Error("the browser made no picture of it");
    return png;
  } finally {
    URL.revokeObjectURL(address);
  }
}

export default function ResultCard({ run }: { run: Run }) {
  const [said, setSaid] = useState("");
  const { name, result, assessment, curve } = run;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a run changes in place; these are what its card shows.
  const svg = useMemo(() => cardSvg(run, picturesOf(run)), [run, name, result, assessment, curve]);
  const [address, setAddress] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [svg]);
  const tried = async (what: () => Promise<string>) => {
    setSaid("");
    try {
      setSaid(await what());
    } catch (error) {
      setSaid(`That was not possible: ${messageOf(error)}`);
    }
  };
  const copy = async () => {
    // Pages over plain http have no clipboard, and some browsers take no pictures.
    const { clipboard } = navigator as { clipboard?: Clipboard };
    if (clipboard === undefined || typeof ClipboardItem === "undefined")
      return "This browser gives the page no clipboard for pictures: save the card instead.";
    await clipboard.write([new ClipboardItem({ "image/png": toPng(svg) })]);
    return "The card is on the clipboard.";
  };
  const save = async () => {
    saveFile(fileName(name, "png"), await toPng(svg), "image/png");
    return "";
  };
  return (
    <div className="stack">
      {address !== "" && (
        <img className="result-card" src={address} alt={cardWords(run)} width={CARD_WIDTH} height={CARD_HEIGHT} />
      )}
      <div className="buttons">
        <Button onClick={() => void tried(copy)}>Copy the card</Button>
        <Button onClick={() => void tried(save)}>Save as PNG</Button>
        <Button onClick={() => saveFile(fileName(name, "svg"), svg, "image/svg+xml")}>Save as SVG</Button>
      </div>
      <p className="panel-note" role="status">
        {said}
      </p>
    </div>
  );
}
