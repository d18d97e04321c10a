/** The page Learn: the lessons, and the language they are in. */

import { PageHead, Panel, Segments } from "../../ui/index.js";
import { addressOfStep } from "../../lessons/address.js";
import { LANGUAGES } from "../../lessons/lesson.js";
import { LESSONS } from "../../lessons/lessons.js";
import { FRAME, speak, useLanguage } from "../../lessons/words.js";
import "../../lessons/lesson.css";

export default function LearnPage() {
  const language = useLanguage();
  const words = FRAME[language];
  return (
    <>
      <PageHead title="Learn">{words.about}</PageHead>
      <div>
        <Segments
          label={words.language}
          value={language}
          options={LANGUAGES.map((each) => [each, FRAME[each].name] as const)}
          onChange={speak}
        />
      </div>
      <ol className="lessons" lang={language}>
        {[...LESSONS].map(([name, { title, about, steps }]) => (
          <li key={name}>
            <Panel title={title[language]}>
              <p>{about[language]}</p>
              <a
                className="button primary"
                href={addressOfStep(name, 1, steps[0]?.settings ?? "")}
                aria-label={`${words.begin}: ${title[language]}`}
              >
                {words.begin}
              </a>
            </Panel>
          </li>
        ))}
      </ol>
    </>
  );
}
