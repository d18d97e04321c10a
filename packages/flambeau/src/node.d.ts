/** What is used of Node; the package is written for browsers, and so is the rest of its types. */
declare module "node:process" {
  const process: { once(event: "exit", listener: () => void): void };
  export default process;
}

declare module "node:fs" {
  export function readFileSync(from: URL): Uint8Array<ArrayBuffer>;
}

declare function setImmediate(turn: () => void): void;
