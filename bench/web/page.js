import { compare } from "./contenders.js";

const steps = Number(new URLSearchParams(location.search).get("steps"));
compare({ steps, options: { device: "software" }, tell: (line) => console.log(`@${line}`) }).then(() => console.log("@@done"));
