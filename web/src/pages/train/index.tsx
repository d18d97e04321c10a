/** The page Train: choose, train, watch, look inside, compare, share. */

import { useCallback, useRef, useState } from "react";
import { Misread } from "../../app/Misread.js";
import { useSettings } from "../../app/route.js";
import { Fields, PageHead, useFields } from "../../ui/index.js";
import { checkLayers, readLayers } from "../../work/layers.js";
import { own } from "../../work/own.js";
import { trainSchema } from "../../work/settings.js";
import { useChanges } from "../../work/store.js";
import { Controls } from "./Controls.js";
import { Curves } from "./Curves.js";
import { DataPanel } from "./DataPanel.js";
import { Files, type Imported } from "./Files.js";
import { Inside } from "./Inside.js";
import { ModelPanel } from "./ModelPanel.js";
import { ResumeOffer } from "./ResumeOffer.js";
import { RunsPanel } from "./RunsPanel.js";
import { TrainingPanel } from "./TrainingPanel.js";
import "./train.css";

const MNIST = { shape: [1, 28, 28], classes: 10 };

export default function TrainPage() {
  const [settings, change] = useSettings(trainSchema);
  const [imported, setImported] = useState<Imported>();
  const misfit = useCallback(() => setImported(undefined), []);
  const fields = useFields();
  const primary = useRef<HTMLButtonElement>(null);
  const going = { onSettings: change, next: primary };
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
      <ResumeOffer {...going} />
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
            going={going}
            settings={settings}
            source={source}
            problem={problem}
            weights={imported?.use === true ? imported : undefined}
            onMisfit={misfit}
          />
          <Curves />
          <Inside />
          <RunsPanel {...going} />
          <Files settings={settings} source={source} imported={imported} onImported={setImported} change={change} />
        </div>
      </div>
    </>
  );
}
