/** The room as it is: the common model's accuracy, everybody's losses, who is there, and what has left this tab. */

import { useMemo } from "react";
import { Figures, Panel, type Series, Table, write } from "../../../ui/index.js";
import { type Member, nameOf, type RoomRecord, wordsOf } from "./record.js";
import { AccuracyChart, Events, LossChart } from "../Layout.js";
import type { RoomSettings } from "../settings.js";

/** Colours of the theme. */
const COLOURS = 6;
/** Curves that one can still tell apart: those of the members that were there last. */
const MOST_CURVES = 12;

/** How this tab's model does by itself, and the common one. */
export function Accuracy({ record }: { record: RoomRecord }) {
  const { rounds, about } = record;
  const series = useMemo((): readonly Series[] => {
    const x = rounds.map(({ round }) => round);
    return [
      { name: "the common model", colour: 1, x, y: rounds.map(({ together }) => together), points: rounds.length < 30 },
      { name: "this tab's, before each round", colour: 2, dashed: true, x, y: rounds.map(({ alone }) => alone) },
    ];
  }, [rounds]);
  const last = rounds.at(-1);
  return (
    <Panel
      title="The common model"
      note={last === undefined ? undefined : `${write.percent(last.together)} after ${write.counted(last.round, "round")}`}
    >
      <AccuracyChart label="Accuracy by round: the common model, and this tab's own before each round" series={series} />
      <p className="panel-note">
        Read right of {write.count(about?.tested ?? 0)} test pictures of all classes, which nobody trains on. Between rounds each
        tab's model forgets what its own pictures lack; a round brings it back.
      </p>
    </Panel>
  );
}

/** Each member's loss on its own pictures, as it tells it. */
export function Losses({ record }: { record: RoomRecord }) {
  const series = useMemo((): readonly Series[] => {
    const shown = record.members.filter(({ losses }) => losses.length > 0).slice(-MOST_CURVES);
    return shown.map((member) => ({
      name: nameOf(record, member.peer),
      colour: 1 + (member.number % COLOURS),
      dashed: !member.isHere,
      x: member.rounds,
      y: member.losses,
    }));
  }, [record]);
  return (
    <Panel title="Everybody's loss" note="on pictures of their own">
      <LossChart label="The members' losses by round" series={series} />
    </Panel>
  );
}

function stateOf({ isHere, why }: Member): string {
  if (isHere) return "here";
  return why === "" ? "gone" : why;
}

/** Who is in the group, and who was. */
export function MembersTable({ record }: { record: RoomRecord }) {
  const { members } = record;
  const count = members.filter(({ isHere }) => isHere).length;
  return (
    <Panel title="Members" note={`${write.counted(count, "member")} now`}>
      <Table
        caption="Members of the room"
        rows={members}
        keyOf={({ peer }) => peer}
        columns={[
          { name: "Name", cell: ({ peer }) => nameOf(record, peer) },
          { name: "Number", cell: ({ peer }) => <code>{peer.slice(0, 8)}</code> },
          { name: "Classes", cell: ({ introduction }) => introduction?.classes.join(" ") ?? "" },
          {
            name: "Pictures",
            end: true,
            cell: ({ introduction }) => (introduction === undefined ? "" : write.count(introduction.items)),
          },
          { name: "Last loss", end: true, cell: ({ losses }) => losses.at(-1)?.toFixed(3) ?? "" },
          { name: "State", cell: stateOf },
        ]}
      />
      <Events events={record.events.map((event) => wordsOf(record, event))} />
    </Panel>
  );
}

/** What has gone out of this tab, and what has not. */
export function Sent({ record, settings }: { record: RoomRecord; settings: RoomSettings }) {
  const { about } = record;
  const last = record.rounds.at(-1);
  return (
    <Panel title="What leaves this tab">
      <Figures
        figures={[
          ["Sent", write.bytes(last?.sent ?? 0)],
          ["Received", write.bytes(last?.received ?? 0)],
          ["Numbers in the model", write.count(about?.parameters ?? 0)],
          ["Pictures here", write.count(about?.items ?? 0)],
        ]}
      />
      <p className="panel-note">
        To each other member, after every {write.counted(settings.inner, "step")}: by how much the model has changed, one byte for
        each of its numbers. Beside that the name you gave, your classes, how many pictures, your loss and accuracy; and to the
        server of this page what browsers need to find each other. Pictures never leave this tab. What a model has learnt from
        them can be guessed from its changes to some degree.
      </p>
    </Panel>
  );
}
