/** How both ways of training together look: settings, or what leaves the tab, at the side; the button and the curves beside it. */

import type { ReactNode } from "react";
import { Button, LineChart, Notice, Panel, Progress, type Series } from "../../ui/index.js";

interface LayoutProps {
  /** What of a `Session` is shown. */
  session: {
    isOn: boolean;
    error: string | undefined;
    record: { loading: { label: string; part: number | undefined } | undefined } | undefined;
    leave(): void;
  };
  words: { failed: string; begin: string; leave: string; promise: string };
  /** Why one cannot begin. */
  problem: string | undefined;
  begin: () => void;
  side: ReactNode;
  children: ReactNode;
}

export function Layout({ session, words, problem, begin, side, children }: LayoutProps) {
  const { isOn, error, record } = session;
  return (
    <>
      {error !== undefined && (
        <Notice kind="error" title={words.failed}>
          <p>{error}</p>
        </Notice>
      )}
      <div className="together">
        <div className="together-side">{side}</div>
        <div className="together-main">
          <Panel>
            <div className="buttons">
              {isOn ? (
                <Button onClick={() => session.leave()}>{words.leave}</Button>
              ) : (
                <>
                  <Button kind="primary" resting={problem !== undefined} onClick={begin}>
                    {words.begin}
                  </Button>
                  <span className="panel-note">{problem ?? words.promise}</span>
                </>
              )}
            </div>
            {record?.loading !== undefined && <Progress label={record.loading.label} part={record.loading.part} />}
          </Panel>
          {children}
        </div>
      </div>
    </>
  );
}

const wholePercent = (part: number) => `${Math.round(100 * part)} %`;
/** Rounds are counted: there is none between two. */
const wholeRound = (round: number) => (Number.isInteger(round) ? String(round) : "");

interface ChartProps {
  label: string;
  series: readonly Series[];
}

/** Shares of right answers by round. */
export function AccuracyChart(chart: ChartProps) {
  return <LineChart {...chart} xName="round" write={wholePercent} writeX={wholeRound} range={[0, 1]} />;
}

/** Losses by round. */
export function LossChart(chart: ChartProps) {
  return <LineChart {...chart} xName="round" writeX={wholeRound} range={[0, undefined]} />;
}

/** What has happened, the newest first. */
export function Events({ events }: { events: readonly string[] }) {
  if (events.length === 0) return null;
  return (
    <ul className="together-events" aria-label="What has happened">
      {events.map((event, place) => (
        // Its place from the end is its own.
        <li key={events.length - place}>{event}</li>
      ))}
    </ul>
  );
}
