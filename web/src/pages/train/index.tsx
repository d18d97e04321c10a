import { PageHead } from "../../ui/index.js";

export default function TrainPage() {
  return <PageHead title="Train">This page is being built.</PageHead>;
}
