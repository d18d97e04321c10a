import { PageHead } from "../../ui/index.js";

export default function DevicePage() {
  return <PageHead title="Device">This page is being built.</PageHead>;
}
