/** The Playground: a small network divides the plane before one's eyes. */

import { useCallback, useEffect, useId, useMemo, useState } from "react";
import { shareLink, useSettings } from "../../app/route.js";
import { useDevice } from "../../app/device.js";
import { Misread } from "../../app/Misread.js";
import { useTheme } from "../../app/theme.js";
import {
  Button,
  Check,
  Fields,
  Figures,
  FileDrop,
  LineChart,
  LinkToCopy,
  Notice,
  PageHead,
  Panel,
  Progress,
  useCopy,
  useFields,
  write,
  type Series,
} from "../../ui/index.js";
import { hasClasses, schema, type Config, type Point } from "./config.js";
import { FeatureControls, OwnControls, Presets, SetControls, TrainingControls } from "./Controls.js";
import { makeSet } from "./datasets.js";
import type { DeviceChoice } from "./messages.js";
import { Network } from "./Network.js";
import { classColour } from "./paint.js";
import { Plane, type Neuron } from "./Plane.js";
import { usePlayground } from "./usePlayground.js";
import "./playground.css";

/** The page's device: unless one is asked for, the CPU: a step of so small a network costs a GPU more to start than to do. */
function useOwnDevice(): DeviceChoice | undefined {
  const { wanted, offer, used } = useDevice();
  if (wanted === "best" || wanted === "cpu") return "cpu";
  return offer.state === "looking" ? undefined : used;
}

function useSet(config: Config) {
  const { set, classes, points, noise, share, seed, own } = config;
  return useMemo(
    () => makeSet({ set, classes, points, noise, share, seed, own }),
    [set, classes, points, noise, share, seed, own],
  );
}

/** What points of one's own lack before anything can be learnt from them. */
const missingOf = ({ own }: Config) =>
  own.length === 0
    ? "Click into the plane to add points, of two classes at least."
    : "Two classes are needed: choose another class at the plane, and add points of it.";

const loss = (value: number) => (Number.isNaN(value) ? "–" : value.toFixed(4));
const share = (value: number) => (Number.isNaN(value) ? "–" : write.percent(value));

