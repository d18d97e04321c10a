/** Training for a Flower server, which brings the models of its clients together. */

import { useState } from "react";
import { Panel } from "../../../ui/index.js";
import { useChanges } from "../../../work/store.js";
import type { WayProps } from "../index.js";
import { Layout } from "../Layout.js";
import { OwnPanel } from "../Setup.js";
import { flower } from "./flower.js";
import type { Protect } from "./messages.js";
import { ProtectPanel, Run, Told } from "./Run.js";

const WORDS = {
  failed: "The server had to be left",
  begin: "Take part",
  leave: "Leave the server",
  promise: "Only what is said on this page leaves the tab, to the server.",
};

export function Flower({ settings, change, beginning }: WayProps) {
  useChanges(flower.changes);
  const [protect, setProtect] = useState<Protect>();
  const { record, isOn } = flower;
  const begin = () => {
    const { source, device, seed } = beginning;
    if (source !== undefined) void flower.start({ device, server: document.baseURI, source, own: settings, protect, seed });
  };
  const told = record?.about !== undefined && <Told record={record} isProtected={protect !== undefined} />;
  const side = isOn ? (
    told
  ) : (
    <>
      <Panel title="The server">
        <p className="panel-note">
          A Flower SuperLink that this page's server hands on to: <code>flambeau serve --flower http://127.0.0.1:8000</code>. It
          asks for a network of 784 → 128 → 10, as the app in <code>tools/flower</code> does, and says how to train it.
        </p>
      </Panel>
      <OwnPanel settings={settings} change={change} />
      <ProtectPanel protect={protect} change={setProtect} />
    </>
  );
  return (
    <Layout session={flower} words={WORDS} problem={beginning.problem} begin={begin} side={side}>
      {record?.about !== undefined && <Run record={record} />}
      {!isOn && told}
    </Layout>
  );
}
