/**
 * The service worker: keeps the files of a build and serves them, with or without a network.
 *
 * All or nothing: a build is used once every file of it is there, each proved by its hash, so that a deployment that is cut
 * short, or is under way, changes nothing. A page gets its scripts by names that hold their hashes: it never gets those of
 * another build. A page that is opened gets the newest whole build; pages that are open keep theirs, whose files stay until
 * the last of them is closed: then the next worker takes over.
 *
 * Data sets are not kept here but where they are read (`work/kept.ts`).
 */

import { cacheOf, holdsBuild, newestBuild, noteWhole } from "./builds.js";

/** What of a service worker's global scope is used; TypeScript's types of it exclude those of pages. */
interface Waiting extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface Fetching extends Event {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}
interface Scope {
  readonly registration: { readonly scope: string };
  readonly clients: { claim(): Promise<void> };
  addEventListener(type: "install" | "activate", listener: (event: Waiting) => void): void;
  addEventListener(type: "fetch", listener: (event: Fetching) => void): void;
}
const worker = self as unknown as Scope;

/** The name of this build, and its files with their SHA-256; written by `scripts/offline.mjs`. */
declare const BUILD: string;
declare const FILES: Record<string, string>;

const { scope } = worker.registration;

/** Files whose names hold their hashes. */
const isHashed = (path: string) => path.startsWith("assets/");

/** A file of this build: from another build where it is the same, else from the network, where it must have its hash. */
async function fetched(path: string, hash: string): Promise<Response> {
  const address = scope + path;
  const kept = isHashed(path) ? await caches.match(address, { ignoreVary: true }) : undefined;
  if (kept !== undefined) return kept;
  const response = await fetch(address, { integrity: `sha256-${hash}`, cache: isHashed(path) ? "default" : "no-cache" });
  if (!response.ok) throw new Error(`${address}: HTTP ${response.status}`);
  // A page that is opened may not be given what a redirection led to.
  return response.redirected ? new Response(response.body, { headers: response.headers }) : response;
}

/** One file after the other: the page may want the network too. What is there already was proved before. */
async function install(): Promise<void> {
  const cache = await caches.open(cacheOf(scope, BUILD));
  for (const [path, hash] of Object.entries(FILES)) {
    if ((await cache.match(scope + path, { ignoreVary: true })) === undefined) {
      await cache.put(scope + path, await fetched(path, hash));
    }
  }
  await noteWhole(scope, BUILD);
}

/** No page of another build is open any more. */
async function activate(): Promise<void> {
  const others = (await caches.keys()).filter((name) => holdsBuild(scope, name) && name !== cacheOf(scope, BUILD));
  await Promise.all(others.map((name) => caches.delete(name)));
  await worker.clients.claim();
}

async function opened(request: Request): Promise<Response> {
  const build = await newestBuild(scope);
  const kept =
    build === undefined ? undefined : await caches.match(scope, { cacheName: cacheOf(scope, build), ignoreVary: true });
  return kept ?? fetch(request);
}

async function served(request: Request): Promise<Response> {
  const names = (await caches.keys()).filter((name) => holdsBuild(scope, name));
  for (const cacheName of names.reverse()) {
    const kept = await caches.match(request, { cacheName, ignoreVary: true });
    if (kept !== undefined) return kept;
  }
  return fetch(request);
}

worker.addEventListener("install", (event) => event.waitUntil(install()));
worker.addEventListener("activate", (event) => event.waitUntil(activate()));
worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || !(origin + pathname).startsWith(scope)) return;
  const path = (origin + pathname).slice(scope.length);
  if (request.mode === "navigate") {
    if (path === "" || path === "index.html") event.respondWith(opened(request));
  } else if (isHashed(path) || path in FILES) {
    event.respondWith(served(request));
  }
});
