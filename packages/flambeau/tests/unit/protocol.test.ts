import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answers, answerQuestions, WorkerClient } from "../../src/worker/protocol.js";

type Sums = {
  add: { ask: number[]; answer: number };
  wait: { ask: undefined; answer: string };
  fail: { ask: string; answer: never };
  bad: { ask: undefined; answer: unknown };
  first: { ask: ArrayBuffer; answer: number };
};

/** A worker whose script is run by hand: its side is a port. */
class Fake {
  onmessage: ((event: MessageEvent) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  onmessageerror: (() => void) | null = null;
  terminated = 0;
  posted = 0;
  readonly inside: MessagePort;
  readonly #outside: MessagePort;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    [this.#outside, this.inside] = [port1, port2];
    port1.onmessage = (event) => this.onmessage?.(event);
  }

  postMessage(message: unknown, transfer: Transferable[]): void {
    this.posted += 1;
    this.#outside.postMessage(message, transfer);
  }

  terminate(): void {
    this.terminated += 1;
    this.#outside.close();
  }

  breaks(event: object): boolean {
    let prevented = false;
    this.onerror?.({
      ...event,
      preventDefault: () => {
        prevented = true;
      },
    } as unknown as ErrorEvent);
    return prevented;
  }
}

const answers: Answers<Sums> = {
  add: (numbers) => numbers.reduce((sum, each) => sum + each, 0),
  wait: () => new Promise(() => undefined),
  fail: (message) => {
    throw new RangeError(message);
  },
  bad: () => () => "functions cannot be sent",
  first: (buffer) => new Uint8Array(buffer)[0] ?? -1,
};

/** A client and its worker, whose script has run. */
function pair(listeners: ConstructorParameters<typeof WorkerClient<Sums, string>>[1] = {}) {
  const worker = new Fake();
  const client = new WorkerClient<Sums, string>(worker as unknown as Worker, listeners);
  const tell = answerQuestions<Sums, string>(answers, worker.inside);
  return { worker, client, tell };
}

