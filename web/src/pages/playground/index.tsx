import { PageHead } from "../../ui/index.js";

export default function PlaygroundPage() {
  return <PageHead title="Playground">This page is being built.</PageHead>;
}
