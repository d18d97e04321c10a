/** The shell: the head with the navigation, the page, and the foot. */

import { useEffect } from "react";
import { DeviceProvider, useDevice, useLooking, type Wanted } from "./device.js";
import { NoGpu } from "./NoGpu.js";
import { PAGES } from "./pages.js";
import { addressOf, remember, usePlace } from "./route.js";
import { useLarge, useSizeOnDocument } from "./size.js";
import { useThemeChoice, useThemeOnDocument, type ThemeChoice } from "./theme.js";
import { Failsafe } from "./Failsafe.js";
import { Loaded } from "./Loaded.js";
import { OfflineNote } from "./OfflineNote.js";
import { TrainingSign } from "./TrainingSign.js";
import "./app.css";

const NEXT: Record<ThemeChoice, ThemeChoice> = { system: "light", light: "dark", dark: "system" };
const THEME: Record<ThemeChoice, string> = { system: "Auto", light: "Light", dark: "Dark" };
const DEVICES: readonly [Wanted, string][] = [
  ["best", "Best device"],
  ["gpu", "GPU"],
  ["cpu", "CPU"],
  ["software", "Software GPU"],
];

function DeviceBadge() {
  const { wanted, used, why, offer, choose } = useDevice();
  return (
    <label className="device-badge" title={why}>
      <span className={`dot ${offer.state === "looking" ? "looking" : used}`} aria-hidden="true" />
      <span className="visually-hidden">Device to compute on. {why}</span>
      <select value={wanted} onChange={({ target }) => choose(target.value as Wanted)}>
        {DEVICES.map(([value, name]) => (
          <option key={value} value={value}>
            {value === "best" ? `${name}: ${used === "cpu" ? "CPU" : "GPU"}` : name}
          </option>
        ))}
      </select>
    </label>
  );
}

function ThemeSwitch() {
  const [choice, choose] = useThemeChoice();
  return (
    <button
      type="button"
      className="theme-switch"
      onClick={() => choose(NEXT[choice])}
      aria-label={`Theme: ${THEME[choice]}. Change it.`}
    >
      {THEME[choice]}
    </button>
  );
}

function SizeSwitch() {
  const [large, choose] = useLarge();
  return (
    <button
      type="button"
      className="theme-switch size-switch"
      aria-pressed={large}
      title="Projector size: large text and charts, for a classroom"
      onClick={() => choose(!large)}
    >
      Large
    </button>
  );
}

function Head() {
  const place = usePlace();
  useEffect(() => remember(place), [place]);
  return (
    <header className="head">
      <a className="brand" href={addressOf("train", place)} aria-label="Flambeau, to the first page">
        <img src="./flambeau.svg" alt="" width="26" height="26" />
        <span>Flambeau</span>
      </a>
      <nav aria-label="Pages">
        {PAGES.map(({ name, title, about }) => (
          <a key={name} href={addressOf(name, place)} title={about} aria-current={name === place.page ? "page" : undefined}>
            {title}
          </a>
        ))}
      </nav>
      {place.page !== "train" && <TrainingSign address={addressOf("train", place)} />}
      <div className="head-end">
        <DeviceBadge />
        <SizeSwitch />
        <ThemeSwitch />
      </div>
    </header>
  );
}

function Body() {
  const place = usePlace();
  const page = PAGES.find(({ name }) => name === place.page) ?? PAGES[0];
  useEffect(() => {
    if (page !== undefined && page.name !== place.page) location.replace(addressOf(page.name, place));
    document.title = page === undefined ? "Flambeau" : `${page.title} · Flambeau`;
  }, [page, place]);
  const isLooking = useLooking();
  if (page === undefined) return null;
  const { name } = page;
  return (
    <main id="main" className={`page page-${name}`} tabIndex={-1}>
      <NoGpu />
      <Failsafe key={name}>
        <Loaded name={name} load={page.load} props={{}} waits={isLooking} />
      </Failsafe>
    </main>
  );
}

export function App() {
  useThemeOnDocument();
  useSizeOnDocument();
  return (
    <DeviceProvider>
      {/* biome-ignore lint/a11y/useValidAnchor: it leads into the page; the address's hash is taken by the pages. */}
      <a
        className="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to the page
      </a>
      <Head />
      <Body />
      <footer className="foot">
        <p>Everything is computed on this machine. No data leave it: no analytics, no cookies, no third parties.</p>
        <OfflineNote />
      </footer>
    </DeviceProvider>
  );
}
