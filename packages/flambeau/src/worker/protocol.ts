/**
 * How a page and a worker talk. One map of questions types both sides: the page asks by name, and is answered or told the
 * error; the worker may also tell notes by itself. Training off the main thread is spoken in it, and so may be whatever
 * else a page does in workers.
 */

/** What can be asked, by name: what goes with the question, and what the answer is. */
export type Questions = Record<string, { ask: unknown; answer: unknown }>;

/** The functions that answer, by the names of the questions. */
export type Answers<Q extends Questions> = {
  [K in keyof Q]: (question: Q[K]["ask"]) => Q[K]["answer"] | Promise<Q[K]["answer"]>;
};

/** What follows a question's name: what goes with it, which may be nothing, and what is handed over instead of copied. */
export type Asked<A> = undefined extends A ? [question?: A, transfer?: Transferable[]] : [question: A, transfer?: Transferable[]];

/** From the page. */
interface Message {
  id: number;
  name: string;
  question: unknown;
}

/** From the worker. Errors go in parts: cloned whole they would lose their names. */
type Reply =
  | { type: "ready" }
  | { type: "note"; note: unknown }
  | { type: "answer"; id: number; answer: unknown }
  | { type: "error"; id: number; error: { name: string; message: string; stack: string } };

/** What a page may want to know of its worker, beside answers. */
export interface ClientListeners<Note> {
  /** What the worker tells by itself. */
  onNote?: (note: Note) => void;
  /** The worker could not be loaded, or has broken. It has been ended, and answers nothing any more. */
  onBroken?: (error: Error) => void;
}

/**
 * The page's side. Every question is answered or ends with an error, also when the worker cannot be loaded, breaks or is
 * ended.
 *
 * ```ts
 * type Sums = { add: { ask: number[]; answer: number } };
 * const client = new WorkerClient<Sums>(new Worker(new URL("./sums.js", import.meta.url), { type: "module" }));
 * const sum = await client.ask("add", [1, 2, 3]);
 * ```
 */
export class WorkerClient<Q extends Questions, Note = unknown> {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, { resolve: (answer: unknown) => void; reject: (error: Error) => void }>();
  /** Settled when the worker listens, or never will: a message that comes while its script is loading may be lost. */
  readonly #opened: Promise<void>;
  #open: () => void = () => undefined;
  #isReady = false;
  #asked = 0;
  #end: Error | undefined;

  constructor(worker: Worker, { onNote, onBroken }: ClientListeners<Note> = {}) {
    this.#worker = worker;
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
    const broken = (message: string, name = "Error") => {
      if (this.#end !== undefined) return;
      const error = Object.assign(new Error(`flambeau: ${message}`), { name });
      this.end(error);
      onBroken?.(error);
    };
    worker.onmessage = ({ data: reply }: MessageEvent<Reply>) => {
      switch (reply.type) {
        case "ready":
          this.#isReady = true;
          this.#open();
          return;
        case "note":
          onNote?.(reply.note as Note);
          return;
        case "answer":
          this.#taken(reply.id)?.resolve(reply.answer);
          return;
        case "error":
          this.#taken(reply.id)?.reject(Object.assign(new Error(reply.error.message), reply.error));
      }
    };
    worker.onerror = (event) => {
      // It is told here, once.
      event.preventDefault();
      // That a script did not load is told by an event without a message; an error is there only as text.
      const { message } = event as { message?: string };
      if (message) broken(`the worker broke: ${message}`, /^(?:Uncaught )?(\w*Error): /.exec(message)?.[1]);
      else broken(this.#isReady ? "the worker broke" : "the worker's script could not be loaded");
    };
    worker.onmessageerror = () => broken("what the worker has sent cannot be read");
  }

  /** Has the worker begun to listen? */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Asks, and gives the answer; what goes with the question must be cloneable. */
  async ask<K extends keyof Q & string>(name: K, ...asked: Asked<Q[K]["ask"]>): Promise<Q[K]["answer"]> {
    const [question, transfer = []] = asked;
    await this.#opened;
    if (this.#end !== undefined) throw this.#end;
    this.#asked += 1;
    const id = this.#asked;
    this.#worker.postMessage({ id, name, question } satisfies Message, transfer);
    return new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  #taken(id: number) {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  /** Ends the worker at once. What has been asked and has no answer yet, and what is asked later, ends with the error. */
  end(error: Error = new Error("flambeau: the worker has ended")): void {
    this.#end ??= error;
    this.#worker.terminate();
    for (const { reject } of this.#waiting.values()) reject(this.#end);
    this.#waiting.clear();
    this.#open();
  }
}

/** Where questions come from and answers go: a worker's own scope, or a `MessagePort`. */
export interface Port {
  /** Sends. */
  postMessage(message: unknown, transfer: Transferable[]): void;
  /** Called with what is sent. */
  onmessage: ((event: MessageEvent) => void) | null;
}

/**
 * The worker's side: answers what the page's `WorkerClient` asks. What it throws is thrown in the page, with name, message
 * and stack. Returns the function that tells the page notes.
 *
 * ```ts
 * // sums.ts
 * answerQuestions<Sums>({ add: (numbers) => numbers.reduce((sum, each) => sum + each, 0) });
 * ```
 */
export function answerQuestions<Q extends Questions, Note = unknown>(
  answers: Answers<Q>,
  port: Port = globalThis as unknown as Port,
): (note: Note, transfer?: Transferable[]) => void {
  const reply = (reply: Reply, transfer: Transferable[] = []) => port.postMessage(reply, transfer);
  const answer = async ({ id, name, question }: Message) => {
    try {
      if (!Object.hasOwn(answers, name)) throw new Error(`flambeau: the worker knows no question “${name}”`);
      reply({ type: "answer", id, answer: await answers[name]?.(question) });
    } catch (thrown) {
      const { name, message, stack = "" } = thrown instanceof Error ? thrown : new Error(String(thrown));
      reply({ type: "error", id, error: { name, message, stack } });
    }
  };
  port.onmessage = ({ data }: MessageEvent<Message>) => void answer(data);
  reply({ type: "ready" });
  return (note, transfer) => reply({ type: "note", note }, transfer);
}
