/** The page Draw: draw a digit, and see what the network makes of it. */

import { useCallback, useEffect, useRef, useState } from "react";
import { useDevice } from "../../app/device.js";
import { addressOf, usePlace } from "../../app/route.js";
import { readQuery } from "../../app/url.js";
import { Bars, Button, FileDrop, Notice, PageHead, Panel, PixelCanvas, Progress, write } from "../../ui/index.js";
import { own } from "../../work/own.js";
import { Predictor, type ModelAbout } from "../../work/predictor.js";
import { runs } from "../../work/runs.js";
import { keepModel, lastModel } from "../../work/session.js";
import { trainSchema } from "../../work/settings.js";
import { useChanges } from "../../work/store.js";
import { centre, type Ink } from "./centre.js";
import { EXAMPLES } from "./examples.js";
import { Pad, type PadHandle } from "./Pad.js";
import "./draw.css";

/** Milliseconds between looks at a model that is still learning. */
const REFRESH = 1500;
const QUICK_STEPS = 400;

/** Takes a model up; says whether it can be used. */
type Load = (weights: Uint8Array) => Promise<boolean>;

/** A reader of pictures that lives as long as the page. */
function usePredictor(): {
  predictor: React.RefObject<Predictor | undefined>;
  about: ModelAbout | undefined;
  problem: string;
  load: Load;
} {
  const predictor = useRef<Predictor>(undefined);
  const [about, setAbout] = useState<ModelAbout>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    predictor.current = new Predictor();
    return () => {
      predictor.current?.end();
      predictor.current = undefined;
    };
  }, []);
  const load = useCallback(async (weights: Uint8Array) => {
    try {
      const loaded = await predictor.current?.load(weights);
      if (loaded !== undefined) setAbout(loaded);
      setProblem("");
      return loaded !== undefined;
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      return false;
    }
  }, []);
  return { predictor, about, problem, load };
}

/** The model: the one that is trained now, or the last one. */
function useModel(load: Load): "looking" | "none" | "there" {
  const [state, setState] = useState<"looking" | "none" | "there">("looking");
  useEffect(() => {
    let here = true;
    let timer = 0;
    const take = async () => {
      const run = runs.active;
      const weights = run === undefined || run.state === "loading" ? undefined : await runs.weightsOf(run).catch(() => undefined);
      const found = weights ?? (await lastModel().catch(() => undefined));
      if (!here) return;
      if (found !== undefined) await load(found);
      setState(found === undefined ? "none" : "there");
      if (here && runs.isBusy) timer = window.setTimeout(() => void take(), REFRESH);
    };
    void take();
    let busy = runs.isBusy;
    const stop = runs.changes.listen(() => {
      if (busy !== runs.isBusy) void take();
      busy = runs.isBusy;
    });
    return () => {
      here = false;
      clearTimeout(timer);
      stop();
    };
  }, [load]);
  return state;
}

function NoModel() {
  const { used, offer } = useDevice();
  const place = usePlace();
  useChanges(runs.changes);
  const run = runs.active;
  const train = () => {
    const source = own.source("mnist");
    const settings = { ...readQuery(trainSchema, new URLSearchParams()), steps: QUICK_STEPS };
    if (source !== undefined) runs.start({ settings, device: used, source });
  };
  if (runs.isBusy && run !== undefined) {
    return (
      <Progress
        label={run.loading?.label ?? `Training: step ${run.step} of ${run.steps}`}
        part={run.loading === undefined ? run.step / Math.max(run.steps, 1) : run.loading.part}
      />
    );
  }
  return (
    <Notice kind="note" title="There is no model yet">
      <p>
        Train one on the page <a href={addressOf("train", place)}>Train</a>, import one below, or let a small one learn now: it
        takes some seconds.
      </p>
      <div className="buttons">
        <Button kind="primary" small disabled={offer.state === "looking"} onClick={train}>
          Train a small one now
        </Button>
      </div>
    </Notice>
  );
}

/** Says that the model is not the last word yet. */
function Learning() {
  useChanges(runs.changes);
  const run = runs.active;
  if (!runs.isBusy || run === undefined) return null;
  return (
    <Progress
      label={`The model is still learning: step ${write.count(run.step)} of ${write.count(run.steps)}`}
      part={run.step / Math.max(run.steps, 1)}
    />
  );
}

export default function DrawPage() {
  const { predictor, about, problem, load } = usePredictor();
  const model = useModel(load);
  const pad = useRef<PadHandle>(null);
  const [seen, setSeen] = useState<Float32Array>();
  const [probabilities, setProbabilities] = useState<Float32Array>();
  const [fault, setFault] = useState("");
  const size = about?.shape[1] ?? 28;
  const channels = about?.shape[0] ?? 1;
  const drawable = about === undefined || about.shape.length === 3;

  // The newest drawing is read as soon as the one before it has been.
  const latest = useRef<Float32Array>(undefined);
  const reading = useRef(false);
  const read = useCallback(async () => {
    if (reading.current) return;
    reading.current = true;
    try {
      for (let pixels = latest.current; pixels !== undefined; pixels = latest.current) {
        latest.current = undefined;
        setProbabilities(await predictor.current?.read(pixels));
      }
    } catch {
      setProbabilities(undefined);
    }
    reading.current = false;
  }, [predictor]);

  const ask = useCallback(
    (pixels: Float32Array | undefined) => {
      if (pixels === undefined || about === undefined) {
        setProbabilities(undefined);
        return;
      }
      latest.current =
        channels === 1
          ? pixels
          : Float32Array.from({ length: channels * pixels.length }, (_, place) => pixels[place % pixels.length] ?? 0);
      void read();
    },
    [about, channels, read],
  );
  const frame = useRef(0);
  const onInk = (ink: Ink) => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => setSeen(centre(ink, size)));
  };
  useEffect(() => ask(seen), [ask, seen]);

  const drop = async ([file]: File[]) => {
    if (file === undefined) return;
    setFault("");
    try {
      if (file.name.endsWith(".safetensors")) {
        const weights = new Uint8Array(await file.arrayBuffer());
        if (await load(weights)) await keepModel(weights);
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
      {model === "looking" && <Progress label="Looking for a model" />}
      {model === "none" && about === undefined && <NoModel />}
      {about !== undefined && <Learning />}
      {problem !== "" && (
        <Notice kind="error" title="The model cannot be used">
          {problem}
        </Notice>
      )}
      {!drawable && (
        <Notice kind="note" title="This model reads no pictures">
          It was trained on rows of numbers. Train one on pictures to draw for it.
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
