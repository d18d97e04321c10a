// What is new to a page, in a browser: `run.mjs` opens one for each contender. The address says which network and contender.
import { measure } from "./measure-new.js";

const [net, contender] = ["net", "contender"].map((name) => new URLSearchParams(location.search).get(name));
// A step of convolutions takes a software adapter seconds, one of the eight minutes.
const few = net === "eight" ? { sizes: [], steps: 1 } : { steps: 4 };
const onFirst = (first) => console.log(`@@first ${first.toFixed(0)}`);
measure(contender, net, { device: "software", ...few, onFirst })
  .then(
    (found) => console.log(`@${JSON.stringify(found)}`),
    (error) => console.log(`@${JSON.stringify({ contender, net, error: String(error) })}`),
  )
  .then(() => console.log("@@done"));
