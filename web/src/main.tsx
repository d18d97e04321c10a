import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App.js";
import "./ui/base.css";
import "./ui/ui.css";
import "./ui/touch.css";
import "./ui/projector.css";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);

// Not while developing, where files change as one edits. Private windows and plain http have no service workers: all else works.
if (import.meta.env.PROD && "serviceWorker" in navigator) {
  const keep = () =>
    import("./offline/register.js")
      .then(({ keepTheApp }) => keepTheApp())
      .catch((error) => console.info("not kept offline:", error));
  window.addEventListener("load", () => void keep());
}
