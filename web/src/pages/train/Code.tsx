/** A run as a program in one of three languages, to be copied or saved. */

import { useRef, useState } from "react";
import { useDevice } from "../../app/device.js";
import { Button, saveFile, Segments, useCopy } from "../../ui/index.js";
import { type CodeSource, type Language, LANGUAGES, programOf } from "../../work/code/index.js";
import { dataFile, FILE_OF_DATA } from "../../work/code/files.js";
import { checkLayers, readLayers } from "../../work/layers.js";
import type { DataSet } from "../../work/messages.js";
import { whatItNeeds } from "../../work/needs.js";
import { own } from "../../work/own.js";
import { runs } from "../../work/runs.js";
import type { TrainSettings } from "../../work/settings.js";
import { useChanges } from "../../work/store.js";
import "./code.css";

/** What is shown: the run whose details are open, or the last one, or the settings of the panels. */
function useSubject(settings: TrainSettings) {
  useChanges(runs.changes);
  useChanges(own.changes);
  const { used } = useDevice();
  const run = runs.chosen ?? runs.active;
  if (run === undefined)
    return { name: "These settings", settings, device: used, fingerprint: undefined, begunWith: undefined, changedDevice: false };
  return { ...run, name: `Run ${run.number}, “${run.name}”` };
}

type Subject = ReturnType<typeof useSubject>;

/** All that a program is written from, or why there is none. */
function sourceOf(subject: Subject): { source: CodeSource; set: DataSet | undefined } | { problem: string } {
  const { settings, name, device, begunWith } = subject;
  const given = own.source(settings.data);
  const problem = whatItNeeds(subject, given);
  if (given === undefined || problem !== undefined) return { problem: problem ?? "Choose the data first" };
  const set = given.kind === "given" ? given.set : undefined;
  const shape = set?.shape ?? [1, 28, 28];
  const isNumber = set?.number !== undefined;
  const outputs = isNumber ? 1 : (set?.classes.length ?? 10);
  const wrong = checkLayers(readLayers(settings.layers) ?? [], shape, outputs, isNumber).problem;
  if (wrong !== undefined) return { problem: wrong };
  const isBytes = set === undefined || set.train.items instanceof Uint8Array;
  return { source: { name, settings, device, shape, isBytes, isNumber, begunWith }, set };
}

export default function Code({ settings }: { settings: TrainSettings }) {
  const subject = useSubject(settings);
  const [language, setLanguage] = useState<Language>("javascript");
  const { copied, copy, forget } = useCopy();
  const text = useRef<HTMLPreElement>(null);
  const found = sourceOf(subject);
  if ("problem" in found) return <p className="panel-note">{`${subject.name}: ${found.problem}.`}</p>;
  const program = programOf(language, found.source);
  const { set } = found;
  const isCopied = copied?.link === program.text;
  const copyText = async () => {
    // Where there is no clipboard the text is at least selected.
    if (text.current !== null) getSelection()?.selectAllChildren(text.current);
    await copy(program.text);
  };
  return (
    <div className="stack">
      <div className="buttons">
        <Segments
          label="Language"
          value={language}
          options={LANGUAGES}
          onChange={(next) => {
            setLanguage(next);
            forget();
          }}
        />
        <span className="spacer" />
        <Button onClick={() => void copyText()}>Copy</Button>
        <Button onClick={() => saveFile(program.file, program.text, "text/plain")}>Download {program.file}</Button>
        {set !== undefined && <Button onClick={() => saveFile(FILE_OF_DATA, dataFile(set))}>Download the data</Button>}
      </div>
      <p className="panel-note" role="status">
        {isCopied &&
          (copied.done
            ? "The program is on the clipboard. "
            : "This browser gives the page no clipboard. The program is selected: copy it with Ctrl+C or ⌘C. ")}
        {subject.name}. {program.promise}
        {set !== undefined &&
          ` It reads your data from ${FILE_OF_DATA}, prepared and divided as here: “Download the data” saves it.`}
        {subject.changedDevice && " The run went on on another device on the way, which the program does not."}
      </p>
      <pre className="code" ref={text} tabIndex={0} role="region" aria-label={`The program: ${program.file}`}>
        <code>{program.text}</code>
      </pre>
    </div>
  );
}
