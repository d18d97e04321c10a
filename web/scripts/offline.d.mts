/** Writes the service worker of the build in a folder; gives the build's name. */
export function writeServiceWorker(folder: string): Promise<string>;
