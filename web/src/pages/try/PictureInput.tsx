/** A picture for the model: from a file, dropped, pasted, taken with the camera, or drawn. */

import { useCallback, useEffect, useRef, useState } from "react";
import { Button, Check, FileDrop, Panel, PixelCanvas, Segments } from "../../ui/index.js";
import type { ModelAbout } from "../../work/about.js";
import type { Ink } from "../../work/centre.js";
import { inputOfInk, inputOfPicture, sizeOf } from "../../work/inputs.js";
import { written } from "../../work/layers.js";
import { Pad, type PadHandle } from "../draw/Pad.js";
import { Camera } from "./Camera.js";

type Way = "picture" | "camera" | "draw";

interface Props {
  about: ModelAbout;
  onItem: (item: Float32Array | undefined) => void;
}

/** Pictures of more pixels are not drawn by hand. */
const LARGEST_DRAWN = 64;

export function PictureInput({ about, onItem }: Props) {
  const { height, width } = sizeOf(about);
  const canDraw = Math.max(height, width) <= LARGEST_DRAWN;
  const [way, setWay] = useState<Way>("picture");
  const [item, setItem] = useState<Float32Array>();
  const [fault, setFault] = useState("");
  const ways: [Way, string][] = [
    ["picture", "A picture"],
    ["camera", "The camera"],
    ...(canDraw ? ([["draw", "Draw"]] as [Way, string][]) : []),
  ];
  const show = useCallback(
    (next: Float32Array | undefined) => {
      setItem(next);
      onItem(next);
    },
    [onItem],
  );
  useEffect(() => () => onItem(undefined), [onItem]);

  const read = useCallback(
    async (file: Blob, name: string) => {
      setFault("");
      try {
        const picture = await createImageBitmap(file);
        show(inputOfPicture(picture, about));
        picture.close();
      } catch {
        setFault(`${name} cannot be read as a picture`);
      }
    },
    [about, show],
  );
  useEffect(() => {
    const paste = ({ clipboardData }: ClipboardEvent) => {
      const file = [...(clipboardData?.files ?? [])].find(({ type }) => type.startsWith("image/"));
      if (file !== undefined) void read(file, "What was pasted");
    };
    window.addEventListener("paste", paste);
    return () => window.removeEventListener("paste", paste);
  }, [read]);

  return (
    <Panel title="A picture" note={<Segments label="Where it comes from" value={way} options={ways} onChange={setWay} />}>
      <div className="stacked">
        {way === "picture" && (
          <FileDrop
            label="Choose a picture"
            accept="image/*"
            onFiles={([file]) => file !== undefined && void read(file, file.name)}
          >
            or drop it here, or paste it (Ctrl+V or ⌘V)
          </FileDrop>
        )}
        {way === "camera" && <Camera onPicture={(picture) => show(inputOfPicture(picture, about))} />}
        {way === "draw" && <Sheet about={about} onItem={show} />}
        {fault !== "" && (
          <p className="field-problem" role="alert">
            {fault}
          </p>
        )}
        <figure className="try-seen">
          <PixelCanvas
            label="What the model sees"
            width={width}
            height={height}
            values={item ?? new Float32Array(height * width)}
            palette="grey"
            scale={Math.max(140 / Math.max(width, height), 1)}
          />
          <figcaption className="panel-note">
            What the model sees: {written(about.shape)},{" "}
            {about.preparation.kind === "ink" ? "centred as MNIST has it" : "stretched as in training"}
          </figcaption>
        </figure>
      </div>
    </Panel>
  );
}

function Sheet({ about, onItem }: Props) {
  const pad = useRef<PadHandle>(null);
  const ink = useRef<Ink>(undefined);
  const [swapped, setSwapped] = useState(false);
  const tell = (next: Ink) => {
    ink.current = next;
    onItem(inputOfInk(next, about, swapped));
  };
  return (
    <>
      <div className="try-sheet">
        <Pad handle={pad} onInk={tell} />
      </div>
      <div className="buttons">
        <Button onClick={() => pad.current?.clear()}>Clear</Button>
        <Button onClick={() => pad.current?.undo()}>Undo</Button>
        {about.preparation.kind === "picture" && (
          <Check
            label="Light ink on dark paper"
            value={swapped}
            onChange={(next) => {
              setSwapped(next);
              if (ink.current !== undefined) onItem(inputOfInk(ink.current, about, next));
            }}
          />
        )}
      </div>
    </>
  );
}
