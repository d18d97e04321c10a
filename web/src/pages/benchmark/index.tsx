import { PageHead } from "../../ui/index.js";

export default function BenchmarkPage() {
  return <PageHead title="Benchmark">This page is being built.</PageHead>;
}
