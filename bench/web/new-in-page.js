// What is new to a page, in a browser: `run.mjs` opens one for each contender. The address says which network and contender.
import { measure } from "./measure-new.js";

const [net, contender] = ["net", "contender"].map((name) => new URLSearchParams(location.search).get(name));
// A step of convolutions takes a software adapter seconds. One of the eight, with the usual 64 pictures, is 80 GFLOP, minutes: so
// every contender gets 4 pictures there, and then 3, 2 and 5.
const few = net === "eight" ? { batch: 4, steps: 3 } : { steps: 4 };
const onFirst = (first) => console.log(`@@first ${first.toFixed(0)}`);
measure(contender, net, { device: "software", ...few, onFirst })
  .then(
    (found) => console.log(`@${JSON.stringify(found)}`),
    (error) => console.log(`@${JSON.stringify({ contender, net, error: String(error) })}`),
  )
  .then(() => console.log("@@done"));
