/**
 * What the ported tests import: waiting, in WebAssembly whose calls can be set aside until a promise is kept (JSPI), and what a
 * panic says. `crates/flambeau/tests/common/wasm.rs` has the other side.
 */

/** What TypeScript's library does not know yet. */
interface Integration {
  Suspending: new (wait: () => Promise<void>) => () => void;
  promising: <A extends unknown[]>(call: (...args: A) => void) => (...args: A) => Promise<void>;
}
const { Suspending, promising } = WebAssembly as unknown as Integration;

let woken = false;
let goOn = (): void => undefined;

/** Lets the test that waits go on, or the next one that would. */
export function wake(): void {
  woken = true;
  goOn();
}

/** Sets the running test aside until `wake` was called. */
export const wait = new Suspending(async () => {
  if (!woken) await new Promise<void>((done) => (goOn = done));
  woken = false;
});

/** The memory of the instance that runs. */
let memory: WebAssembly.Memory | undefined;
let panic = "";

/** The text at an address of the instance. */
export function text(start: number, length: number): string {
  return new TextDecoder().decode(new Uint8Array(memory?.buffer ?? new ArrayBuffer(0), start, length));
}

/** Keeps what a panic says. */
export function say(start: number, length: number): void {
  panic = text(start, length);
}

/** What the last panic said. */
export const lastPanic = (): string => panic;

/** Says where texts are found. */
export function enter(of: WebAssembly.Memory): void {
  memory = of;
}

export { promising };
