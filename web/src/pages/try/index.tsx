/** The page Try: show any model a picture, a drawing or a row of numbers, and see its answer. */

import { useState } from "react";
import { addressOf, usePlace } from "../../app/route.js";
import { FileDrop, Notice, PageHead, Panel, Progress, write } from "../../ui/index.js";
import type { ModelAbout } from "../../work/about.js";
import { written } from "../../work/layers.js";
import { runs } from "../../work/runs.js";
import { keepModel } from "../../work/session.js";
import { useChanges } from "../../work/store.js";
import { useAnswer, useModel, usePredictor } from "../../work/useModel.js";
import { Answer } from "./Answer.js";
import { PictureInput } from "./PictureInput.js";
import { RowForm } from "./RowForm.js";
import "./try.css";

/** Which model it is, in a sentence. */
function Which({ about }: { about: ModelAbout }) {
  useChanges(runs.changes);
  const run = runs.active;
  const answers =
    about.number === undefined ? write.counted(about.classes.length, "class", "classes") : `a number, “${about.number.name}”`;
  return (
    <p className="panel-note" role="status">
      The model reads {written(about.shape)} and answers with {answers}.
      {runs.isBusy && run !== undefined && ` It is still learning: step ${write.count(run.step)} of ${write.count(run.steps)}.`}
    </p>
  );
}

export default function TryPage() {
  const reader = usePredictor();
  const { about, problem, load } = reader;
  const [file, setFile] = useState<string>();
  const model = useModel(reader);
  const [item, setItem] = useState<Float32Array>();
  const { answer, fault } = useAnswer(reader, item);
  const place = usePlace();
  const take = async ([chosen]: File[]) => {
    if (chosen === undefined) return;
    const weights = new Uint8Array(await chosen.arrayBuffer());
    setFile(chosen.name);
    if (await load(weights)) await keepModel(weights);
  };
  // Inputs begin anew with a model that takes others.
  const kind = about === undefined ? "" : JSON.stringify([about.shape, about.preparation]);
  return (
    <>
      <PageHead title="Try">Show the model something it has not seen: a picture, a drawing, or a row of numbers.</PageHead>
      {problem !== "" && (
        <Notice kind="error" title="The model cannot be used">
          {file === undefined ? problem : `${file}: ${problem}`}
        </Notice>
      )}
      <div className="try">
        {about === undefined && <Panel className="waiting">{problem === "" && <Progress label="Looking for a model" />}</Panel>}
        {about !== undefined && (
          <>
            {about.preparation.kind === "table" ? (
              <RowForm key={kind} preparation={about.preparation} onItem={setItem} />
            ) : (
              <PictureInput key={kind} about={about} onItem={setItem} />
            )}
            <Answer about={about} answer={answer} fault={fault} />
          </>
        )}
        <Panel title="Model" note="safetensors">
          <div className="stacked">
            {about !== undefined && <Which about={about} />}
            {model === "built in" && file === undefined && (
              <p className="panel-note">
                It is the small model of digits that comes with the app. <a href={addressOf("train", place)}>Train one</a> on your
                own pictures or table, and it takes its place.
              </p>
            )}
            <FileDrop label="Choose a model" accept=".safetensors" onFiles={(files) => void take(files)}>
              or drop a .safetensors file here
            </FileDrop>
          </div>
        </Panel>
      </div>
    </>
  );
}
