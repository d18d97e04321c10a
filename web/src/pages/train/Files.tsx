/** Models out and in: safetensors, which PyTorch reads and writes too. */

import { useState } from "react";
import { useDevice } from "../../app/device.js";
import { addressOf, usePlace } from "../../app/route.js";
import { Button, Check, FileDrop, Notice, Panel, saveFile, write } from "../../ui/index.js";
import { imported } from "../../work/imported.js";
import { readLayers } from "../../work/layers.js";
import type { DataSource } from "../../work/messages.js";
import { runs } from "../../work/runs.js";
import { readHead } from "../../work/safetensors.js";
import { keepModel } from "../../work/session.js";
import type { TrainSettings } from "../../work/settings.js";
import { useChanges } from "../../work/store.js";

interface Props {
  settings: TrainSettings;
  source: DataSource | undefined;
  change: (change: Partial<TrainSettings>) => void;
}

export function Files({ settings, source, change }: Props) {
  useChanges(runs.changes);
  useChanges(imported.changes);
  const { model, take, forget } = imported;
  const place = usePlace();
  const { used } = useDevice();
  const [problem, setProblem] = useState("");
  const run = runs.active;

  const exportModel = async () => {
    if (run === undefined) return;
    try {
      const weights = await runs.weightsOf(run);
      if (weights !== undefined) saveFile(`flambeau-step-${run.step}.safetensors`, weights as Uint8Array<ArrayBuffer>);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const importModel = async ([file]: File[]) => {
    if (file === undefined) return;
    setProblem("");
    try {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const { metadata } = readHead(bytes);
      const named = metadata["layers"];
      const layers = named !== undefined && readLayers(named) !== undefined ? named : settings.layers;
      change({ layers });
      take({ name: file.name, bytes, use: true });
      if (metadata["layers"] !== undefined) await keepModel(bytes);
      // A run without a step: the worker loads the weights and reads the test set with them.
      if (source !== undefined && !runs.isBusy) {
        const task: TrainSettings = { ...settings, layers };
        runs.start({
          settings: task,
          device: used,
          source,
          weights: { name: file.name, bytes },
          onMisfit: forget,
          untrained: true,
          name: `Imported: ${file.name}`,
        });
      }
    } catch (error) {
      forget();
      setProblem(`${file.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };

  return (
    <Panel title="Model file" note="safetensors: PyTorch reads and writes it too">
      <div className="stack">
        <div className="buttons">
          <Button
            disabled={run === undefined || run.state === "loading" || run.state === "failed"}
            onClick={() => void exportModel()}
          >
            Export the model
          </Button>
          <a className="button" href={addressOf("try", place)}>
            Try the model
          </a>
          <FileDrop
            label="Import a model"
            accept=".safetensors"
            onFiles={(files) => void importModel(files)}
            disabled={runs.isBusy}
          >
            or drop a .safetensors file here
          </FileDrop>
        </div>
        {problem !== "" && (
          <Notice kind="error" title="The file cannot be used" onClose={() => setProblem("")}>
            {problem}
          </Notice>
        )}
        {model !== undefined && (
          <Check
            label={`Begin new runs with the weights of ${model.name} (${write.bytes(model.bytes.length)})`}
            value={model.use}
            onChange={(use) => take({ ...model, use })}
          />
        )}
      </div>
    </Panel>
  );
}
