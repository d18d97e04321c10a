/** The page Train: choose, train, watch, look inside, compare, share. */

import { useRef } from "react";
import { Loaded } from "../../app/Loaded.js";
import { Misread } from "../../app/Misread.js";
import { useSettings } from "../../app/route.js";
import { useLesson } from "../../lessons/hidden.js";
import { Fields, PageHead, useFields } from "../../ui/index.js";
import { imported } from "../../work/imported.js";
import { seedsSchema } from "../../work/groups.js";
import { isIncluded } from "../../work/included.js";
import { checkLayers, readLayers } from "../../work/layers.js";
import { own } from "../../work/own.js";
import { reachedSchema } from "../../work/reached.js";
import { trainSchema } from "../../work/settings.js";
import { useChanges } from "../../work/store.js";
import { CodePanel } from "./CodePanel.js";
import { Controls } from "./Controls.js";
import { Curves } from "./Curves.js";
import { DataPanel } from "./DataPanel.js";
import { Files } from "./Files.js";
import { useFitting } from "./useFitting.js";
import { Inside } from "./Inside.js";
import { Live } from "./Live.js";
import { LinkResult } from "./LinkResult.js";
import { ModelPanel } from "./ModelPanel.js";
import { ResumeOffer } from "./ResumeOffer.js";
import { RunsPanel } from "./RunsPanel.js";
import { SweepPanel } from "./SweepPanel.js";
import { TrainingPanel } from "./TrainingPanel.js";
import "./train.css";

const loadLesson = () => import("../../lessons/LessonPanel.js");

/** All that a link to this page can say. */
const addressSchema = { ...trainSchema, ...seedsSchema, ...reachedSchema };

/** Of the data sets that the app has. */
const INCLUDED = { shape: [1, 28, 28], classes: 10 };

export default function TrainPage() {
  const [settings, change] = useSettings(trainSchema);
  const fields = useFields();
  const primary = useRef<HTMLButtonElement>(null);
  const going = { onSettings: change, next: primary };
  const { isOn, hidden } = useLesson();
  useChanges(own.changes);
  useChanges(imported.changes);
  const { set } = own;
  const chosen = !isIncluded(settings.data) && own.kind === settings.data ? set : undefined;
  useFitting(chosen, settings, change);
  const input = chosen?.shape ?? INCLUDED.shape;
  const isNumber = chosen?.number !== undefined;
  const classes = isNumber ? 1 : (chosen?.classes.length ?? INCLUDED.classes);
  const layers = readLayers(settings.layers) ?? [];
  const model = checkLayers(layers, input, classes, isNumber);
  const source = own.source(settings.data);
  const problem =
    fields.problem ??
    (source === undefined ? (own.error ?? "Choose the files of the data set first") : undefined) ??
    model.problem;

  const weights = imported.model?.use === true ? imported.model : undefined;
  const begin = { settings, source, problem, weights, onMisfit: imported.forget };

  return (
    <>
      <PageHead title="Train">
        A network learns to read pictures, here on your own machine. Press Start, then look inside while it learns.
      </PageHead>
      <Misread schema={addressSchema} />
      <LinkResult settings={settings} />
      {isOn && <Loaded name="lesson" load={loadLesson} props={{}} />}
      <ResumeOffer {...going} />
      <div className={hidden.has("data") && hidden.has("model") && hidden.has("training") ? "train whole" : "train"}>
        <div className="train-side">
          <Fields tell={fields.tell}>
            {!hidden.has("data") && <DataPanel settings={settings} change={change} />}
            {!hidden.has("model") && (
              <ModelPanel
                layers={layers}
                report={model}
                input={input}
                classes={classes}
                onChange={(text) => change({ layers: text })}
              />
            )}
            {!hidden.has("training") && <TrainingPanel settings={settings} change={change} />}
          </Fields>
        </div>
        <div className="train-main">
          <Controls going={going} {...begin} />
          <Live />
          {!hidden.has("curves") && <Curves />}
          {!hidden.has("inside") && <Inside network={{ layers: settings.layers, input, outputs: classes }} />}
          {!hidden.has("runs") && <RunsPanel {...going} />}
          {!hidden.has("runs") && <SweepPanel {...begin} />}
          {!hidden.has("files") && <CodePanel settings={settings} />}
          {!hidden.has("files") && <Files settings={settings} source={source} change={change} />}
        </div>
      </div>
    </>
  );
}
