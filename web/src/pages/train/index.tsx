/** The page Train: choose, train, watch, look inside, compare, share. */

import { useCallback, useState } from "react";
import { useDevice } from "../../app/device.js";
import { Misread } from "../../app/Misread.js";
import { useSettings } from "../../app/route.js";
import { Button, Fields, Notice, PageHead, useFields } from "../../ui/index.js";
import { checkLayers, readLayers } from "../../work/layers.js";
import { own } from "../../work/own.js";
import { runs } from "../../work/runs.js";
import { forgetSession, lastSession } from "../../work/session.js";
import { trainSchema } from "../../work/settings.js";
import { useChanges } from "../../work/store.js";
import { Controls } from "./Controls.js";
import { Curves } from "./Curves.js";
import { DataPanel } from "./DataPanel.js";
import { Files, type Imported } from "./Files.js";
import { Inside } from "./Inside.js";
import { ModelPanel } from "./ModelPanel.js";
import { RunsPanel } from "./RunsPanel.js";
import { TrainingPanel } from "./TrainingPanel.js";
import "./train.css";

const MNIST = { shape: [1, 28, 28], classes: 10 };

function ResumeOffer() {
  const [session, setSession] = useState(lastSession);
  useChanges(runs.changes);
  const { used } = useDevice();
  const source = session === undefined ? undefined : own.source(session.settings.data);
  if (session === undefined || source === undefined || runs.list.length > 0) return null;
  const percent = Math.round((100 * session.step) / Math.max(session.steps, 1));
  return (
    <Notice kind="note" title="Resume the last session?">
      <p>
        A run of {new Date(session.date).toLocaleString()} stopped at step {session.step} of {session.steps} ({percent} %). Its
        weights and curves are kept in this browser.
      </p>
      <div className="buttons">
        <Button
          kind="primary"
          small
          onClick={() => {
            setSession(undefined);
            runs.start({ settings: session.settings, device: used, source, session });
          }}
        >
          Resume the session
        </Button>
        <Button
          small
          onClick={() => {
            forgetSession();
            setSession(undefined);
          }}
        >
          Forget it
        </Button>
      </div>
    </Notice>
  );
}

export default function TrainPage() {
  const [settings, change] = useSettings(trainSchema);
  const [imported, setImported] = useState<Imported>();
  const misfit = useCallback(() => setImported(undefined), []);
  const fields = useFields();
  useChanges(own.changes);
  const { set } = own;
  const chosen = settings.data !== "mnist" && own.kind === settings.data ? set : undefined;
  const input = chosen?.shape ?? MNIST.shape;
  const classes = chosen?.classes.length ?? MNIST.classes;
  const layers = readLayers(settings.layers) ?? [];
  const model = checkLayers(layers, input, classes);
  const source = own.source(settings.data);
  const problem =
    fields.problem ?? model.problem ?? (source === undefined ? "Choose the files of the data set first" : undefined);

  return (
    <>
      <PageHead title="Train">
        A network learns to read pictures, here on your own machine. Press Start, then look inside while it learns.
      </PageHead>
      <Misread schema={trainSchema} />
      <ResumeOffer />
      <div className="train">
        <div className="train-side">
          <Fields tell={fields.tell}>
            <DataPanel settings={settings} change={change} />
            <ModelPanel
              layers={layers}
              report={model}
              input={input}
              classes={classes}
              onChange={(text) => change({ layers: text })}
            />
            <TrainingPanel settings={settings} change={change} />
          </Fields>
        </div>
        <div className="train-main">
          <Controls
            settings={settings}
            source={source}
            problem={problem}
            weights={imported?.use === true ? imported : undefined}
            onMisfit={misfit}
          />
          <Curves />
          <Inside />
          <RunsPanel onSettings={change} />
          <Files settings={settings} source={source} imported={imported} onImported={setImported} change={change} />
        </div>
      </div>
    </>
  );
}