/** Waits until messages have gone to and fro. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

test("a question is answered", async () => {
  const { client } = pair();
  assert.equal(await client.ask("add", [1, 2, 3]), 6);
  client.end();
});

test("answers find their questions, in whatever order they come", async () => {
  const { client } = pair();
  const waiting = client.ask("wait").catch((error: Error) => error.message);
  assert.deepEqual(await Promise.all([client.ask("add", [1]), client.ask("add", [2]), client.ask("add", [3])]), [1, 2, 3]);
  client.end();
  assert.equal(await waiting, "flambeau: the worker has ended");
});

test("what is asked before the worker listens is held until it does, in order", async () => {
  const worker = new Fake();
  const client = new WorkerClient<Sums>(worker as unknown as Worker);
  const seen: number[] = [];
  const asked = [1, 2, 3].map((number) => client.ask("add", [number]).then((sum) => seen.push(sum)));
  await settled();
  assert.deepEqual([client.isReady, worker.posted], [false, 0]);
  answerQuestions<Sums>(answers, worker.inside);
  await Promise.all(asked);
  assert.deepEqual([client.isReady, seen], [true, [1, 2, 3]]);
  client.end();
});

test("an error crosses with name, message and stack", async () => {
  const { client } = pair();
  const error = await client.ask("fail", "on purpose").catch((thrown: unknown) => thrown);
  assert.ok(error instanceof Error);
  assert.deepEqual([error.name, error.message], ["RangeError", "on purpose"]);
  assert.match(error.stack ?? "", /RangeError: on purpose\n.*at /s);
  client.end();
});

test("what is thrown and is no error crosses as its text", async () => {
  const worker = new Fake();
  const client = new WorkerClient<Sums>(worker as unknown as Worker);
  const thrower = () => {
    throw "plain text";
  };
  answerQuestions<Sums>({ ...answers, wait: thrower }, worker.inside);
  await assert.rejects(client.ask("wait"), { name: "Error", message: "plain text" });
  client.end();
});

test("an answer that cannot be sent is an error for who asked, and the worker goes on", async () => {
  const { client } = pair();
  await assert.rejects(client.ask("bad"), { name: "DataCloneError" });
  assert.equal(await client.ask("add", [4]), 4);
  client.end();
});

test("a question that cannot be sent is an error, and leaves nothing behind", async () => {
  const { client } = pair();
  await assert.rejects(client.ask("add", [(() => 1) as unknown as number]), { name: "DataCloneError" });
  assert.equal(await client.ask("add", [5]), 5);
  client.end();
});

test("a question the worker does not know is an error, also if every object has something of that name", async () => {
  const { client } = pair();
  const newer = client as unknown as WorkerClient<{ [name: string]: { ask: undefined; answer: unknown } }>;
  await assert.rejects(newer.ask("subtract"), /knows no question “subtract”/);
  await assert.rejects(newer.ask("toString"), /knows no question “toString”/);
  client.end();
});

test("what is handed over is not copied", async () => {
  const { client } = pair();
  const buffer = Uint8Array.of(7, 8).buffer;
  assert.equal(await client.ask("first", buffer, [buffer]), 7);
  assert.equal(buffer.byteLength, 0);
  client.end();
});

test("notes come as they are told, before the answer that follows them", async () => {
  const seen: string[] = [];
  const { client, tell } = pair({ onNote: (note) => void seen.push(note) });
  tell("one");
  tell("two");
  await client.ask("add", []);
  assert.deepEqual(seen, ["one", "two"]);
  client.end();
});

test("a script that does not load is told by an event without a message, and ends every question", async () => {
  const worker = new Fake();
  const told: string[] = [];
  const client = new WorkerClient<Sums>(worker as unknown as Worker, { onBroken: ({ message }) => void told.push(message) });
  const asked = [client.ask("add", [1]), client.ask("wait")];
  assert.equal(worker.breaks({}), true, "the event is not told twice");
  for (const each of asked) await assert.rejects(each, { message: "flambeau: the worker's script could not be loaded" });
  await assert.rejects(client.ask("add", [2]), /could not be loaded/);
  assert.deepEqual([told, worker.terminated], [["flambeau: the worker's script could not be loaded"], 1]);
});

test("an error that nobody caught ends every question, by the error's name", async () => {
  for (const [message, name] of [
    ["Uncaught RuntimeError: unreachable", "RuntimeError"],
    ["RuntimeError: unreachable executed", "RuntimeError"],
    ["Uncaught TypeError: x is not a function", "TypeError"],
    ["Script error.", "Error"],
  ] as const) {
    const { client, worker } = pair();
    const waiting = client.ask("wait");
    await settled();
    worker.breaks({ message });
    await assert.rejects(waiting, { name, message: `flambeau: the worker broke: ${message}` });
    await assert.rejects(client.ask("add", [1]), { name });
  }
});

test("a worker that listened and breaks without a word has not failed to load", async () => {
  const { client, worker } = pair();
  await client.ask("add", []);
  worker.breaks({});
  await assert.rejects(client.ask("add", []), { message: "flambeau: the worker broke" });
});

test("an answer that cannot be read ends every question", async () => {
  const { client, worker } = pair();
  const waiting = client.ask("wait");
  await settled();
  worker.onmessageerror?.();
  await assert.rejects(waiting, /cannot be read/);
});

test("only the first reason for the end counts, and is told once", async () => {
  const told: string[] = [];
  const { client, worker } = pair({ onBroken: ({ message }) => void told.push(message) });
  client.end(new Error("enough"));
  client.end(new Error("more than enough"));
  worker.breaks({ message: "Uncaught Error: late" });
  await assert.rejects(client.ask("wait"), { message: "enough" });
  assert.deepEqual(told, []);
});
