/** A page or a part of one, fetched when it is first opened. A fetch that failed is tried again: nothing of it is remembered here. */

import { startTransition, useCallback, useEffect, useState, type ComponentType } from "react";
import { Button } from "../ui/controls.js";
import { Notice, Progress } from "../ui/show.js";
import { messageOf } from "../work/errors.js";

interface Part<P> {
  name: string;
  /** It is not shown yet: something above it is still to come. */
  waits?: boolean;
  load: () => Promise<{ default: ComponentType<P> }>;
  /** What it is given. */
  props: P;
}

/** What is there, so that a page that is entered again stands at once. A name has one kind of component. */
const loaded = new Map<string, unknown>();

/** Does the host answer? Asked past every cache. */
const isReachable = () =>
  fetch(new URL("flambeau.svg", document.baseURI), { method: "HEAD", cache: "no-store" }).then(
    ({ ok }) => ok,
    () => false,
  );

interface Failure {
  message: string;
  /** The host answers, and yet the page does not come: some browsers remember a failed import as long as the app is open. */
  stuck: boolean;
}

export function Loaded<P extends object>({ name, load, waits = false, props }: Part<P>) {
  const [Content, setContent] = useState(() => loaded.get(name) as ComponentType<P> | undefined);
  const [failure, setFailure] = useState<Failure>();
  const [attempt, setAttempt] = useState(0);
  const again = useCallback(() => {
    setFailure(undefined);
    setAttempt((before) => before + 1);
  }, []);

  useEffect(() => {
    if (loaded.has(name)) return;
    let here = true;
    load().then(
      ({ default: component }) => {
        loaded.set(name, component);
        // A page is much to draw: in pieces, so that nobody waits for a press or a key.
        if (here) startTransition(() => setContent(() => component));
      },
      async (error: unknown) => {
        const stuck = attempt > 0 && (await isReachable());
        if (here) setFailure({ message: messageOf(error), stuck });
      },
    );
    return () => {
      here = false;
    };
  }, [name, load, attempt]);

  const isAway = failure !== undefined && !failure.stuck;
  useEffect(() => {
    if (!isAway) return;
    window.addEventListener("online", again);
    return () => window.removeEventListener("online", again);
  }, [isAway, again]);

  if (Content !== undefined && !waits) return <Content {...props} />;
  if (failure === undefined) return <Progress label="Loading the page" />;
  return (
    <Notice kind="error" title="This page could not be fetched">
      <p>
        {failure.stuck
          ? "The network is back, but this browser remembers the failed attempt as long as the app is open. Opening the app anew helps; a run can be resumed from its last checkpoint."
          : "The network seems to be away. The other pages that were opened before still work, and training goes on."}
      </p>
      <p className="panel-note">{failure.message}</p>
      <p>
        {failure.stuck ? (
          <Button onClick={() => location.reload()}>Open the app anew</Button>
        ) : (
          <Button onClick={again}>Try again</Button>
        )}
      </p>
    </Notice>
  );
}
