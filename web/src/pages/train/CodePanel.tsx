/** “Show as code”: the panel is here, what it shows is fetched when it is asked for. */

import { useId, useState } from "react";
import { Loaded } from "../../app/Loaded.js";
import { Button, Panel } from "../../ui/index.js";
import type { TrainSettings } from "../../work/settings.js";

const loadCode = () => import("./Code.js");

/** Shows the run that is looked at, or these settings before the first one. */
export function CodePanel({ settings }: { settings: TrainSettings }) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return (
    <Panel title="As a program" note="JavaScript, Rust, PyTorch">
      <div className="stack">
        <div className="buttons">
          <Button aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
            {isOpen ? "Hide the code" : "Show as code"}
          </Button>
          <span className="panel-note">A program of its own that trains the same network to the same result.</span>
        </div>
        <div id={id}>{isOpen && <Loaded name="code" load={loadCode} props={{ settings }} />}</div>
      </div>
    </Panel>
  );
}
