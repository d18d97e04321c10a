/**
 * Where the builds of the app are kept: a cache for each, and a note of the newest one that is whole. The page and the service
 * worker read it, and a worker of one build reads what one of another wrote: the names must stay as they are.
 */

const FAMILY = "flambeau-app";

/** The cache of a build; hosts may have several apps in several folders, and each has its own. */
export const cacheOf = (scope: string, build: string) => `${FAMILY} ${scope} ${build}`;

/** Does this cache hold a build of the app in this folder? */
export const holdsBuild = (scope: string, name: string) => name.startsWith(cacheOf(scope, ""));

const noteCache = (scope: string) => `${FAMILY}-newest ${scope}`;
const noteKey = (scope: string) => `${scope}newest-build`;

/** Notes that all files of a build are there. From now on pages are opened with it. */
export async function noteWhole(scope: string, build: string): Promise<void> {
  const cache = await caches.open(noteCache(scope));
  await cache.put(noteKey(scope), new Response(build));
}

/** The newest build that is whole. */
export async function newestBuild(scope: string): Promise<string | undefined> {
  const note = await caches.match(noteKey(scope), { cacheName: noteCache(scope) });
  return note?.text();
}
