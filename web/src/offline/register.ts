/** Has the app's files kept for visits without a network, once nobody waits for the network any more. */

import { activity } from "../work/activity.js";
import { cacheOf, newestBuild } from "./builds.js";
import { setOffline } from "./state.js";

/** Milliseconds of rest after the page stands: whoever presses Start at once has the network alone. */
const REST = 2500;

/** Resolves when no run waits for its first step; one that goes on from a checkpoint loads as much before it. */
function stepsGoOn(): Promise<void> {
  const isWaiting = () => {
    const { isBusy, active } = activity;
    return isBusy && (active === undefined || active.step === 0 || active.loading !== undefined);
  };
  if (!isWaiting()) return Promise.resolve();
  return new Promise((done) => {
    const stop = activity.changes.listen(() => {
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