export default function PlaygroundPage() {
  const [config, change] = useSettings(schema);
  const theme = useTheme();
  const device = useOwnDevice();
  const { about } = useDevice().offer;
  const points = useSet(config);
  const {
    snapshot: newest,
    curves,
    running,
    device: opened,
    error,
    refused,
    exportWeights,
    importWeights,
    run,
    pause,
    step,
    reset,
  } = usePlayground(config, device);
  const [neuron, setNeuron] = useState<Neuron>();
  const [label, setLabel] = useState(0);
  const [showTest, setShowTest] = useState(true);
  const { copied, copy, forget } = useCopy();
  const own = config.set === "own";
  const missing = !hasClasses(config);
  const fields = useFields();
  const reason = missing ? missingOf(config) : fields.problem;
  const reasonId = useId();
  const snapshot = missing ? undefined : newest;

  const add = useCallback(
    (place: Omit<Point, "label">) => change({ own: [...config.own, { ...place, label }].slice(-400) }),
    [change, config.own, label],
  );
  const series = useMemo<Series[]>(
    () => [
      { name: "train", colour: 1, x: curves.steps, y: curves.train },
      { name: "test", colour: 2, x: curves.steps, y: curves.test },
    ],
    [curves],
  );
  useEffect(() => {
    if (copied?.done !== true) return;
    const timer = setTimeout(forget, 2000);
    return () => clearTimeout(timer);
  }, [copied, forget]);

  return (
    <>
      <PageHead title="Playground">Watch a small network divide the plane. Every neuron shows what it has learned.</PageHead>
      <Misread schema={schema} />
      {error !== undefined && !missing && (
        <Notice kind="error" title="Training stopped">
          <p>{error}</p>
        </Notice>
      )}
      <div className="playground-bar">
        <div className="buttons">
          {running ? (
            <Button kind="primary" onClick={pause}>
              Pause
            </Button>
          ) : (
            <Button
              kind="primary"
              onClick={run}
              disabled={snapshot === undefined || reason !== undefined}
              aria-describedby={reason === undefined ? undefined : reasonId}
            >
              Start
            </Button>
          )}
          <Button onClick={step} disabled={running || snapshot === undefined || reason !== undefined}>
            Step
          </Button>
          <Button onClick={reset} disabled={snapshot === undefined}>
            Reset
          </Button>
          <Button kind="quiet" onClick={() => void copy(shareLink("playground", schema, config))}>
            {copied?.done === true ? "Link copied" : "Copy link"}
          </Button>
          {reason !== undefined && (
            <p className={missing ? "panel-note" : "field-problem"} id={reasonId}>
              {reason}
            </p>
          )}
        </div>
        <Presets config={config} onChange={change} />
      </div>
      {copied?.done === false && (
        <Panel>
          <LinkToCopy copied={copied} />
        </Panel>
      )}
      <div className="playground">
        <div className="playground-left">
          <Panel
            title="Plane"
            note={neuron === undefined ? undefined : `neuron ${neuron.index + 1} of hidden layer ${neuron.layer + 1}`}
          >
            {own && <OwnControls config={config} label={label} onLabel={setLabel} onChange={change} />}
            <Plane points={points} snapshot={snapshot} neuron={neuron} showTest={showTest} onAdd={own ? add : undefined} />
            <div className="legend">
              {Array.from({ length: points.classes }, (_, index) => (
                <span key={index}>
                  <i style={{ background: classColour(index, theme) }} aria-hidden="true" />
                  class {index + 1}
                </span>
              ))}
              <Check label="test points (hollow)" value={showTest} onChange={setShowTest} />
            </div>
          </Panel>
          <Panel title="Set">
            <SetControls config={config} onChange={change} />
          </Panel>
          <Panel title="Features" note="what the network sees">
            <FeatureControls config={config} onChange={change} />
          </Panel>
          <Panel title="Weights" note="safetensors, as PyTorch’s Sequential names them">
            <div className="stacked">
              {refused !== undefined && (
                <Notice kind="error" title="The file was not taken">
                  <p>{refused}</p>
                </Notice>
              )}
              <FileDrop
                label="Import weights"
                accept=".safetensors"
                onFiles={([file]) => file !== undefined && importWeights(file)}
              />
              <div>
                <Button small disabled={snapshot === undefined} onClick={exportWeights}>
                  Export weights
                </Button>
              </div>
            </div>
          </Panel>
        </div>
        <div className="playground-right">
          <Panel>
            {snapshot === undefined && !missing && error === undefined ? (
              <Progress label="Opening the device" />
            ) : (
              <Figures
                figures={[
                  ["Step", write.count(snapshot?.step ?? 0)],
                  ["Train loss", loss(snapshot?.trainLoss ?? Number.NaN)],
                  ["Test loss", loss(snapshot?.testLoss ?? Number.NaN)],
                  ["Train accuracy", share(snapshot?.trainAccuracy ?? Number.NaN)],
                  ["Test accuracy", share(snapshot?.testAccuracy ?? Number.NaN)],
                  ["Steps/s", running && snapshot !== undefined ? write.count(snapshot.stepsPerSecond) : "–"],
                ]}
              />
            )}
          </Panel>
          <Panel
            title="Network"
            note={
              opened === undefined
                ? undefined
                : opened.kind === "cpu"
                  ? "on the CPU: so small a network gives a GPU little to do"
                  : `on ${about}`
            }
          >
            <Network
              config={config}
              classes={points.classes}
              snapshot={snapshot}
              onLayers={(layers) => change({ layers })}
              onLook={setNeuron}
            />
          </Panel>
          <Panel title="Loss">
            <LineChart label="Loss over steps, on training and test points" series={series} range={[0, undefined]} height={190} />
          </Panel>
          <Panel title="Training" note="Rate, batch, penalties and speed may change while it runs.">
            <Fields tell={fields.tell}>
              <TrainingControls config={config} onChange={change} />
            </Fields>
          </Panel>
        </div>
      </div>
    </>
  );
}
