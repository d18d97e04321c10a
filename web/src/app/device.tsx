/** Which device the pages compute on, and why: what the browser offers, and what the reader asks for. */

import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import { choice, type Schema } from "./url.js";
import { useSettings } from "./route.js";

/** What can be asked for: `software` also takes an adapter that is a CPU playing a GPU. */
export type Wanted = "best" | "gpu" | "cpu" | "software";

/** What is computed on: the name that `init` of the package takes. */
export type Used = "gpu" | "cpu" | "software";

/** What the browser says of WebGPU. */
export interface Offer {
  state: "looking" | "gpu" | "software" | "none";
  /** The adapter's name, or what is missing. */
  about: string;
  /** Does the adapter compute with numbers of 16 bits (`shader-f16`)? */
  hasF16: boolean;
}

/** What pages know of the device. */
export interface DeviceChoice {
  wanted: Wanted;
  offer: Offer;
  used: Used;
  /** Why it is used. */
  why: string;
  choose: (wanted: Wanted) => void;
}

const schema: Schema<{ device: Wanted }> = { device: choice(["best", "gpu", "cpu", "software"], "best") };

const Context = createContext<DeviceChoice | undefined>(undefined);

/** The device of the pages. */
export function useDevice(): DeviceChoice {
  const device = useContext(Context);
  if (device === undefined) throw new Error("useDevice needs a DeviceProvider around it");
  return device;
}

/** Milliseconds that pages wait at most for what the browser says of WebGPU. */
const PATIENCE = 1000;

/** Is the browser still being asked? A notice may come of it, above the page. */
export function useLooking(): boolean {
  const { offer, wanted } = useDevice();
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), PATIENCE);
    return () => clearTimeout(timer);
  }, []);
  return offer.state === "looking" && wanted !== "cpu" && !isLate;
}

const none = (about: string): Offer => ({ state: "none", about, hasF16: false });

/** Asks the browser, without loading anything. */
export async function lookForGpu(): Promise<Offer> {
  const { gpu } = navigator as { gpu?: GPU };
  if (!window.isSecureContext) return none("the page is not secure: WebGPU needs https or localhost");
  if (gpu === undefined) return none("this browser has no WebGPU, or it is switched off");
  const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" }).catch(() => null);
  if (adapter === null) return none("WebGPU is there, but offers no adapter");
  const { vendor, architecture, description } = adapter.info;
  const name = [description || vendor, architecture].filter((word) => word !== "").join(", ") || "a GPU without a name";
  const software = /swiftshader|llvmpipe|basic render/i.test(`${vendor} ${architecture} ${description}`);
  return { state: software ? "software" : "gpu", about: name, hasF16: adapter.features.has("shader-f16") };
}

/** Can this browser compute on it? */
export function canUse(device: Used, { state }: Offer): boolean {
  return device === "cpu" || state === "gpu" || (device === "software" && state === "software");
}

/** Has the device numbers of 16 bits? The CPU has them always. */
export function canHaveF16(device: Used, { hasF16 }: Offer): boolean {
  return device === "cpu" || hasF16;
}

function decide(wanted: Wanted, { state, about }: Offer): { used: Used; why: string } {
  if (wanted === "cpu") return { used: "cpu", why: "the CPU was asked for" };
  if (state === "looking") return { used: "cpu", why: "looking for a GPU" };
  if (state === "none") return { used: "cpu", why: about };
  if (wanted === "software") return { used: "software", why: `${about}, a software adapter allowed` };
  if (state === "software") return { used: "cpu", why: `WebGPU offers only a software adapter (${about})` };
  return { used: "gpu", why: about };
}

/** Gives the pages their device. */
export function DeviceProvider({ children }: { children: ReactNode }) {
  const [{ device: wanted }, change] = useSettings(schema);
  const [offer, setOffer] = useState<Offer>({ state: "looking", about: "", hasF16: false });
  useEffect(() => {
    let here = true;
    void lookForGpu().then((found) => here && setOffer(found));
    return () => {
      here = false;
    };
  }, []);
  const value = useMemo<DeviceChoice>(
    () => ({ wanted, offer, ...decide(wanted, offer), choose: (device) => change({ device }) }),
    [wanted, offer, change],
  );
  return <Context.Provider value={value}>{children}</Context.Provider>;
}
