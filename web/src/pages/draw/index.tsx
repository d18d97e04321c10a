/** The page Draw: draw a digit, and see what the network makes of it. */

import { useEffect, useRef, useState } from "react";
import { addressOf, usePlace } from "../../app/route.js";
import { Bars, Button, FileDrop, Notice, PageHead, Panel, PixelCanvas, Progress, write } from "../../ui/index.js";
import type { ModelAbout } from "../../work/about.js";
import type { Ink } from "../../work/centre.js";
import { inputOfInk, sizeOf } from "../../work/inputs.js";
import { runs } from "../../work/runs.js";
import { keepModel } from "../../work/session.js";
import { useChanges } from "../../work/store.js";
import { useAnswer, useModel, usePredictor, type Origin } from "../../work/useModel.js";
import { EXAMPLES } from "./examples.js";
import { Pad, type PadHandle } from "./Pad.js";
import "./draw.css";

/** Which model it is, and that it is not the last word yet. */
function Model({ origin }: { origin: Origin }) {
  useChanges(runs.changes);
  const place = usePlace();
  const run = runs.active;
  if (origin === "looking") return <Progress label="Looking for a model" />;
  if (origin === "built in")
    return (
      <p className="panel-note">
        This is the small model that comes with the app: it reads 98.8 % of MNIST’s test digits.{" "}
        <a href={addressOf("train", place)}>Train your own</a>, and it takes its place.
      </p>
    );
  if (!runs.isBusy || run === undefined) return <p className="panel-note">This is the model that was trained or chosen last.</p>;
  return (
    <Progress
      label={`The model is still learning: step ${write.count(run.step)} of ${write.count(run.steps)}`}
      part={run.step / Math.max(run.steps, 1)}
    />
  );
}

const readsPictures = ({ shape }: ModelAbout) => shape.length === 3;

/** What is drawn for before there is a model. */
const DIGITS: Pick<ModelAbout, "shape" | "preparation"> = { shape: [1, 28, 28], preparation: { kind: "ink" } };

export default function DrawPage() {
  const reader = usePredictor();
  const { about, problem, load } = reader;
  const [isChosen, setChosen] = useState(false);
  const model = useModel(reader, readsPictures);
  const place = usePlace();
  const pad = useRef<PadHandle>(null);
  const [seen, setSeen] = useState<Float32Array>();
  const [fault, setFault] = useState("");
  const drawable = about === undefined || readsPictures(about);
  const known = drawable && about !== undefined ? about : DIGITS;
  const { height: size } = sizeOf(known);
  const { answer: probabilities } = useAnswer(reader, drawable ? seen : undefined);
  const frame = useRef(0);
  const ink = useRef<Ink>(undefined);
  const onInk = (next: Ink) => {
    ink.current = next;
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => setSeen(inputOfInk(next, known)));
  };
  // A model of another size sees the same drawing.
  useEffect(() => setSeen(ink.current === undefined ? undefined : inputOfInk(ink.current, known)), [known]);

  const drop = async ([file]: File[]) => {
    if (file === undefined) return;
    setFault("");
    try {
      if (file.name.endsWith(".safetensors")) {
        const weights = new Uint8Array(await file.arrayBuffer());
        if (await load(weights)) {
          setChosen(true);
          await keepModel(weights);
        }
      } else {
        pad.current?.paste(await createImageBitmap(file));
      }
    } catch {
      setFault(`${file.name} cannot be read as a picture`);
    }
  };

  const classes = about?.classes ?? [];
  const best = probabilities === undefined ? -1 : probabilities.indexOf(Math.max(...probabilities));
  return (
    <>
      <PageHead title="Draw">Draw a digit. The network says what it sees, while you draw.</PageHead>
      <div className="draw-model" role="status">
        <Model origin={isChosen ? "own" : model} />
      </div>
      {problem !== "" && (
        <Notice kind="error" title="The model cannot be used">
          {problem}
        </Notice>
      )}
      {!drawable && (
        <Notice kind="note" title="This model reads no pictures">
          It was trained on rows of numbers: <a href={addressOf("try", place)}>try it with a row</a>, or train one on pictures to
          draw for it.
        </Notice>
      )}
      <div className="draw">
        <Panel title="Your drawing" className="draw-pad">
          <Pad handle={pad} onInk={onInk} />
          <div className="buttons">
            <Button onClick={() => pad.current?.clear()}>Clear</Button>
            <Button onClick={() => pad.current?.undo()}>Undo</Button>
          </div>
          <div className="buttons examples" role="group" aria-label="Write an example">
            {EXAMPLES.map((strokes, digit) => (
              <Button key={digit} small onClick={() => pad.current?.write(strokes)} aria-label={`Write a ${digit}`}>
                {digit}
              </Button>
            ))}
          </div>
        </Panel>
        <Panel title="What the network thinks" className="draw-answer">
          <div className="answer" aria-live="polite">
            <span className={best < 0 ? "answer-digit nothing" : "answer-digit"}>{best < 0 ? "?" : classes[best]}</span>
            <span className="panel-note">
              {best < 0 || probabilities === undefined
                ? about === undefined
                  ? "no model yet"
                  : "nothing drawn yet"
                : `${write.percent(probabilities[best] ?? 0)} sure`}
            </span>
          </div>
          <Bars
            bars={(classes.length > 0 ? classes : EXAMPLES.map((_, digit) => String(digit))).map((name, index) => ({
              name,
              value: probabilities?.[index] ?? 0,
            }))}
          />
        </Panel>
        <div className="draw-side">
          <Panel title="What it sees" note={`${size} × ${size}`}>
            <PixelCanvas
              label="The drawing, centred by its mass as MNIST has it"
              width={size}
              height={size}
              values={seen ?? new Float32Array(size * size)}
              scale={168 / size}
            />
          </Panel>
          <Panel title="Picture or model">
            <FileDrop label="Choose a file" accept="image/*,.safetensors" onFiles={(files) => void drop(files)}>
              or drop a picture or a .safetensors file here
            </FileDrop>
            {fault !== "" && (
              <p className="field-problem" role="alert">
                {fault}
              </p>
            )}
          </Panel>
        </div>
      </div>
    </>
  );
}
