// The tasks of a page's main thread, by the browser's own trace: for the scripts that measure.

/** What runs while something goes on, and what is in the longest task. Times in milliseconds; `cpu` leaves out waiting for a free core. */
export async function tasksDuring(page, body) {
  const session = await page.raw.context().newCDPSession(page.raw);
  const events = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...value));
  await session.send("Tracing.start", { categories: "toplevel,devtools.timeline,v8.execute", transferMode: "ReportEvents" });
  await body();
  const complete = new Promise((done) => session.once("Tracing.tracingComplete", done));
  await session.send("Tracing.end");
  await complete;
  await session.detach();
  const thread = ({ pid, tid }) => `${pid}/${tid}`;
  // Other pages are traced too, such as the browser's own for a new tab: ours is the one that asks our server.
  const { origin } = new URL(page.raw.url());
  const ours = new Set(events.filter(({ args }) => String(args?.data?.url ?? "").startsWith(origin)).map(({ pid }) => pid));
  const isMain = ({ name, args, pid }) => name === "thread_name" && args.name === "CrRendererMain" && ours.has(pid);
  const main = new Set(events.filter(isMain).map(thread));
  const timed = events.filter((event) => event.dur !== undefined && main.has(thread(event)));
  const tasks = timed.filter(({ name }) => name.endsWith("RunTask"));
  const inside = ({ ts, dur, ...task }) =>
    timed
      .filter(
        (event) =>
          thread(event) === thread(task) && event.ts >= ts && event.ts + event.dur <= ts + dur && !event.name.endsWith("RunTask"),
      )
      .sort((a, b) => b.dur - a.dur)
      .slice(0, 3)
      .map(({ name, dur, args }) => {
        const at = args.data?.url ?? args.data?.fileName ?? "";
        return `${name} ${(dur / 1000).toFixed(0)} ms ${at.split("/").at(-1)}${args.data?.functionName ? `:${args.data.functionName}` : ""}`.trim();
      });
  return tasks.map((task) => ({ wall: task.dur / 1000, cpu: (task.tdur ?? 0) / 1000, inside: () => inside(task) }));
}

/** The task that computes longest. */
export const longestOf = (tasks) =>
  tasks.reduce((most, task) => (task.cpu > most.cpu ? task : most), { wall: 0, cpu: 0, inside: () => [] });
