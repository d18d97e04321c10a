/** The model that pages try: the one that is trained now, the last one of this browser, or one from a file. */

import { useCallback, useEffect, useRef, useState, type RefObject } from "react";
import type { ModelAbout } from "./about.js";
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
}

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
  const load = useCallback(async (weights: Uint8Array) => {
    try {
      const loaded = await predictor.current?.load(weights);
      if (loaded !== undefined) setAbout(loaded);
      setProblem("");
      return loaded !== undefined;
    } catch (error) {
      setProblem(messageOf(error));
      return false;
    }
  }, []);
  return { predictor, about, problem, load };
}

/** Looks for a model and has it loaded: the one that is trained now, or the last one. */
export function useModel(load: Load): "looking" | "none" | "there" {
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
