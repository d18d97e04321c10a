/** What the page Together and the worker of a Flower client say to each other. */

import type { EvaluationReport, RoundReport } from "flambeau/federated";
import type { Used } from "../../../app/device.js";
import type { DataSource } from "../../../work/messages.js";
import type { PartQuestions } from "../session.js";
import type { OwnSettings } from "../settings.js";

/** How updates are protected before they leave. */
export interface Protect {
  clip: number;
  noise: number;
}

/** What the worker is to do. */
export interface Order {
  device: Used;
  /** The app's own address: its server hands on what is for the Flower server. */
  server: string;
  source: DataSource;
  own: OwnSettings;
  /** Undefined: updates leave as they are. */
  protect: Protect | undefined;
  /** Which pictures this tab draws. */
  seed: number;
}

/** What the worker tells. */
export type FlowerNote =
  | { kind: "loading"; label: string; part: number | undefined }
  | { kind: "online"; node: string; parameters: number; items: number; tested: number }
  | { kind: "round"; report: RoundReport }
  | { kind: "evaluated"; report: EvaluationReport }
  | { kind: "trouble"; why: string }
  | { kind: "over"; rounds: number };

export type FlowerQuestions = PartQuestions<Order>;
