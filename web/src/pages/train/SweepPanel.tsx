/** A sweep over two settings: offered here, fetched when it is asked for or when there is one. */

import { useState } from "react";
import { Loaded } from "../../app/Loaded.js";
import { Button, Panel } from "../../ui/index.js";
import { runs } from "../../work/runs.js";
import { useChanges } from "../../work/store.js";
import type { SweepProps } from "./Sweep.js";

const loadSweep = () => import("./Sweep.js");

export function SweepPanel(props: Omit<SweepProps, "isAsked">) {
  useChanges(runs.changes);
  const [isOpen, setOpen] = useState(false);
  const isThere = runs.list.some(({ group }) => group?.kind === "sweep");
  return (
    <Panel className="sweep" title="Sweep" note="Two settings against each other">
      {isOpen || isThere ? (
        <Loaded name="sweep" load={loadSweep} props={{ ...props, isAsked: isOpen }} />
      ) : (
        <div className="buttons">
          <Button onClick={() => setOpen(true)}>Set up a sweep</Button>
          <span className="panel-note">A run for every pair of values, such as learning rates and batch sizes, as a table</span>
        </div>
      )}
    </Panel>
  );
}
