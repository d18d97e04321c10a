/** Has the app's files kept for visits without a network, once nobody waits for the network any more. */

import { runs } from "../work/runs.js";
import { cacheOf, newestBuild } from "./builds.js";
import { setOffline } from "./state.js";

/** Milliseconds of rest after the page stands: whoever presses Start at once has the network alone. */
const REST = 2500;

/** Resolves when no run waits for its first step. */
function stepsGoOn(): Promise<void> {
  const isWaiting = () => runs.isBusy && (runs.active?.step ?? 0) === 0;
  if (!isWaiting()) return Promise.resolve();
  return new Promise((done) => {
    const stop = runs.changes.listen(() => {
      if (isWaiting()) return;
      stop();
      done();
    });
  });
}

/** Is this page of the newest build that is whole? Its first script says so. */
async function look(scope: string): Promise<void> {
  const build = await newestBuild(scope);
  if (build === undefined) return;
  const script = document.querySelector<HTMLScriptElement>('script[type="module"]')?.src ?? "";
  const own = await caches.match(script, { cacheName: cacheOf(scope, build), ignoreVary: true });
  setOffline({ ready: true, newer: own === undefined });
}

export async function keepTheApp(): Promise<void> {
  await new Promise((done) => setTimeout(done, REST));
  await stepsGoOn();
  const registration = await navigator.serviceWorker.register(new URL("sw.js", document.baseURI), { updateViaCache: "none" });
  const { scope } = registration;
  await look(scope);
  const follow = (worker: ServiceWorker | null) => worker?.addEventListener("statechange", () => void look(scope));
  follow(registration.installing);
  registration.addEventListener("updatefound", () => follow(registration.installing));
}
