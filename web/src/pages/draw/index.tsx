import { PageHead } from "../../ui/index.js";

export default function DrawPage() {
  return <PageHead title="Draw">This page is being built.</PageHead>;
}
