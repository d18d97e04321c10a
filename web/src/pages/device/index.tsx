/** The Device page: what the browser offers, what the library does with it, and whether it is right. */

import { useDevice, type Used } from "../../app/device.js";
import { Button, Figures, Notice, PageHead, Panel, Progress, Table, write, type Column } from "../../ui/index.js";
import type { AdapterInfo } from "./messages.js";
import { SelfTest } from "./SelfTest.js";
import { useDeviceWorker, type DeviceWorker } from "./useDeviceWorker.js";
import { useSelfTest } from "./useSelfTest.js";
import "./device.css";

type Row = readonly [string, string];

const pair: readonly Column<Row>[] = [
  { name: "What", cell: ([name]) => name },
  { name: "Value", end: true, cell: ([, value]) => value },
];

/** camelCase as words. */
const words = (name: string) => name.replace(/([A-Z]|\d+D)/g, (part) => ` ${part.toLowerCase()}`).replace(/[_-]/g, " ");

const isBytes = (name: string) => /size|range|bytes/i.test(name) && !/workgroupSize|Invocations|subgroup/i.test(name);

const known = (value: string) => (value === "" ? "not told by the browser" : value);

function About({ opened, offered }: { opened: NonNullable<DeviceWorker["opened"]>; offered: string }) {
  const { info, adapter, milliseconds } = opened;
  const rows: Row[] = [
    ["Computes on", info.type === "cpu" ? info.name : offered],
    [
      "Kind",
      info.type === "cpu"
        ? "CPU, by WebAssembly"
        : info.software
          ? "a CPU that plays a GPU (software adapter)"
          : "GPU, by WebGPU",
    ],
    ["Chosen because", info.reason],
    ["Driver", known([info.driver, info.description].filter((part) => part !== "").join(", "))],
    ["Opened in", `${milliseconds.toFixed(0)} ms`],
    ["Browser", navigator.userAgent],
  ];
  if (adapter !== undefined) rows.splice(4, 0, ...adapterRows(adapter));
  return (
    <Panel title="Adapter" className="facts">
      <Table caption="The adapter" columns={pair} rows={rows} keyOf={([name]) => name} />
    </Panel>
  );
}

const adapterRows = ({ vendor, architecture, device, description, fallback }: AdapterInfo): Row[] => [
  ["WebGPU's vendor", known(vendor)],
  ["WebGPU's architecture", known(architecture)],
  ["WebGPU's device", known([device, description].filter((part) => part !== "").join(", "))],
  ["Fallback adapter", fallback ? "yes" : "no"],
];

function Features({ opened }: { opened: NonNullable<DeviceWorker["opened"]> }) {
  const used = new Set(opened.info.features.map((name) => name.toLowerCase().replaceAll("_", "-")));
  const offered = opened.adapter?.features ?? [];
  return (
    <Panel title="Features" note={opened.adapter === undefined ? undefined : `${offered.length} offered by the adapter`}>
      {used.size === 0 && offered.length === 0 ? (
        <p className="panel-note">None.</p>
      ) : (
        <ul className="chips">
          {[...new Set([...used, ...offered])].sort().map((name) => (
            <li key={name} className={used.has(name) ? "used" : undefined}>
              {name}
              {used.has(name) && <span className="visually-hidden"> (in use)</span>}
            </li>
          ))}
        </ul>
      )}
      <p className="panel-note">In colour: those that Flambeau uses.</p>
      {opened.adapter !== undefined && opened.adapter.language.length > 0 && (
        <>
          <h3>WGSL extensions</h3>
          <ul className="chips">
            {opened.adapter.language.map((name) => (
              <li key={name}>{name.replaceAll("_", " ")}</li>
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}

interface Limit {
  name: string;
  adapter: number | undefined;
  used: number | undefined;
}

function limit(name: string, value: number | undefined): string {
  if (value === undefined) return "–";
  return isBytes(name) && value >= 1000 ? write.bytes(value) : write.count(value);
}

const limitColumns: readonly Column<Limit>[] = [
  { name: "Limit", cell: ({ name }) => words(name) },
  { name: "Adapter", end: true, cell: ({ name, adapter }) => limit(name, adapter) },
  { name: "In use", end: true, cell: ({ name, used }) => limit(name, used) },
];

function Limits({ opened }: { opened: NonNullable<DeviceWorker["opened"]> }) {
  const [used, offered] = [opened.info.limits ?? {}, opened.adapter?.limits ?? {}];
  const rows = [...new Set([...Object.keys(used), ...Object.keys(offered)])].map(
    (name): Limit => ({
      name,
      adapter: offered[name],
      used: used[name],
    }),
  );
  return (
    <Panel title="Limits">
      {rows.length === 0 ? (
        <p className="panel-note">The CPU has no limits but its memory.</p>
      ) : (
        <div className="limits">
          <Table
            caption="Limits of the adapter and of the device"
            columns={limitColumns}
            rows={rows}
            keyOf={({ name }) => name}
          />
        </div>
      )}
    </Panel>
  );
}

function Usage({ usage, trim }: { usage: NonNullable<DeviceWorker["usage"]>; trim: () => void }) {
  const { memory, stats } = usage;
  const plans = stats.planHits + stats.planMisses;
  return (
    <>
      <Panel
        title="Memory"
        note={
          <Button small onClick={trim}>
            Give pooled memory back
          </Button>
        }
      >
        <Figures
          figures={[
            ["In use", write.bytes(memory.inUse)],
            ["Peak", write.bytes(memory.peak)],
            ["Pooled", write.bytes(memory.pooled)],
            ["Tensors held", write.count(memory.tensors)],
            ["WebAssembly", write.bytes(memory.wasm)],
          ]}
        />
      </Panel>
      <Panel title="Plans and pipelines" note="of this page's device, live">
        <Figures
          figures={[
            ["Plans run", write.count(stats.runs)],
            ["Plan cache hits", plans === 0 ? "–" : write.percent(stats.planHits / plans)],
            ["Plans made", write.count(stats.planMisses)],
            ["Kernels", write.count(stats.kernels)],
            ["Pipelines", write.count(stats.pipelines)],
            ["Dispatches", write.count(stats.dispatches)],
            ["Submissions", write.count(stats.submissions)],
            ["Buffers", write.count(stats.buffers)],
            ["Uploaded", write.bytes(stats.bytesUploaded)],
            ["Readbacks", write.count(stats.readbacks)],
          ]}
        />
      </Panel>
    </>
  );
}

export default function DevicePage() {
  const { wanted, offer, used } = useDevice();
  const chosen: Used | undefined = wanted === "cpu" || offer.state !== "looking" ? used : undefined;
  const { opened, usage, error, trim } = useDeviceWorker(chosen);
  const { test, start, stop } = useSelfTest(chosen);
  return (
    <>
      <PageHead title="Device">What this browser offers, what Flambeau does with it, and whether it computes right.</PageHead>
      {error !== undefined && (
        <Notice kind="error" title="The device failed">
          <p>{error}</p>
        </Notice>
      )}
      <div className="device">
        <div className="device-column">
          {opened === undefined && error === undefined && (
            <Panel title="Adapter" className="facts waiting">
              <Progress label="Opening the device" />
            </Panel>
          )}
          {opened !== undefined && <About opened={opened} offered={offer.about} />}
          {usage !== undefined && <Usage usage={usage} trim={trim} />}
          {opened !== undefined && <Features opened={opened} />}
        </div>
        <div className="device-column">
          <SelfTest test={test} ready={opened !== undefined} onStart={start} onStop={stop} />
          {opened !== undefined && <Limits opened={opened} />}
        </div>
      </div>
    </>
  );
}
