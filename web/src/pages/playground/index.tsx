/** The Playground: a small network divides the plane before one's eyes. */

import { useCallback, useMemo, useState } from "react";
import { shareLink, useSettings } from "../../app/route.js";
import { useDevice } from "../../app/device.js";
import { useTheme } from "../../app/theme.js";
import {
  Button,
  Check,
  Figures,
  FileDrop,
  LineChart,
  Notice,
  PageHead,
  Panel,
  Progress,
  write,
  type Series,
} from "../../ui/index.js";
import { schema, type Config, type Point } from "./config.js";
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

const loss = (value: number) => (Number.isNaN(value) ? "–" : value.toFixed(4));
const share = (value: number) => (Number.isNaN(value) ? "–" : write.percent(value));

export default function PlaygroundPage() {
  const [config, change] = useSettings(schema);
  const theme = useTheme();
  const device = useOwnDevice();
  const { about } = useDevice().offer;
  const points = useSet(config);
  const {
    snapshot,
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
  const [copied, setCopied] = useState(false);
  const own = config.set === "own";
  const missing = own && config.own.length === 0;

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
  const copyLink = async () => {
    await navigator.clipboard.writeText(shareLink("playground", schema, config));
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };

  return (
    <>
      <PageHead title="Playground">Watch a small network divide the plane. Every neuron shows what it has learned.</PageHead>
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
            <Button kind="primary" onClick={run} disabled={snapshot === undefined || missing}>
              Start
            </Button>
          )}
          <Button onClick={step} disabled={running || snapshot === undefined || missing}>
            Step
          </Button>
          <Button onClick={reset} disabled={snapshot === undefined || missing}>
            Reset
          </Button>
          <Button kind="quiet" onClick={() => void copyLink()}>
            {copied ? "Link copied" : "Copy link"}
          </Button>
        </div>
        <Presets config={config} onChange={change} />
      </div>
      <div className="playground">
        <div className="playground-left">
          <Panel
            title="Plane"
            note={neuron === undefined ? undefined : `neuron ${neuron.index + 1} of hidden layer ${neuron.layer + 1}`}
          >
            {own && <OwnControls config={config} label={label} onLabel={setLabel} onChange={change} />}
            <Plane
              points={points}
              snapshot={missing ? undefined : snapshot}
              neuron={neuron}
              showTest={showTest}
              onAdd={own ? add : undefined}
            />
            {missing && <p className="panel-note">Click into the plane to add points, of two classes at least.</p>}
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
                <Button small disabled={snapshot === undefined || missing} onClick={exportWeights}>
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
              snapshot={missing ? undefined : snapshot}
              onLayers={(layers) => change({ layers })}
              onLook={setNeuron}
            />
          </Panel>
          <Panel title="Loss">
            <LineChart label="Loss over steps, on training and test points" series={series} range={[0, undefined]} height={190} />
          </Panel>
          <Panel title="Training" note="Rate, batch, penalties and speed may change while it runs.">
            <TrainingControls config={config} onChange={change} />
          </Panel>
        </div>
      </div>
    </>
  );
}
