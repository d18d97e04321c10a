/** The lesson above the page Train: its text, its tasks with what is done of them, and the way on. */

import { addressOf, usePlace, useSettings, wasVisited } from "../app/route.js";
import { Notice, Panel } from "../ui/index.js";
import { runs } from "../work/runs.js";
import { useChanges } from "../work/store.js";
import { addressOfStep, lessonSchema } from "./address.js";
import { isDone, type Facts } from "./lesson.js";
import { LESSONS } from "./lessons.js";
import { FRAME, useLanguage } from "./words.js";
import "./lesson.css";

/** Tasks are done in this visit: runs that only were kept, and have not had a device since, do not count. */
const factsNow = (): Facts => ({
  wasAt: wasVisited,
  runs: runs.list
    .filter(({ info }) => info !== undefined)
    .map(({ settings, state, set, assessment, curve }) => ({
      settings,
      failed: state === "failed",
      parameters: set?.parameters,
      accuracy: assessment?.accuracy,
      trained: curve.accuracy.at(-1),
    })),
});

export default function LessonPanel() {
  useChanges(runs.changes);
  const [{ lesson: name, at }] = useSettings(lessonSchema);
  const place = usePlace();
  const language = useLanguage();
  const words = FRAME[language];
  const lesson = LESSONS.get(name);
  const step = lesson?.steps[at - 1];
  if (lesson === undefined || step === undefined) {
    return (
      <Notice kind="error" title={words.missing(lesson === undefined ? name : `${name}, ${at}`)}>
        <a href={addressOf("learn", place)}>{words.title}</a>
      </Notice>
    );
  }
  const facts = factsNow();
  const done = step.tasks.map((task) => isDone(task, facts));
  const isWhole = done.every((each) => each);
  const [before, after] = [lesson.steps[at - 2], lesson.steps[at]];
  return (
    <Panel className="lesson" title={lesson.title[language]} note={words.step(at, lesson.steps.length)}>
      <div lang={language}>
        <p>{step.text[language]}</p>
        <h3>{words.tasks}</h3>
        <ul className="lesson-tasks">
          {step.tasks.map((task, index) => (
            <li key={index} className={done[index] === true ? "done" : undefined}>
              <span aria-hidden="true">{done[index] === true ? "✓" : "○"}</span>
              <span>
                {"page" in task ? <a href={addressOf(task.page, place)}>{task.say[language]}</a> : task.say[language]}
                <span className="visually-hidden"> ({done[index] === true ? words.done : words.open})</span>
              </span>
            </li>
          ))}
        </ul>
        {isWhole && after === undefined && (
          <p className="passed" role="status">
            {words.allDone}
          </p>
        )}
        <div className="buttons">
          {before !== undefined && (
            <a className="button" href={addressOfStep(name, at - 1, before.settings)}>
              {words.back}
            </a>
          )}
          {after !== undefined && (
            <a className={`button ${isWhole ? "primary" : ""}`} href={addressOfStep(name, at + 1, after.settings)}>
              {words.next}
            </a>
          )}
          <a className="button quiet" href="#/learn">
            {words.end}
          </a>
        </div>
      </div>
    </Panel>
  );
}
