/** The model that pages try: the one that is trained now, the last one of this browser, one from a file, or the app's own. */

import { useCallback, useEffect, useRef, useState, type RefObject } from "react";
import { aboutModel, type ModelAbout } from "./about.js";
import { builtInModel } from "./builtin.js";
import { messageOf } from "./errors.js";
import { Predictor } from "./predictor.js";
import { runs } from "./runs.js";
import { lastModel } from "./session.js";

/** Milliseconds between looks at a model that is still learning. */
const REFRESH = 1500;

/** Takes a model up; says whether it can be used. */
export type Load = (weights: Uint8Array) => Promise<boolean>;

interface Reader {
  predictor: RefObject<Predictor | undefined>;
  about: ModelAbout | undefined;
  problem: string;
  load: Load;
  /** Says what hindered a model from being there. */
  fail: (error: unknown) => void;
}

/** Newer weights of the same model leave inputs as they are. */
const same = (one: ModelAbout | undefined, other: ModelAbout) => JSON.stringify(one) === JSON.stringify(other);

/** A reader of single items that lives as long as the page. */
export function usePredictor(): Reader {
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
  const fail = useCallback((error: unknown) => setProblem(messageOf(error)), []);
  const load = useCallback(
    async (weights: Uint8Array) => {
      try {
        const loaded = await predictor.current?.load(weights);
        if (loaded !== undefined) setAbout((before) => (same(before, loaded) ? before : loaded));
        setProblem("");
        return loaded !== undefined;
      } catch (error) {
        fail(error);
        return false;
      }
    },
    [fail],
  );
  return { predictor, about, problem, load, fail };
}

/** Where the model comes from: it was trained or chosen here, or is part of the app. */
export type Origin = "looking" | "own" | "built in";

const any = () => true;

/** Can the page use this file? What cannot be read at all is not asked for either. */
function suits(weights: Uint8Array, isWanted: (about: ModelAbout) => boolean): boolean {
  try {
    return isWanted(aboutModel(weights));
  } catch {
    return false;
  }
}

/** Has a model loaded: the one that is trained now, or the last one; where there is none that is wanted, the app's own. */
export function useModel({ load, fail }: Reader, isWanted: (about: ModelAbout) => boolean = any): Origin {
  const [origin, setOrigin] = useState<Origin>("looking");
  useEffect(() => {
    let here = true;
    let timer = 0;
    const take = async () => {
      const run = runs.active;
      const weights = run === undefined || run.state === "loading" ? undefined : await runs.weightsOf(run).catch(() => undefined);
      const last = weights ?? (await lastModel().catch(() => undefined));
      const own = last !== undefined && suits(last, isWanted) ? last : undefined;
      try {
        const found = own ?? (await builtInModel());
        if (!here) return;
        await load(found);
        setOrigin(own === undefined ? "built in" : "own");
      } catch (error) {
        fail(error);
      }
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
  }, [load, fail, isWanted]);
  return origin;
}

/** The answer to the newest item: asked as soon as the one before it has been answered. Nothing for no item. */
export function useAnswer(
  { predictor, about }: Reader,
  item: Float32Array | undefined,
): { answer: Float32Array | undefined; fault: string } {
  const [answer, setAnswer] = useState<Float32Array>();
  const [fault, setFault] = useState("");
  const latest = useRef<Float32Array>(undefined);
  const reading = useRef(false);
  const read = useCallback(async () => {
    if (reading.current) return;
    reading.current = true;
    try {
      for (let next = latest.current; next !== undefined; next = latest.current) {
        latest.current = undefined;
        setAnswer(await predictor.current?.read(next));
        setFault("");
      }
    } catch (error) {
      setAnswer(undefined);
      setFault(messageOf(error));
    }
    reading.current = false;
  }, [predictor]);
  useEffect(() => {
    if (item === undefined || about === undefined) {
      latest.current = undefined;
      setAnswer(undefined);
      return;
    }
    latest.current = item;
    void read();
  }, [item, about, read]);
  return { answer: item === undefined ? undefined : answer, fault };
}
